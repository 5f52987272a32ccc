//! The effect of flags and hooks, on a small log and on logs with a known truth.

mod common;

use std::fmt::Write as _;

use ah_train::parts::Task;
use ah_train::{
    FurtherLog, LearnerKind, MaxRisk, Params, Policy, PromiseMode, SplitBy, TrainedModel, evaluate, report,
    train, train_with,
};
use ah_types::{CalibrationMode, Context, DerivedFeature, Leaf, Node};
use common::{HEAD, log};

struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), text).unwrap();
        Self { folder }
    }

    fn add(&self, name: &str, text: &str) -> std::path::PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn params(&self) -> Params {
        Params::new(vec![self.folder.path().join("a.txt")], "T")
    }

    fn learn(&self, change: impl FnOnce(&mut Params)) -> TrainedModel {
        let mut params = self.params();
        change(&mut params);
        train(&params.check().unwrap()).unwrap()
    }
}

fn learn(text: &str, change: impl FnOnce(&mut Params)) -> TrainedModel {
    Files::new(text).learn(change)
}

/// Returns a log where `pad` takes more than 1.05 × `orig` on a `share` of the inputs, at random.
fn risky(inputs: usize, share: f64) -> String {
    let mut text = HEAD.to_owned();
    for i in 0..inputs {
        // A bijection of 0..inputs spreads the slow inputs over all m.
        let slow = ((i * 7919) % inputs) as f64 >= (1.0 - share) * inputs as f64;
        let pad = if slow { 2.0 } else { 0.8 };
        for noise in [0.0, 0.001, 0.002] {
            let _ = writeln!(text, "{},600,700,torch.float16,orig,{}", 512 + i, 1.0 + noise);
            let _ = writeln!(text, "{},600,700,torch.float16,pad,{}", 512 + i, pad + noise);
        }
    }
    text
}

#[test]
fn promise_declines_where_the_risk_is_too_high() {
    let safe = learn(&risky(1500, 0.001), |_| {});
    let promise = safe.model.promise.as_ref().expect("a promise is possible");
    assert!((promise.target - 0.01).abs() < 1e-12, "{promise:?}");
    assert_eq!(promise.mode, CalibrationMode::CrossFitted);
    assert!(safe.held_out.comparison.model.coverage > 0.9, "{:?}", safe.held_out.comparison.model);
    let unsafe_ = learn(&risky(1500, 0.08), |_| {});
    assert!(unsafe_.held_out.always.over_limit > 0.04, "{:?}", unsafe_.held_out.always);
    assert!(unsafe_.held_out.comparison.model.over_limit <= 0.01, "{:?}", unsafe_.held_out.comparison.model);
    let notes = |trained: &TrainedModel| {
        report::summary::notes(&trained.held_out.comparison, Some(&trained.held_out.always)).join("\n")
    };
    let text = notes(&unsafe_);
    assert!(text.contains("declining forgoes") && text.contains("raise --max-risk"), "{text}");
    assert_eq!(notes(&safe), "");
    let always = learn(&risky(1500, 0.08), |params| params.max_risk = MaxRisk::None);
    assert!(always.model.promise.is_none());
    assert_eq!(always.held_out.comparison.model, always.held_out.always);
}

#[test]
fn every_mode_of_the_promise_calibrates() {
    for mode in [PromiseMode::HoldOut, PromiseMode::CrossFitted, PromiseMode::ByDimensions] {
        let trained = learn(&risky(4000, 0.002), |params| params.promise = mode);
        let promise = trained.model.promise.as_ref().unwrap_or_else(|| panic!("{mode:?}"));
        assert_eq!(promise.mode, mode.calibration());
        assert!((promise.violations as f64) <= 0.01 * promise.inputs as f64);
    }
}

#[test]
fn the_limit_that_judges_is_the_limit_that_is_printed() {
    // `pad` takes twice as long as `orig` on some inputs: more than 1.05, less than 3 times as long.
    let files = Files::new(&risky(1500, 0.08));
    for max_risk in [MaxRisk::None, MaxRisk::Share(0.01)] {
        let trained = files.learn(|params| (params.max_risk, params.max_slowdown) = (max_risk, 3.0));
        assert_eq!(trained.model.promise.is_some(), max_risk.share().is_some());
        let table = report::table::trained(&trained);
        assert!(table.contains("| > 200 % slower "), "{table}");
        let evaluation = evaluate(&trained.model, &files.params().logs, false).unwrap();
        assert_eq!(evaluation.comparison.model.over_limit, 0.0);
        let table = report::table::evaluated("T", &evaluation.comparison);
        assert!(table.contains("| > 200 % slower "), "{table}");
    }
}

