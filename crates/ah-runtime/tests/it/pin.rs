//! A program that pins a heuristic's version decides with that version or not at all.

use crate::common;
use crate::common::logger;

use ah_model::Node;
use ah_runtime::{
    AutoHeuristic, AutoHeuristicBuilder, Environment, Heuristic, LoadedModel, Reason, register,
};
use common::pad_mm;

/// A model whose version depends on the seed. Each test has an optimization of its own, because registered
/// heuristics serve all tests of this process.
fn model(optimization: &str, seed: u64) -> LoadedModel {
    let mut model = pad_mm("Learned", None);
    model.optimization = optimization.to_owned();
    model.provenance.seed = 1000 + seed;
    for node in &mut model.tree.nodes {
        if let Node::Leaf(leaf) = node {
            leaf.samples += seed;
        }
    }
    LoadedModel::from(model)
}

fn builder(optimization: &str) -> AutoHeuristicBuilder {
    AutoHeuristic::builder(optimization)
        .choices(["orig", "pad"])
        .numerical("m")
        .numerical("k")
        .categorical("dtype")
        .environment(Environment::default())
}

fn fallback(auto: &AutoHeuristic) -> Option<Reason> {
    auto.choose(&[64.0.into(), 101.0.into(), "float32".into()]).fallback
}

#[test]
fn only_the_pinned_version_decides() {
    let builder = || builder("pinned");
    let pinned = model("pinned", 0);
    // Another model under the same name, as after an update of one node only.
    let other = model("pinned", 1);
    let version = pinned.version().unwrap().to_owned();
    assert_eq!(version.len(), 32);
    assert_ne!(other.version().unwrap(), version);
    assert_eq!(model("pinned", 0).version(), Some(version.as_str()));
    // A model that decides alike has the same version, whoever made it.
    let mut again = pinned.model().clone();
    again.provenance.tool = "another tool".to_owned();
    assert_eq!(again.version(), version);

    for pin in [&version[..], &version[..8]] {
        assert_eq!(fallback(&builder().pin(pin).heuristic(pinned.clone()).build().unwrap()), None);
        let refused = builder().pin(pin).heuristic(other.clone()).build().unwrap();
        assert_eq!(fallback(&refused), Some(Reason::Guard));
        let explained = refused.explain();
        assert!(explained.contains(&format!("pinned is {pin}")), "{explained}");
        assert!(explained.contains(&format!("its version is {}", other.version().unwrap())), "{explained}");
    }
    // Two pins that contradict each other.
    let contradicted = builder().pin("00000000").pin(&version).heuristic(pinned).build().unwrap();
    assert_eq!(fallback(&contradicted), Some(Reason::Guard));
    let short = builder().pin(&version[..7]).build().unwrap_err().to_string();
    let expected =
        format!("pinned: expected 8 or more characters of a version as the pin, found {:?}", &version[..7]);
    assert_eq!(short, expected);
}

#[test]
fn the_version_that_decides_is_reported_at_the_start_and_at_each_change() {
    logger::start();
    let (first, second) = (model("reported", 1), model("reported", 2));
    let (one, two) = (first.version().unwrap().to_owned(), second.version().unwrap().to_owned());
    let lines = |part: &str| logger::LINES.lock().unwrap().iter().filter(|line| line.contains(part)).count();
    register(first);
    let free = builder("reported").build().unwrap();
    let pinned = builder("reported").pin(&one).build().unwrap();
    assert_eq!((fallback(&free), fallback(&pinned)), (None, None));
    let decides = |version: &str| lines(&format!("INFO: reported: decides with Learned, version {version}"));
    assert_eq!(decides(&one), 2, "once for each decision point");
    register(second);
    assert_eq!((fallback(&free), fallback(&pinned)), (None, Some(Reason::Guard)));
    assert_eq!((decides(&one), decides(&two)), (2, 1));
    let refused =
        format!("WARN: reported: does not decide with Learned: its version is {two}, pinned is {one}");
    assert_eq!(lines(&refused), 1);
}
