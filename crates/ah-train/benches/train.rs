//! Benchmarks the parts of a training: columns, one fit by its number of rows (n log n), polishing.
//! `examples/fit_scaling.rs` fits a million rows, `scripts/losses.py` judges and times whole trainings.

use ah_train::parts::{Columns, CostTree, Costs, Subset};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use linfa::DatasetBase;
use linfa::traits::Fit;
use rand::{Rng, SeedableRng};

/// 40 columns, half of them with few values, and the costs of 22 choices.
fn data(rows: usize) -> (Columns, Costs) {
    let mut random = rand_pcg::Pcg64::seed_from_u64(1);
    let mut value = |column: usize| {
        let x = f64::from(random.random::<f32>());
        if column.is_multiple_of(2) { (x * f64::from(2 << (column % 6))).floor() } else { x }
    };
    let values: Vec<Vec<f64>> = (0..40).map(|c| (0..rows).map(|_| value(c)).collect()).collect();
    let log_slowdown = |row: usize, choice: usize| {
        let at = choice as f64 / 22.0;
        (values[1][row] - at).abs() + 0.5 * (values[3][row] - (3.0 * at).fract()).abs()
    };
    (Columns::from_numbers(&values, 512), Costs::from_log_slowdowns(rows, 22, log_slowdown))
}

/// Fits to unlimited depth with the default parameters.
fn fit(c: &mut Criterion) {
    let mut group = c.benchmark_group("fit");
    group.sample_size(10);
    for rows in [1_000_usize, 10_000, 100_000] {
        let (columns, targets) = data(rows);
        let inputs: Vec<u32> = (0..rows as u32).collect();
        let dataset = DatasetBase::new(Subset { columns: &columns, inputs: &inputs }, &targets);
        let parameters = CostTree::new(64, 3);
        group.throughput(Throughput::Elements(rows as u64));
        group.bench_with_input(BenchmarkId::from_parameter(rows), &dataset, |b, dataset| {
            b.iter(|| parameters.fit(dataset).expect("grows").leaves());
        });
    }
    group.finish();
}

fn polish(c: &mut Criterion) {
    let (columns, targets) = data(5_000);
    let inputs: Vec<u32> = (0..5_000).collect();
    let rows = Subset { columns: &columns, inputs: &inputs };
    let parameters = CostTree::new(8, 3);
    let tree = parameters.fit(&DatasetBase::new(rows, &targets)).expect("grows");
    c.bench_function("polish/5000", |b| {
        b.iter(|| parameters.polish(tree.clone(), &rows, &targets).leaves());
    });
}

fn columns(c: &mut Criterion) {
    let mut random = rand_pcg::Pcg64::seed_from_u64(1);
    let values: Vec<f64> = (0..100_000).map(|_| random.random::<f64>()).collect();
    c.bench_function("columns/100000", |b| {
        b.iter(|| Columns::from_numbers(std::slice::from_ref(&values), 512));
    });
}

criterion_group!(benches, fit, polish, columns);
criterion_main!(benches);
