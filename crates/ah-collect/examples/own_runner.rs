//! A runner of one's own, in a program of one's own: which sort for which input?
//!
//! `cargo run --release --example own_runner -- sort.txt` measures for three seconds; then
//! `ah-train sort.txt --heuristic-name SortHeuristic` learns from the log.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use ah_collect::{Options, collect};
use ah_measure::{BenchmarkRunner, Burst, Failure, Subject, sampling};
use ah_types::{ChoiceId, Context, Optimization, TimingPolicy};
use rand::Rng as _;

/// What is decided, and what is known when deciding. This could be a file as well.
const SORT: &str = r#"
name = "sort"
description = "Which algorithm sorts a list of numbers."
fallback = ["std_stable"]

[[feature]]
name = "length"
kind = "numerical"
integer = true

[[feature]]
name = "order"
kind = "categorical"
description = "random, or nearly_sorted: one in a hundred numbers is out of place."
"#;

struct SortRunner {
    subject: Subject,
    buffer: Vec<u64>,
}

impl SortRunner {
    fn new() -> Result<Self, ah_types::OptimizationError> {
        Ok(Self {
            subject: Subject {
                optimization: Optimization::from_toml(SORT)?,
                device: ah_measure::this_cpu(),
                choices: ["std_stable", "std_unstable", "insertion"].map(str::to_owned).to_vec(),
                timing: TimingPolicy::default(),
            },
            buffer: Vec::new(),
        })
    }
}

fn sort(choice: ChoiceId, numbers: &mut [u64]) {
    match choice.index() {
        0 => numbers.sort(),
        1 => numbers.sort_unstable(),
        _ => {
            for i in 1..numbers.len() {
                let mut j = i;
                while j > 0 && numbers[j - 1] > numbers[j] {
                    numbers.swap(j - 1, j);
                    j -= 1;
                }
            }
        }
    }
}

impl BenchmarkRunner for SortRunner {
    /// The numbers, and what they are once sorted.
    type Input = (Vec<u64>, Vec<u64>);

    fn subject(&self) -> &Subject {
        &self.subject
    }

    fn draw(&self, rng: &mut sampling::Rng) -> Context {
        Context::new()
            .with("length", sampling::log_uniform(rng, 4, 4096))
            .with("order", *sampling::pick(rng, &["random", "nearly_sorted"]))
    }

    fn create_input(&mut self, context: &Context, rng: &mut sampling::Rng) -> Result<Self::Input, Failure> {
        let length = context.number("length").ok_or_else(|| Failure::skipped("no length"))?;
        let mut numbers: Vec<u64> = (0..length as u64).map(|_| rng.random()).collect();
        if context.category("order") == Some("nearly_sorted") {
            numbers.sort_unstable();
            for _ in 0..numbers.len().div_ceil(100) {
                let i = rng.random_range(0..numbers.len());
                numbers[i] = rng.random();
            }
        }
        // The reference: the heap of the standard library, which is none of the choices.
        let expected = std::collections::BinaryHeap::from(numbers.clone()).into_sorted_vec();
        Ok((numbers, expected))
    }

    fn check(&mut self, (numbers, expected): &mut Self::Input, choice: ChoiceId) -> Result<(), Failure> {
        if choice.index() == 2 && numbers.len() > 2048 {
            return Err(Failure::skipped("insertion sort is not offered above 2048 numbers"));
        }
        self.buffer.clone_from(numbers);
        sort(choice, &mut self.buffer);
        if self.buffer == *expected { Ok(()) } else { Err(Failure::failed("wrong result: not sorted")) }
    }

    fn run_benchmark(
        &mut self,
        (numbers, _): &mut Self::Input,
        choice: ChoiceId,
        burst: Burst,
    ) -> Result<Vec<f64>, Failure> {
        let mut times = Vec::new();
        for _ in 0..burst.samples {
            let mut elapsed = Duration::ZERO;
            for _ in 0..burst.runs {
                // Sorted input would be another input, so each run starts from a fresh copy.
                self.buffer.clone_from(numbers);
                let start = Instant::now();
                sort(choice, std::hint::black_box(&mut self.buffer));
                elapsed += start.elapsed();
            }
            times.push(elapsed.as_secs_f64() * 1e3 / f64::from(burst.runs));
        }
        Ok(times)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let output = std::env::args().nth(1).unwrap_or_else(|| "sort.txt".to_owned());
    let seconds = std::env::args().nth(2).map_or(Ok(3.0), |s| s.parse())?;
    let mut runners = [SortRunner::new()?.boxed()];
    let options = Options {
        max_time: Some(Duration::from_secs_f64(seconds)),
        ..Options::new(output, TimingPolicy::default())
    };
    let summary = collect(&mut runners, &options, &AtomicBool::new(false), &mut ())?;
    println!("{summary}");
    Ok(())
}