#[test]
fn best_single_is_the_strongest_baseline() {
    // `pad` wins where it is offered; elsewhere it falls back, which costs little. If it cost what the
    // slowest choice costs there, `other` would seem the better baseline.
    let mut text = HEAD.to_owned();
    for i in 0..100 {
        for (choice, time) in [("orig", 1.2), ("other", 1.15), ("slow", 9.0), ("pad", 1.0)] {
            if choice != "pad" || i % 2 == 0 {
                let _ = writeln!(text, "512,{},512,torch.float16,{choice},{time}", 513 + i);
            }
        }
    }
    let files = Files::new(&text);
    let trained = files.learn(|_| {});
    let single = &trained.held_out.comparison.best_single;
    assert_eq!(single.choice, "pad", "{single:?}");
    let evaluation = evaluate(&trained.model, &files.params().logs, false).unwrap();
    let single = &evaluation.comparison.best_single;
    assert!(
        single.choice == "pad" && (single.metrics.slowdown - (1.2_f64 / 1.15).sqrt()).abs() < 1e-9,
        "{single:?}"
    );
}

#[test]
fn what_only_the_test_part_holds_is_unknown_to_the_judged_heuristic() {
    // The dtype alone decides; one input has a dtype of its own.
    let mut text = HEAD.to_owned();
    for i in 0..100 {
        let (dtype, orig) = if i == 7 { ("c", 1.0) } else { [("a", 1.0), ("b", 3.0)][i % 2] };
        let _ = writeln!(text, "512,{},512,{dtype},orig,{orig}", 513 + 6 * i);
        let _ = writeln!(text, "512,{},512,{dtype},pad,2", 513 + 6 * i);
    }
    let files = Files::new(&text);
    let params = |seed| Params { seed, max_risk: MaxRisk::None, ..files.params() }.check().unwrap();
    let task = Task::read(&params(0), None).unwrap();
    let rare =
        task.usable.iter().copied().find(|&i| task.table.inputs[i as usize].text.contains(",c")).unwrap();
    let policy = &task.optimization.training;
    let held_out =
        |seed: &u64| task.hold_out(SplitBy::Input, policy, *seed).unwrap().held_out.contains(&rare);
    let seed = (0..100).find(held_out).expect("a fifth of the seeds holds it out");

    let parts = task.hold_out(SplitBy::Input, policy, seed).unwrap();
    let slot = task.features.base().slot("mat1_dtype").unwrap();
    assert_eq!(task.ranked(&parts.training).categories[slot], ["a", "b"]);
    assert_eq!(task.ranked(&task.usable).categories[slot], ["a", "b", "c"]);

    let trained = train(&params(seed)).unwrap();
    let judged = &trained.held_out.comparison.model;
    let inputs = judged.inputs as f64;
    assert!((judged.coverage - (inputs - 1.0) / inputs).abs() < 1e-9, "{judged:?}");
}

#[test]
fn too_few_inputs_for_a_promise_give_a_warning() {
    let trained = learn(&risky(100, 0.0), |_| {});
    assert!(trained.model.promise.is_none());
    let warnings = trained.warnings.join("\n");
    assert!(
        // 148 in the training part.
        warnings.contains("no promise possible: at least 179 inputs are needed, found 100"),
        "{warnings}"
    );
}

#[test]
fn the_number_of_inputs_decides_the_usual_promise() {
    for (inputs, share) in [(2000, 0.01), (600, 0.02), (240, 0.05)] {
        let trained = learn(&risky(inputs, 0.0), |_| {});
        assert_eq!(trained.model.promise.map(|promise| promise.target), Some(share), "{inputs} inputs");
        let is_told =
            trained.warnings.iter().any(|warning| warning.contains("too few for 1 %, which needs about 9"));
        assert_eq!(is_told, share > 0.01, "{:?}", trained.warnings);
        let asked = learn(&risky(inputs, 0.0), |params| params.max_risk = MaxRisk::Share(0.3));
        assert_eq!(asked.model.promise.map(|promise| promise.target), Some(0.3));
    }
}

