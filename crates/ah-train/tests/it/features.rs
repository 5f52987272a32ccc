//! The effect of flags and hooks, on a small log and on logs with a known truth.

use crate::common;

use std::fmt::Write as _;

use ah_model::PromiseMode;
use ah_train::{LearnerKind, MaxRisk, NoPromise, Params, SplitBy, TrainedModel, evaluate, report, train};
use common::{HEAD, learner, log};

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
        train(&params).unwrap()
    }
}

fn learn(text: &str, change: impl FnOnce(&mut Params)) -> TrainedModel {
    Files::new(text).learn(change)
}

/// A log where `pad` takes more than 1.05 × `orig` on a `share` of the inputs, at random.
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
    assert_eq!(promise.mode, PromiseMode::CrossFitted);
    assert!(
        safe.held_out.evaluation.comparison.model.coverage > 0.9,
        "{:?}",
        safe.held_out.evaluation.comparison.model
    );
    let unsafe_ = learn(&risky(1500, 0.08), |_| {});
    assert!(unsafe_.held_out.always.over_limit > 0.04, "{:?}", unsafe_.held_out.always);
    assert!(
        unsafe_.held_out.evaluation.comparison.model.over_limit <= 0.01,
        "{:?}",
        unsafe_.held_out.evaluation.comparison.model
    );
    let always = learn(&risky(1500, 0.08), |params| params.max_risk = Some(MaxRisk::None));
    assert!(always.model.promise.is_none());
    assert_eq!(always.held_out.evaluation.comparison.model, always.held_out.always);
}

#[test]
fn every_mode_of_the_promise_calibrates() {
    for (group, mode) in [("none", PromiseMode::CrossFitted), ("m", PromiseMode::ByGroup)] {
        let trained = learn(&risky(4000, 0.002), |params| params.group = vec![group.to_owned()]);
        let promise = trained.model.promise.as_ref().unwrap_or_else(|| panic!("{mode:?}"));
        assert_eq!(promise.mode, mode);
        assert!((promise.violations as f64) <= 0.01 * promise.inputs as f64);
    }
}

#[test]
fn the_limit_that_judges_is_the_limit_that_is_printed() {
    // `pad` takes twice as long as `orig` on some inputs: more than 1.05, less than 3 times as long.
    let files = Files::new(&risky(1500, 0.08));
    for max_risk in [MaxRisk::None, MaxRisk::Share(0.01)] {
        let trained =
            files.learn(|params| (params.max_risk, params.max_slowdown) = (Some(max_risk), Some(3.0)));
        assert_eq!(trained.model.promise.is_some(), max_risk.share().is_some());
        let summary = report::summary::trained(&trained);
        assert!(summary.contains("> 200 % slower "), "{summary}");
        let evaluation = evaluate(&trained.model, &files.params().logs, None, false).unwrap();
        assert_eq!(evaluation.comparison.model.over_limit, 0.0);
        let summary = report::summary::evaluated("T", &evaluation.comparison);
        assert!(summary.contains("> 200 % slower "), "{summary}");
    }
}

#[test]
fn best_single_is_the_strongest_baseline() {
    // `pad` wins where it is offered; elsewhere `other` runs. If `pad` cost what the slowest choice costs there, `other` alone
    // would seem the better baseline.
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
    let single = &trained.held_out.evaluation.comparison.best_single;
    assert_eq!(single.choice, "pad, else other", "{single:?}");
    let evaluation = evaluate(&trained.model, &files.params().logs, None, false).unwrap();
    let single = &evaluation.comparison.best_single;
    assert!(single.choice == "pad, else other" && (single.metrics.slowdown - 1.0).abs() < 1e-9, "{single:?}");
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
    let learn =
        |seed| train(&Params { seed: Some(seed), max_risk: Some(MaxRisk::None), ..files.params() }).unwrap();
    // A fifth of the seeds holds it out.
    let declined = |trained: &TrainedModel| {
        let judged = &trained.held_out.evaluation.comparison.model;
        (judged.coverage - (judged.inputs as f64 - 1.0) / judged.inputs as f64).abs() < 1e-9
    };
    let trained = (0..30).map(learn).find(declined).expect("a seed holds it out");
    // What ships has seen it.
    let slot = trained.model.features.base().slot("mat1_dtype").unwrap();
    assert_eq!(trained.model.categories[slot], ["a", "b", "c"]);
}

#[test]
fn with_too_few_inputs_for_a_promise_the_heuristic_always_decides_and_says_so() {
    let trained = learn(&risky(100, 0.0), |_| {});
    assert!(trained.model.promise.is_none());
    // 181 in the training part.
    assert_eq!(trained.no_promise, Some(NoPromise::TooFew { inputs: 100, needed: 219, asked: false }));
    assert!(trained.held_out.evaluation.comparison.model.coverage > 0.99);
    let said = report::summary::trained(&trained);
    assert!(said.contains("100 inputs are too few; measure about 219"), "{said}");
    // A promise that was asked for takes only the fallback.
    let asked = learn(&risky(100, 0.0), |params| params.max_risk = Some(MaxRisk::Share(0.01)));
    assert!(
        matches!(asked.no_promise, Some(NoPromise::TooFew { asked: true, .. })),
        "{:?}",
        asked.no_promise
    );
    assert_eq!(asked.constant(), Some("orig"));
}

#[test]
fn the_number_of_inputs_decides_the_usual_promise() {
    for (inputs, share) in [(2000, 0.01), (600, 0.02), (240, 0.05)] {
        let trained = learn(&risky(inputs, 0.0), |_| {});
        assert_eq!(
            trained.model.promise.as_ref().map(|promise| promise.target),
            Some(share),
            "{inputs} inputs"
        );
        let said = report::summary::trained(&trained);
        assert_eq!(said.contains("1 % needs about 11"), share > 0.01, "{said}");
        let asked = learn(&risky(inputs, 0.0), |params| params.max_risk = Some(MaxRisk::Share(0.3)));
        assert_eq!(asked.model.promise.map(|promise| promise.target), Some(0.3));
    }
}

