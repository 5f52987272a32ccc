//! The parts of a training: columns, one fit by size (n log n), a whole training.

use ah_train::columns::Columns;
use ah_train::learners::{Learner, Preset, Rows, Soft};
use ah_train::targets::Targets;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use linfa::DatasetBase;
use rand::{Rng, SeedableRng};

fn fit(c: &mut Criterion) {
    let mut group = c.benchmark_group("fit");
    group.sample_size(10);
    for rows in [1_000_usize, 10_000, 100_000] {
        let mut random = rand_pcg::Pcg64::seed_from_u64(1);
        let values: Vec<Vec<f64>> =
            (0..40).map(|_| (0..rows).map(|_| f64::from(random.random::<f32>())).collect()).collect();
        let winners: Vec<usize> = (0..rows).map(|r| (values[3][r] * 22.0) as usize % 22).collect();
        let columns = Columns::from_numbers(&values, 512);
        let targets = Targets::from_winners(&winners);
        let inputs: Vec<u32> = (0..rows as u32).collect();
        let dataset = DatasetBase::new(Rows { columns: &columns, inputs: &inputs }, &targets);
        let soft = Soft { sweeps: 0, ..Soft::preset(Preset::A, 64, 3) };
        group.throughput(Throughput::Elements(rows as u64));
        group.bench_with_input(BenchmarkId::from_parameter(rows), &dataset, |b, dataset| {
            b.iter(|| Learner::grow(&soft, dataset).expect("grows").leaves());
        });
    }
    group.finish();
}

fn columns(c: &mut Criterion) {
    let mut random = rand_pcg::Pcg64::seed_from_u64(1);
    let values: Vec<f64> = (0..100_000).map(|_| random.random::<f64>()).collect();
    c.bench_function("columns/100000", |b| {
        b.iter(|| Columns::from_numbers(std::slice::from_ref(&values), 512).rows());
    });
}

criterion_group!(benches, fit, columns);
criterion_main!(benches);