#[test]
fn several_trees_vote_by_their_summed_scores() {
    let trained = learn(&log(120), |params| {
        params.trees = 3;
        params.max_risk = MaxRisk::None;
    });
    let model = &trained.model;
    assert_eq!(model.trees.len(), 3);
    let again = ah_types::Model::parse(&model.to_json()).unwrap();
    assert_eq!(&again, model);
    let context =
        Context::new().with("m", 512).with("k", 601).with("n", 512).with("mat1_dtype", "torch.float32");
    let values = model.values(&context);
    let ranking = model.ranking(&values).unwrap();
    let row = model.features.row(&values);
    let score = |choice| -> f64 {
        let scores = model.trees.iter().map(|tree| {
            let leaf = tree.leaf_index(&row, |slot, category| model.knows(slot, category)).unwrap();
            tree.leaf(leaf).unwrap().ranking.iter().find(|r| r.choice == choice).unwrap().score
        });
        scores.sum()
    };
    assert_eq!(ranking.len(), 2);
    assert!(score(ranking[0].choice) <= score(ranking[1].choice));
    assert_eq!(model.choice_name(ranking[0].choice), "pad");
}

#[test]
fn a_ranking_holds_k_choices() {
    let trained = learn(&log(80), |params| params.ranking = Some(2));
    assert!(trained.model.promise.is_none());
    for (_, leaf) in trained.model.trees[0].leaves() {
        assert_eq!(leaf.ranking.len(), 2);
    }
}

#[test]
fn a_ranking_spreads_over_what_is_good_elsewhere() {
    // No feature separates the inputs: `pad` and its variant win on most, `orig` on the others.
    let mut text = HEAD.to_owned();
    for i in 0..120 {
        let times = if i % 3 > 0 { [2.0, 1.0, 1.01] } else { [1.0, 3.0, 3.0] };
        for (choice, time) in ["orig", "pad", "variant"].iter().zip(times) {
            let _ = writeln!(text, "512,{},512,torch.float16,{choice},{time}", 513 + 6 * i);
        }
    }
    let trained = learn(&text, |params| {
        params.ranking = Some(3);
        params.max_depth = Some(1);
    });
    let model = &trained.model;
    for (_, leaf) in model.trees[0].leaves() {
        let names: Vec<&str> = leaf.ranking.iter().map(|r| model.choice_name(r.choice)).collect();
        assert!(names[..2].contains(&"orig") && names[2] != "orig", "{names:?}");
        assert!(leaf.ranking.is_sorted_by(|a, b| a.score <= b.score), "{:?}", leaf.ranking);
    }
}

#[test]
fn a_portfolio_keeps_the_choices_that_lose_least() {
    // `other` never wins; `pad` and the fallback stay.
    let mut text = log(80);
    let rows: Vec<String> = text
        .lines()
        .skip(2)
        .filter(|l| l.contains(",pad,"))
        .map(|l| {
            let (head, time) = l.rsplit_once(',').unwrap();
            format!("{}{}\n", head.replace(",pad", ",other,"), time.parse::<f64>().unwrap() * 3.0)
        })
        .collect();
    text.push_str(&rows.concat());
    let trained = learn(&text, |params| params.max_choices = Some(2));
    let portfolio = trained.portfolio.as_ref().unwrap();
    assert!(portfolio.exact && (portfolio.slowdown - 1.0).abs() < 1e-9, "{portfolio:?}");
    let names: Vec<&str> = portfolio.choices.iter().map(|c| trained.model.choice_name(*c)).collect();
    assert_eq!(names, ["orig", "pad"]);
    let ranked = trained.model.trees[0].leaves().flat_map(|(_, l)| &l.ranking);
    assert!(ranked.into_iter().all(|r| trained.model.choice_name(r.choice) != "other"));
}

#[test]
fn regression_learns_scores() {
    let trained = learn(&log(120), |params| params.learner = Some(LearnerKind::Regression));
    assert_eq!(trained.configurations[0].name(), "regression");
    assert!(trained.held_out.always.slowdown < 1.01, "{:?}", trained.held_out.always);
}

