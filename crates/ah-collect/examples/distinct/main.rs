//! The measuring program of the tutorial (`docs/tutorial.md`).

mod distinct;

use ah_collect::rand::Rng as _;
use ah_collect::sampling::{self, Rng};

#[derive(Clone)]
struct List {
    values: Vec<u32>,
    below: u32,
    distinct: usize,
}

/// Draws lists like those that your program meets.
fn draw(rng: &mut Rng) -> List {
    let below = sampling::log_uniform(rng, 256, 1 << 22) as u32;
    let length = sampling::log_uniform(rng, 256, 1 << 17);
    let values = (0..length).map(|_| rng.random_range(0..below)).collect();
    List { values, below, distinct: 0 }
}

fn main() -> std::process::ExitCode {
    ah_collect::decision("distinct")
        .input(draw)
        .feature("length", |list| list.values.len())
        .feature("below", |list| list.below)
        .choice("hash", |list| list.distinct = distinct::by_hash(&list.values))
        .choice("sort", |list| list.distinct = distinct::by_sort(&list.values))
        .choice("table", |list| list.distinct = distinct::by_table(&list.values, list.below))
        .check(|list| list.distinct == distinct::by_sort(&list.values))
        .main()
}
