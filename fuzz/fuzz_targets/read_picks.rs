//! Any text as the picks of a MultiKernel: ignored, or picks that run only what supports the input.
#![no_main]
use ah_runtime::{AutoHeuristic, Environment, MultiKernel};
use libfuzzer_sys::fuzz_target;

type Kernel = fn() -> usize;

fuzz_target!(|text: &str| {
    let decision = AutoHeuristic::builder("x")
        .numerical("n")
        .categorical("dtype")
        .environment(Environment::default());
    let multi = MultiKernel::<Kernel>::builder(decision)
        .kernel("a", 1, (|| 0) as Kernel)
        .kernel("b", 1, || 1)
        .eligible("b", |v| v[0].number().is_some_and(|n| n < 1000.0))
        .lookup_text(text)
        .build()
        .expect("a recording that cannot be used is no error");
    for n in [0.0, 16.0, 100.0, 1000.0, 1e300, f64::INFINITY, f64::NAN] {
        let ran = multi.run(&[n.into(), "f32".into()], |kernel| Ok::<_, String>(kernel()));
        assert!(ran == Ok(0) || (ran == Ok(1) && n < 1000.0));
    }
    assert!(multi.explain().starts_with("x: "));
});