#[test]
fn further_logs_are_learned_from_and_never_held_out() {
    let files = Files::new(&log(60));
    let more = files.add("b.txt", &log(120));
    let trained = files.learn(|params| params.also_train = vec![FurtherLog { path: more, weight: 3.0 }]);
    let held_out = &trained.held_out;
    assert_eq!(held_out.train_inputs + held_out.comparison.model.inputs, 120);
    // A fifth of the first log's inputs, not of all.
    assert!(held_out.comparison.model.inputs <= 25, "{}", held_out.comparison.model.inputs);
}

#[test]
fn whole_dimensions_are_held_out() {
    let trained = learn(&log(120), |params| params.test_split = SplitBy::Dims);
    assert!(trained.held_out.by_input.is_some());
    let table = report::table::trained(&trained);
    assert!(table.contains("on held-out dimensions") && table.contains("soft, by input"), "{table}");
}

#[test]
fn the_graph_escapes_names() {
    let text = log(60).replace(",pad,", ",\"p\"\"ad\\\",");
    let dot = report::dot::text(&learn(&text, |_| {}).model);
    assert!(dot.starts_with("digraph \"T\" {"), "{dot}");
    assert!(dot.contains("p\\\"ad\\\\"), "{dot}");
}

/// The fields of the TOML.
#[test]
fn policy_as_toml() {
    let files = Files::new(&log(120));
    let policy = "max_depth = [1]\nmin_samples_leaf = [0.1]\nrow_filter = \"m != 512\"\nunsafe_leaf = 1.1\ntest_share = 0.3\nmin_samples = 2\n";
    let trained = files.learn(|params| {
        params.policy = Some(files.add("p.toml", policy));
        params.max_risk = MaxRisk::None;
    });
    assert_eq!(trained.held_out.depth, 1);
    let inputs = trained.held_out.train_inputs + trained.held_out.comparison.model.inputs;
    assert!(inputs < 120 && trained.warnings.iter().any(|w| w.contains("row filter")), "{inputs}");
    for (_, leaf) in trained.model.trees[0].leaves() {
        assert!(leaf.samples >= 8);
        assert_eq!(leaf.unsure.is_some(), leaf.ranking[0].worst_over_fallback > 1.1);
    }
}

/// The same hooks in code.
struct Cautious;

impl Policy for Cautious {
    fn learner(&self) -> Option<LearnerKind> {
        Some(LearnerKind::Linfa)
    }
    fn max_depths(&self) -> Vec<usize> {
        vec![3]
    }
    fn default_choice(&self) -> Option<String> {
        Some("pad".to_owned())
    }
    fn is_unsafe_leaf(&self, leaf: &Leaf) -> bool {
        leaf.samples < 20
    }
    fn derived(&self) -> Vec<DerivedFeature> {
        vec![DerivedFeature { name: "k is odd".to_owned(), expression: "k % 2 == 1".to_owned() }]
    }
    fn keeps(&self, context: &Context) -> bool {
        context.number("m") != Some(512.0)
    }
}

#[test]
fn policy_as_code() {
    let files = Files::new(&log(120));
    let params = files.params().check().unwrap();
    let trained = train_with(&params, Some(&Cautious)).unwrap();
    let model = &trained.model;
    assert_eq!(model.fallback.map(|f| model.choice_name(f)), Some("pad"));
    assert!(trained.configurations[0].name().starts_with("linfa"));
    assert!(model.features.all().slot("k is odd").is_some());
    for node in &model.trees[0].nodes {
        if let Node::Leaf(leaf) = node {
            assert_eq!(leaf.unsure.is_some(), leaf.samples < 20);
        }
    }
}

#[test]
fn shipped_policies_of_pytorch_are_sound() {
    for name in ["mixed_mm", "mm", "pad_mm"] {
        let trained = learn(&log(120), |params| {
            params.policy = Some(format!("pytorch_{name}").into());
            params.max_risk = MaxRisk::None;
        });
        assert!(trained.configurations[0].name().starts_with("linfa"), "{name}");
        assert!(trained.held_out.depth <= 7);
    }
}