#[test]
fn a_ranking_holds_k_choices() {
    let trained = learn(&log(80), |params| params.ranking = Some(2));
    assert!(trained.model.promise.is_none());
    for (_, leaf) in trained.model.tree.leaves() {
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
    for (_, leaf) in model.tree.leaves() {
        let names: Vec<&str> = leaf.ranking.iter().map(|r| model.choice_name(r.choice)).collect();
        assert!(names[..2].contains(&"orig") && names[2] != "orig", "{names:?}");
        assert!(leaf.ranking.is_sorted_by(|a, b| a.score <= b.score), "{:?}", leaf.ranking);
    }
}

/// A program that measures the first choices of a ranking also measures what it would do by itself, however slow that is.
#[test]
fn a_ranking_has_the_fallback_among_the_first() {
    let mut text = HEAD.to_owned();
    for i in 0..120 {
        let times = [3.0, 1.0 + 0.2 * f64::from(i % 2), 1.2 - 0.2 * f64::from(i % 2), 1.3];
        for (choice, time) in ["orig", "pad", "variant", "third"].iter().zip(times) {
            let _ = writeln!(text, "512,{},512,torch.float16,{choice},{time}", 513 + 6 * i);
        }
    }
    let change = |params: &mut Params| (params.ranking, params.fallback) = (Some(2), Some("orig".to_owned()));
    let model = learn(&text, change).model;
    for (_, leaf) in model.tree.leaves() {
        let names: Vec<&str> = leaf.ranking.iter().map(|r| model.choice_name(r.choice)).collect();
        assert!(names[0] != "orig" && names[1] == "orig", "{names:?}");
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
    assert!((portfolio.slowdown - 1.0).abs() < 1e-9, "{portfolio:?}");
    assert_eq!(portfolio.choices, ["orig", "pad"]);
    assert_eq!(trained.model.choices, portfolio.choices);
    let ranked = trained.model.tree.leaves().flat_map(|(_, l)| &l.ranking);
    assert!(ranked.into_iter().all(|r| trained.model.choice_name(r.choice) != "other"));
}

#[test]
fn whole_dimensions_are_held_out() {
    let trained = learn(&log(120), |params| params.test_split = Some(SplitBy::Dims));
    assert!(trained.held_out.by_input.is_some());
    let evidence = report::summary::evidence(&trained);
    assert!(
        evidence.contains("Held-out dimensions: ") && evidence.contains("With single inputs held out"),
        "{evidence}"
    );
}

#[test]
fn a_training_policy_in_toml() {
    let files = Files::new(&log(120));
    let policy = "max_depth = 1\nmin_samples_leaf = 0.1\nmax_risk = \"none\"\n";
    let toml = format!("name = \"pad_mm\"\nfallback = [\"orig\"]\n[training]\n{policy}");
    let by_toml = files.learn(|params| {
        params.optimization = Some(files.add("pad_mm.toml", &toml));
        params.learner = Some(LearnerKind::CostTree);
    });
    assert_eq!((by_toml.no_promise, by_toml.plan.promises()), (Some(NoPromise::NotAsked), false));
    assert_eq!(common::depth(&by_toml.model.tree), 1);
    assert!(by_toml.model.tree.leaves().all(|(_, leaf)| leaf.samples >= 8));
}

#[test]
fn a_flag_wins_over_the_optimization_and_that_over_the_default() {
    let files = Files::new(&log(120));
    let toml = "name = \"pad_mm\"\nfallback = [\"orig\"]\n[training]\nlearner = \"linfa\"\nmax_depth = 3\nsize = 0.01\n";
    let with_toml = |params: &mut Params| params.optimization = Some(files.add("pad_mm.toml", toml));
    let by_toml = files.learn(with_toml);
    assert_eq!(learner(&by_toml), "LinfaTrees");
    let by_flag = files.learn(|params| {
        with_toml(params);
        params.learner = Some(LearnerKind::CostTree);
        params.max_risk = Some(MaxRisk::Share(0.3));
    });
    assert_eq!(learner(&by_flag), "CostTree");
    insta::assert_snapshot!(by_flag.plan.settings, @r#"
    fallback      orig (optimization)
    learner       cost_tree (flag)
    max_depth     3 (optimization)
    max_risk      0.3 (flag)
    max_slowdown  1.05 (default)
    objective     geomean (default)
    outside       decline (default)
    seed          0 (default)
    size          0.01 (optimization)
    target        "rust" (default)
    test_split    input (default)
    "#);
    let recorded = &by_flag.model.provenance.parameters["settings"]["max_depth"];
    assert_eq!(*recorded, serde_json::json!({ "from": "optimization", "value": 3 }));
}

#[test]
fn copies_are_pointed_out_in_logs_of_other_tools() {
    let row =
        |m: usize, choice: &str, ms: usize| format!("{m},64,64,torch.float16,{choice},{ms}\n").repeat(2);
    let rows: String = (1..60).map(|m| row(m, "orig", 1 + m % 2) + &row(m, "pad", 2 - m % 2)).collect();
    let is_warned = |head: &str| {
        let trained = learn(&format!("{head}{rows}"), |_| {});
        trained.warnings.iter().any(|warning| warning.contains("the log repeats"))
    };
    assert!(is_warned(HEAD));
    assert!(!is_warned(&HEAD.replacen('}', r#", "autoheuristic_rs": {"collected": true}}"#, 1)));
}
