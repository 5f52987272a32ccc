//! Which sort for which list? A complete collecting program for functions of your own.
//!
//! ```text
//! cargo run --release --example sort -- --max-seconds 60         # measures, and appends to train.txt
//! ah-train train.txt --heuristic-name SortHeuristic              # learns, and writes model.json and Rust
//! ```

use ah_collect::rand::Rng as _;
use ah_collect::sampling::{self, Rng};

fn main() -> std::process::ExitCode {
    ah_collect::decision("sort")
        .input(draw)
        .feature("length", Vec::len)
        .feature("ascending", |numbers| ascending_share(numbers))
        .choice("std_unstable", |numbers| numbers.sort_unstable())
        .choice("std_stable", |numbers| numbers.sort())
        .choice("radix", radix_sort)
        .choice("insertion", |numbers| insertion_sort(numbers))
        .eligible("length <= 2048 or ascending >= 0.99")
        .check_agreement()
        .main()
}

/// Returns a list of 4 to 65536 numbers: shuffled, ascending, or ascending with some exceptions.
fn draw(rng: &mut Rng) -> Vec<u64> {
    let length = sampling::log_uniform(rng, 4, 65536);
    let mut numbers: Vec<u64> = (0..length).map(|_| rng.random()).collect();
    let order = rng.random_range(0..3);
    if order > 0 {
        numbers.sort_unstable();
    }
    if order > 1 {
        for _ in 0..rng.random_range(1..=length.div_ceil(8)) {
            let place = rng.random_range(0..numbers.len());
            numbers[place] = rng.random();
        }
    }
    numbers
}

/// Returns the share of neighbours in order, in percent steps: one number of 64 is looked at.
fn ascending_share(numbers: &[u64]) -> f64 {
    let step = numbers.len().div_ceil(64).max(1);
    let pairs: Vec<_> = numbers.windows(2).step_by(step).collect();
    let ascending = pairs.iter().filter(|pair| pair[0] <= pair[1]).count();
    ascending as f64 / pairs.len() as f64
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
