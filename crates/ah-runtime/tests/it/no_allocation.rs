//! The hot paths allocate nothing.

use crate::common;

use ah_model::{ChoiceId, Precondition, Scalar, expr};
use ah_runtime::{AutoHeuristic, Environment, LoadedModel, MultiKernel, Reason, Unsure};
use ah_types::Optimization;

#[path = "../../../../generated/mixed_mm_h200/src/lib.rs"]
#[allow(dead_code, unused_attributes, clippy::cast_lossless)] // Its `no_std` holds for a crate; here it is a module.
#[rustfmt::skip] // Rustfmt would follow it there.
mod generated;

fn allocations(run: impl FnOnce()) -> u64 {
    allocation_counter::measure(run).count_total
}

/// The least of five runs: tests of this process register heuristics, and the next decision then binds anew, which allocates.
fn least_allocations(mut run: impl FnMut()) -> u64 {
    (0..5).map(|_| allocations(&mut run)).min().unwrap()
}

#[test]
fn the_counter_counts() {
    assert!(allocations(|| drop(std::hint::black_box(vec![1]))) > 0);
}

#[test]
fn deciding_by_a_model_file_allocates_nothing() {
    let optimization = Optimization::built_in("mixed_mm").unwrap();
    for (boosted, condition) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut model = common::mixed_mm();
        if boosted {
            common::boost(&mut model);
        }
        if condition {
            let parsed = expr::parse("m * n <= 100000").unwrap();
            let typed = parsed.resolve_bool(model.features.base()).unwrap();
            model.eligible.insert(ChoiceId(1), Precondition { expression: parsed.to_string(), typed });
        }
        let auto = AutoHeuristic::builder("mixed_mm")
            .choices(model.choices.clone())
            .optimization(&optimization)
            .precondition("m > 0 and m * k > 0")
            .environment(Environment::default())
            .heuristic(LoadedModel::from(model))
            .build()
            .unwrap();
        let (mut learned, mut precondition) = (0, 0);
        let count = least_allocations(|| {
            (learned, precondition) = (0, 0);
            for m in [1.0, 17.0, 33.0, 100.0, 129.0] {
                for k in [1024.0, 4096.0, 5000.0] {
                    let values = common::mixed_mm_values(m, k, 4096.0);
                    let answer = auto.choose_among(&values, &|choice| choice % 3 != 0);
                    learned += u32::from(answer.is_learned()) + u32::from(auto.choose(&values).is_learned());
                    precondition += u32::from(answer.fallback == Some(Reason::Unsure(Unsure::Precondition)));
                }
            }
        });
        assert_eq!((count, precondition), (0, 3));
        assert!(learned > 5, "{learned}");
    }
}

#[test]
fn a_generated_crate_allocates_nothing() {
    let mut taken = std::collections::HashSet::new();
    for size in 0..8 * 6 * 6 {
        let [m, k, n] = [1 << (size % 8), 1000 << (size / 8 % 6), 1000 << (size / 48)];
        for mat2_dtype in ["torch.int8", "unknown"] {
            let (mat1_dtype, mat1_iscontig, mat2_iscontig) = ("torch.bfloat16", true, false);
            let [mat1_stride_0, mat1_stride_1, mat2_stride_0, mat2_stride_1] = [k, 1, 1, k];
            let c = generated::Context {
                m,
                k,
                n,
                mat1_stride_0,
                mat1_stride_1,
                mat2_stride_0,
                mat2_stride_1,
                mat1_dtype,
                mat2_dtype,
                mat1_iscontig,
                mat2_iscontig,
            };
            let mut choice = None;
            assert_eq!(allocations(|| choice = generated::choose(&c)), 0, "{c:?}");
            taken.insert(choice);
        }
    }
    assert!(taken.len() > 10 && taken.contains(&None), "{taken:?}");
}

#[test]
fn other_orders_of_features_and_every_reason_allocate_nothing() {
    let auto = AutoHeuristic::builder("pad_mm")
        .choices(["stream", "pad", "orig"])
        .fallback("orig")
        .categorical("dtype")
        .numerical("k")
        .numerical("m")
        .environment(Environment::default())
        .heuristic(LoadedModel::from(common::pad_mm("Test", None)))
        .build()
        .unwrap();
    let asked: [[Scalar<'_>; 3]; 5] = [
        ["float32".into(), 101.into(), 64.into()],
        ["float64".into(), 101.into(), 64.into()],
        ["int8".into(), 101.into(), 64.into()],
        ["float32".into(), f64::NAN.into(), 64.into()],
        ["float32".into(), 101.into(), 7.into()],
    ];
    let mut reasons = [None; 5];
    let count = least_allocations(|| {
        for (values, reason) in asked.iter().zip(&mut reasons) {
            *reason = auto.choose(values).fallback;
        }
    });
    assert_eq!(count, 0);
    assert_eq!(reasons.iter().flatten().collect::<std::collections::HashSet<_>>().len(), 4);
}

#[test]
fn a_remembered_pick_allocates_nothing() {
    let multi = MultiKernel::<fn()>::builder(
        AutoHeuristic::builder("x").numerical("m").categorical("dtype").environment(Environment::default()),
    )
    .kernel("a", 1, (|| {}) as fn())
    .kernel("b", 1, || {})
    .no_cache()
    .build()
    .unwrap();
    for m in [1, 100, 200] {
        multi.run(&[m.into(), "float32".into()], |kernel| kernel());
    }
    let count = least_allocations(|| {
        for m in [100, 101, 130, 200] {
            multi.run(&[m.into(), "float32".into()], |kernel| kernel());
        }
    });
    assert_eq!(count, 0, "{}", multi.explain());
    assert!(
        allocations(|| multi.run(&[100.into(), "int8".into()], |kernel| kernel())) > 0,
        "a miss allocates"
    );
}
