//! The cost of a decision for the calling program, in nanoseconds.
//!
//! `cargo bench -p ah-runtime`. Targets, context building and guards included: a remembered pick adds at most 50 ns, a
//! model file decides in at most 400 ns. `scripts/decision_time.py` times generated crates, which no crate here may import.

#[path = "../tests/it/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::time::Instant;

use ah_runtime::Scalar;
use ah_runtime::{AutoHeuristic, Environment, LoadedModel, MultiKernel, Role};
use ah_types::Optimization;
use criterion::{Criterion, criterion_group, criterion_main};

type Kernel = fn(usize);

fn orig(x: usize) {
    black_box(x);
}

fn pad(x: usize) {
    black_box(x + 1);
}

fn multi_kernel() -> MultiKernel<Kernel> {
    let decision = AutoHeuristic::builder("mm")
        .numerical("m")
        .numerical("k")
        .numerical("n")
        .categorical("dtype")
        .environment(Environment::default());
    let builder = MultiKernel::<Kernel>::builder(decision)
        .kernel("orig", 1, orig as Kernel)
        .kernel("pad", 1, pad)
        .eligible("pad", |v| v[0].number() > Some(0.0))
        .no_cache();
    let multi = builder.build().expect("a MultiKernel");
    for (m, k, n) in (0..40).map(|i| (64 << (i % 3), 100 + 100 * i, 4096 >> (i % 4))) {
        multi.run(&values(m, k, n), |kernel| kernel(black_box(m)));
    }
    multi
}

fn values(m: usize, k: usize, n: usize) -> [Scalar<'static>; 4] {
    [m.into(), k.into(), n.into(), "float32".into()]
}

fn remembered(c: &mut Criterion) {
    let mut group = c.benchmark_group("multi_kernel");
    let plain = multi_kernel();
    let (m, k, n) = (64, 1000, 2048);
    plain.run(&values(m, k, n), |kernel| kernel(m));
    let direct: Kernel = orig;
    group.bench_function("direct call", |b| b.iter(|| black_box(direct)(black_box(m))));
    assert!(plain.pick(&values(m, k, n)).is_some());
    group.bench_function("remembered pick", |b| {
        b.iter(|| {
            let (m, k, n) = black_box((m, k, n));
            plain.run(&values(m, k, n), |kernel| kernel(m));
        });
    });
    group.finish();
}

fn consulting() -> AutoHeuristic {
    let optimization = Optimization::built_in("mixed_mm").expect("built in");
    let model = common::mixed_mm();
    AutoHeuristic::builder("mixed_mm")
        .choices(model.choices.clone())
        .optimization(&optimization)
        .role(Role::Consult)
        .environment(Environment::default())
        .device(ah_model::this_cpu())
        .heuristic(LoadedModel::from(model))
        .build()
        .expect("a decision point")
}

fn model_file(c: &mut Criterion) {
    let auto = consulting();
    let mut group = c.benchmark_group("model file");
    for (name, (m, k, n)) in
        [("mixed_mm, depth 8", (17.0, 4096.0, 11008.0)), ("mixed_mm, other leaf", (100.0, 1536.0, 2000.0))]
    {
        assert!(auto.choose(&common::mixed_mm_values(m, k, n)).is_learned(), "{}", auto.explain());
        group.bench_function(name, |b| {
            b.iter(|| {
                let (m, k, n) = black_box((m, k, n));
                auto.choose(&common::mixed_mm_values(m, k, n)).index
            });
        });
    }
    group.bench_function("not enabled", |b| {
        let off = AutoHeuristic::builder("x").choices(["a"]).numerical("m").role(Role::Off).build();
        let off = off.expect("a decision point");
        b.iter(|| off.choose(&[black_box(1).into()]).index);
    });
    group.finish();
}

/// Nanoseconds of a call, timed in short batches: the median, and the least. The least is closest to the cost of the call
/// alone, because other programs only add time.
fn ns(mut call: impl FnMut()) -> (f64, f64) {
    const CALLS: u32 = 500;
    let batch = |_| {
        let begin = Instant::now();
        (0..CALLS).for_each(|_| call());
        begin.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
    };
    let mut batches: Vec<f64> = (0..4000).map(batch).collect();
    batches.sort_by(f64::total_cmp);
    (batches[batches.len() / 2], batches[0])
}

/// Compares the medians with the targets.
fn targets(_: &mut Criterion) {
    let plain = multi_kernel();
    let auto = consulting();
    let direct: Kernel = orig;
    let run = |multi: &MultiKernel<Kernel>| {
        let (m, k, n) = black_box((64, 1000, 2048));
        multi.run(&values(m, k, n), |kernel| kernel(m));
    };
    run(&plain);
    let choose = |m, k, n| {
        let (m, k, n) = black_box((m, k, n));
        black_box(auto.choose(&common::mixed_mm_values(m, k, n)).index);
    };
    let direct = ns(|| black_box(direct)(black_box(64)));
    let adds = |multi: &MultiKernel<Kernel>| {
        let (median, least) = ns(|| run(multi));
        (median - direct.0, least - direct.1)
    };
    for (what, (median, least), target) in [
        ("a remembered pick adds", adds(&plain), 50.0),
        ("a model file of mixed_mm decides in", ns(|| choose(17.0, 4096.0, 11008.0)), 400.0),
        ("the same, another leaf", ns(|| choose(100.0, 1536.0, 2000.0)), 400.0),
    ] {
        let missed = if median > target { " MISSED" } else { "" };
        println!("{what}: median {median:.1} ns, least {least:.1} ns (target: {target} ns){missed}");
    }
}

criterion_group!(benches, targets, remembered, model_file);
criterion_main!(benches);
