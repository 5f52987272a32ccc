//! The reasons for a decision, as people read them.

use crate::common;

use ah_train::{Params, TrainError, TrainedModel, explain, report, train};
use ah_types::{Explanation, Value};
use common::log;

fn trained() -> TrainedModel {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    std::fs::write(&path, log(240)).unwrap();
    train(&Params::new(vec![path], "T").check().unwrap()).unwrap()
}

fn input(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn a_decision_is_explained() {
    let trained = trained();
    let explanation =
        explain(&trained.model, &input("m=519 k=601 n=515 mat1_dtype=torch.float16"), &[]).unwrap();
    insta::assert_snapshot!(explanation.to_string());
    let declines = explain(&trained.model, &input("m=519 k=601"), &[]).unwrap();
    insta::assert_snapshot!(declines.to_string());
    insta::assert_snapshot!(report::summary::trained(&trained));
}

#[test]
fn changes_change_the_decision_and_nothing_nearer_does() {
    let model = trained().model;
    let values = |k: f64| {
        let values = [Value::Number(519.0), Value::Number(k), Value::Number(515.0), "torch.float16".into()];
        model.choose(&values).ok().map(|ranked| model.choice_name(ranked.choice).to_owned())
    };
    for k in [601.0, 602.0, 700.0] {
        let pairs = input(&format!("m=519 k={k} n=515 mat1_dtype=torch.float16"));
        let Explanation { choice, changes, .. } = explain(&model, &pairs, &[]).unwrap();
        assert_eq!(choice, values(k));
        let of_k: Vec<_> = changes.iter().filter(|change| change.feature == "k").collect();
        assert!(!of_k.is_empty(), "padding is faster for odd k");
        for change in of_k {
            let there: f64 = change.value.parse().unwrap();
            assert_ne!(change.choice, choice);
            assert_eq!(change.choice, values(there));
            let nearer = if there > k { there - 1.0 } else { there + 1.0 };
            assert_eq!(values(nearer), choice, "{k} {there}");
        }
    }
}

#[test]
fn wrong_inputs_are_named() {
    let model = trained().model;
    let fails =
        |text: &str, offered: &[String]| explain(&model, &input(text), offered).unwrap_err().to_string();
    insta::assert_snapshot!(
        [fails("m", &[]), fails("m=1 kk=2", &[]), fails("m=wide", &[]), fails("m=1", &["padd".to_owned()]),]
            .join("\n")
    );
    assert!(matches!(explain(&model, &input("m"), &[]), Err(TrainError::Parameter { .. })));
}
