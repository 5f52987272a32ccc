//! Any text as the picks of a MultiKernel: ignored, or picks that run only what supports the input.
//!
//! What a file must say first (this program's kernels, versions, features and device) no mutation would
//! hit. So the input stands where the picks of an honest recording stood; one that starts with `!` is a whole file.
#![no_main]
use std::sync::LazyLock;

use ah_runtime::multi_kernel::{MultiKernelBuilder, Dimension};
use ah_runtime::{AutoHeuristic, Environment, MultiKernel};
use libfuzzer_sys::fuzz_target;

type Kernel = fn() -> usize;

fn builder() -> MultiKernelBuilder<Kernel> {
    let decision =
        AutoHeuristic::builder("x").numerical("n").categorical("dtype").environment(Environment::default());
    MultiKernel::<Kernel>::builder(decision)
        .kernel("a", 1, (|| 0) as Kernel)
        .kernel("b", 1, || 1)
        .eligible("b", |v| v[0].number().is_some_and(|n| n < 1000.0))
        .dimension("n", Dimension::automatic().halvings(1))
        .no_cache()
}

/// An honest recording up to its picks.
static HEAD: LazyLock<String> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.json");
    let multi = builder().record(&path).build().unwrap();
    let _ = multi.run(&[16.into(), "f32".into()], |kernel| kernel());
    let text = std::fs::read_to_string(&path).unwrap();
    let (head, _) = text.split_once("\"picks\": [").unwrap();
    assert!(builder().lookup(&text).build().unwrap().pick(&[16.into(), "f32".into()]).is_some());
    head.to_owned()
});

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let text = match text.strip_prefix('!') {
        Some(whole) => whole.to_owned(),
        None => format!("{}\"picks\": [{text}]}}", *HEAD),
    };
    let multi = builder().lookup(&text).build().expect("a recording that cannot be used is no error");
    // Without picks every run is the fallback's.
    if serde_json::from_str::<serde::de::IgnoredAny>(&text).is_err() {
        return;
    }
    for n in [16.0, 100.0, 1000.0, f64::NAN] {
        let ran = multi.run(&[n.into(), "f32".into()], |kernel| kernel());
        assert!(ran == Ok(0) || (ran == Ok(1) && n < 1000.0));
    }
    assert!(multi.explain().starts_with("x: "));
});
