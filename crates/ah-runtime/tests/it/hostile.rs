//! Files and the environment can neither make a program panic nor make it run a kernel that does not support the input.
//! `fuzz/` tests the same entry points.

use crate::common;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ah_model::{Model, Scalar};
use ah_runtime::{AutoHeuristic, Environment, Heuristic, LoadedModel, MultiKernel};
use proptest::prelude::*;
use tempfile::TempDir;

type Kernel = fn() -> usize;

/// A MultiKernel of four picks, which are in this folder too.
fn cached_in(folder: &Path) -> MultiKernel<Kernel> {
    let environment =
        Environment::read(|name| (name == "AUTOHEURISTIC_CACHE_DIR").then(|| folder.as_os_str().into()));
    let decision = AutoHeuristic::builder("x").numerical("n").categorical("dtype").environment(environment);
    let builder = MultiKernel::<Kernel>::builder(decision)
        .kernel("a", 1, (|| 0) as Kernel)
        .kernel("b", 1, || 1)
        .kernel("c", 1, || 2)
        .eligible("b", |v| v[0].number().is_some_and(|n| n < 1000.0))
        .eligible("c", |_| false);
    builder.max_picks(4).build().unwrap()
}

/// The file of honest picks by value and by bucket, and its text.
fn picks(folder: &Path) -> (PathBuf, String) {
    let multi = cached_in(folder);
    for (n, dtype) in [(16.0, "f32"), (64.0, "f64"), (100.0, "f32"), (5000.0, "a \"quoted\" one")] {
        multi.run(&[n.into(), dtype.into()], |kernel| assert!(kernel() < 3));
    }
    let only = |folder: &Path| std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let path = only(&only(folder));
    let text = std::fs::read_to_string(&path).unwrap();
    (path, text)
}

/// Replaces some bytes, repeats a part, and cuts the end off.
fn damage(text: &str, edits: &[(usize, u8)], cut: Option<usize>, repeat: Option<(usize, usize)>) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for (at, byte) in edits {
        let at = at % bytes.len();
        bytes[at] = *byte;
    }
    if let Some((from, length)) = repeat {
        let from = from % bytes.len();
        let part = bytes[from..(from + length).min(bytes.len())].to_vec();
        bytes.splice(from..from, part);
    }
    if let Some(cut) = cut {
        bytes.truncate(cut % bytes.len());
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn edits() -> impl Strategy<Value = Vec<(usize, u8)>> {
    let likely = prop::sample::select(b"0123456789.-eE\"{}[]:, abknulltrue".to_vec());
    prop::collection::vec((any::<usize>(), prop_oneof![likely, any::<u8>()]), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn damaged_picks_never_run_what_does_not_support_the_input(
        edits in edits(), cut in prop::option::weighted(0.2, any::<usize>()),
        repeat in prop::option::weighted(0.2, (any::<usize>(), 0_usize..500)),
        ns in prop::collection::vec(prop_oneof![any::<f64>(), (1_u16..6000).prop_map(f64::from)], 8),
    ) {
        static FOLDER: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());
        static PICKS: LazyLock<(PathBuf, String)> = LazyLock::new(|| picks(FOLDER.path()));
        let (path, text) = &*PICKS;
        std::fs::write(path, damage(text, &edits, cut, repeat)).unwrap();
        let multi = cached_in(FOLDER.path());
        for n in ns {
            for dtype in ["f32", "f64", "a \"quoted\" one", ""] {
                let values = [Scalar::Number(n), dtype.into()];
                let ran = multi.run(&values, |kernel| kernel());
                prop_assert!(ran == 0 || (ran == 1 && n < 1000.0), "n = {n}: ran {ran}");
            }
        }
        prop_assert!(multi.explain().starts_with("x: "));
    }

    #[test]
    fn a_damaged_model_is_refused_or_decides(
        edits in edits(), cut in prop::option::weighted(0.1, any::<usize>()),
        repeat in prop::option::weighted(0.2, (any::<usize>(), 0_usize..500)),
        values in prop::collection::vec(any::<f64>(), 3),
    ) {
        let text = damage(&common::pad_mm("Test", None).to_json(), &edits, cut, repeat);
        if let Ok(model) = Model::parse(&text) {
            let model = LoadedModel::from(model);
            let dtypes = ["float32", "float64", "", "int8"];
            for (i, dtype) in dtypes.into_iter().enumerate() {
                let row = [values[i % 3].into(), values[(i + 1) % 3].into(), dtype.into()];
                if let Ok(choice) = model.decide(&row, &|choice| choice != i) {
                    // The fallback counts as offered.
                    let is_fallback = model.fallback() == model.choices().get(choice).copied();
                    prop_assert!(choice < model.choices().len() && (choice != i || is_fallback));
                }
                let _ = model.ranked(&row, &mut |choice| assert!(choice < model.choices().len()));
                let _ = model.decide(&row[..i.min(2)], &|_| true);
            }
        }
    }

    #[test]
    fn any_environment_is_read(text in any::<String>(), name in ".{0,300}") {
        let environment = Environment::read(|_| Some(text.clone().into()));
        let _ = environment.forced_kernel(&name);
        let device = ah_model::this_cpu();
        for path in environment.log_file(&name, &device).into_iter().chain(environment.picks_folder(&device)) {
            let below = path.file_name().map(|f| f.to_string_lossy().into_owned()).unwrap_or_default();
            prop_assert!(!below.contains(['/', '\0']) || text.contains('\0'), "{path:?}");
        }
    }
}
