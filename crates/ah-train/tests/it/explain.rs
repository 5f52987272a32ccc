//! The reasons for a decision, as people read them.

use crate::common;
use ah_model::Error;

use ah_train::{LearnerKind, MaxRisk, Params, TrainedModel, explain, report, train};
use common::log;

fn trained() -> TrainedModel {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    std::fs::write(&path, log(240)).unwrap();
    train(&Params::new(vec![path], "T")).unwrap()
}

fn input(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn a_decision_is_explained() {
    let trained = trained();
    let explanation =
        explain(&trained.model, &input("m=519 k=601 n=515 mat1_dtype=torch.float16"), &[]).unwrap();
    insta::assert_snapshot!(explanation);
    let declines = explain(&trained.model, &input("m=519 k=12 n=515 mat1_dtype=torch.float16"), &[]).unwrap();
    insta::assert_snapshot!(declines);
    insta::assert_snapshot!(report::summary::trained(&trained));
}

/// A leaf of boosted trees that three inputs reach was said to have the evidence of 115.
#[test]
fn evidence_from_beyond_the_leaf_is_called_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    std::fs::write(&path, log(240)).unwrap();
    let learner = Some(LearnerKind::Boosted);
    let max_risk = Some(MaxRisk::None);
    let model = train(&Params { learner, max_risk, ..Params::new(vec![path], "T") }).unwrap().model;
    assert!(!model.boosters.is_empty());
    let text = explain(&model, &input("m=519 k=601 n=515 mat1_dtype=torch.float16"), &[]).unwrap();
    assert!(text.contains(" training inputs, which reach it or leaves near it:"), "{text}");
}

/// The figures of a leaf are those of its inputs, which could all run `pad` here.
#[test]
fn an_input_like_no_training_input_is_called_so() {
    let model = trained().model;
    let explained = |condition: &str| {
        let mut value: serde_json::Value = serde_json::from_str(&model.to_json()).unwrap();
        value["eligible"]["pad"] = condition.into();
        let model = ah_model::Model::parse(&value.to_string()).unwrap();
        explain(&model, &input("m=519 k=601 n=515 mat1_dtype=torch.float32"), &[]).unwrap()
    };
    let like_none =
        "No training input is like this one: each could run a choice that this one cannot, and the";
    assert!(explained("m < 500").contains(like_none), "{}", explained("m < 500"));
    assert!(!explained("m > 500").contains("No training input"), "{}", explained("m > 500"));
}

#[test]
fn wrong_inputs_are_named() {
    let model = trained().model;
    let fails =
        |text: &str, offered: &[String]| explain(&model, &input(text), offered).unwrap_err().to_string();
    insta::assert_snapshot!(
        [
            fails("m=519 k=601", &[]),
            fails("m", &[]),
            fails("m=1 kk=2", &[]),
            fails("m=wide", &[]),
            fails("m=1", &["padd".to_owned()]),
            fails("m=1 m=2", &[]),
        ]
        .join("\n")
    );
    assert!(matches!(explain(&model, &input("m"), &[]), Err(Error::Usage(_))));
}

/// It was once said to have a category that training never saw.
#[test]
fn a_category_that_is_not_given_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    let mut text = r#"{"name": "own", "device_capa": [0, 0], "numerical_features": ["n"], "categorical_features": ["kind"]}
n,kind,choice,feedback
"#
    .to_owned();
    for n in 0..200 {
        let (kind, fast) = [("x", "a"), ("y", "b"), ("z", "a")][n % 3];
        text += &format!("{n},{kind},{fast},1\n{n},{kind},{},2\n", if fast == "a" { "b" } else { "a" });
    }
    std::fs::write(&path, text).unwrap();
    let model = train(&Params::new(vec![path], "T")).unwrap().model;
    let of = |text| explain(&model, &input(text), &[]).map_err(|e| e.to_string());
    assert!(of("n=3").unwrap_err().ends_with("found none of kind"));
    // The model reads no other feature.
    assert!(explain(&model, &[], &[]).unwrap_err().to_string().ends_with("found none of kind"));
    assert!(of("n=3 kind=w").unwrap().contains("a category that training never saw"));
    assert!(of("kind=x").is_ok_and(|text| text.contains("reaches a leaf")));
}
