//! Which sort for which list? A complete collecting program for functions of your own.
//!
//! ```text
//! cargo run --release --example sort -- --max-seconds 60         # measures, and appends to train.txt
//! ah-train train.txt --heuristic-name SortHeuristic              # learns, and writes model.json and Rust
//! ```

use ah_collect::rand::Rng as _;
use ah_collect::sampling::{self, Rng};

/// A list to which a program appended numbers since it was sorted. The program knows how many, so this feature costs nothing.
#[derive(Clone, PartialEq)]
struct List {
    numbers: Vec<u64>,
    appended: usize,
}

fn main() -> std::process::ExitCode {
    ah_collect::decision("sort")
        .input(draw)
        .feature("length", |list: &List| list.numbers.len())
        .feature("appended", |list| list.appended)
        .choice("std_unstable", |list| list.numbers.sort_unstable())
        .choice("std_stable", |list| list.numbers.sort())
        .choice("radix", |list| radix_sort(&mut list.numbers))
        .choice("insertion", |list| insertion_sort(&mut list.numbers))
        .eligible("length <= 2048 or appended <= 16")
        .check_agreement()
        .main()
}

/// A list of 4 to 65536 numbers: a third is random, to a third a few were appended, to a third any number.
fn draw(rng: &mut Rng) -> List {
    let length = sampling::log_uniform(rng, 4, 65536) as usize;
    let appended = match rng.random_range(0..3) {
        0 => length,
        1 => rng.random_range(0..=16.min(length)),
        _ => rng.random_range(0..=length),
    };
    let mut numbers: Vec<u64> = (0..length).map(|_| rng.random()).collect();
    numbers[..length - appended].sort_unstable();
    List { numbers, appended }
}

/// By the lowest byte first.
fn radix_sort(numbers: &mut Vec<u64>) {
    let mut sorted = vec![0; numbers.len()];
    for byte in 0..8 {
        let digit = |x: u64| (x >> (8 * byte)) as usize & 0xff;
        let mut places = [0; 257];
        for x in numbers.iter() {
            places[digit(*x) + 1] += 1;
        }
        for i in 0..256 {
            places[i + 1] += places[i];
        }
        for x in numbers.iter() {
            let place = &mut places[digit(*x)];
            sorted[*place] = *x;
            *place += 1;
        }
        std::mem::swap(numbers, &mut sorted);
    }
}

fn insertion_sort(numbers: &mut [u64]) {
    for i in 1..numbers.len() {
        let mut j = i;
        while j > 0 && numbers[j - 1] > numbers[j] {
            numbers.swap(j - 1, j);
            j -= 1;
        }
    }
}
