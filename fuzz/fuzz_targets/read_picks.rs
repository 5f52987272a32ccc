//! Any text as the picks of a MultiKernel: ignored, or picks that run only what supports the input.
//!
//! What a file must say first (this program's kernels, versions, features and device) no mutation would
//! hit. So the input stands where the picks of an honest file stood; one that starts with `!` is a whole file.
#![no_main]
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ah_runtime::{AutoHeuristic, Environment, MultiKernel};
use libfuzzer_sys::fuzz_target;

type Kernel = fn() -> usize;

static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());

fn build() -> MultiKernel<Kernel> {
    let environment = Environment::read(|name| {
        (name == "AUTOHEURISTIC_CACHE_DIR").then(|| FOLDER.path().as_os_str().into())
    });
    let decision = AutoHeuristic::builder("x").numerical("n").categorical("dtype").environment(environment);
    MultiKernel::<Kernel>::builder(decision)
        .kernel("a", 1, (|| 0) as Kernel)
        .kernel("b", 1, || 1)
        .eligible("b", |v| v[0].number().is_some_and(|n| n < 1000.0))
        .max_picks(1)
        .build()
        .expect("picks that cannot be used are no error")
}

/// The file of the picks, and its honest text up to the picks.
static HEAD: LazyLock<(PathBuf, String)> = LazyLock::new(|| {
    let _ = build().run(&[16.into(), "f32".into()], |kernel| kernel());
    let only = |folder: &Path| std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let path = only(&only(FOLDER.path()));
    let text = std::fs::read_to_string(&path).unwrap();
    let (head, _) = text.split_once("\"picks\": [").unwrap();
    assert!(build().pick(&[16.into(), "f32".into()]).is_some());
    (path, head.to_owned())
});

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let (path, head) = &*HEAD;
    let text = match text.strip_prefix('!') {
        Some(whole) => whole.to_owned(),
        None => format!("{head}\"picks\": [{text}]}}"),
    };
    std::fs::write(path, &text).unwrap();
    let multi = build();
    // Without picks every run is the fallback's.
    if serde_json::from_str::<serde::de::IgnoredAny>(&text).is_err() {
        return;
    }
    for n in [16.0, 100.0, 1000.0, f64::NAN] {
        let ran = multi.run(&[n.into(), "f32".into()], |kernel| kernel());
        assert!(ran == 0 || (ran == 1 && n < 1000.0));
    }
    assert!(multi.explain().starts_with("x: "));
});
