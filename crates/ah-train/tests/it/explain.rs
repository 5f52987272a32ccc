//! The reasons for a decision, as people read them.

use crate::common;

use ah_train::{Params, TrainError, TrainedModel, explain, report, train};
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
        ]
        .join("\n")
    );
    assert!(matches!(explain(&model, &input("m"), &[]), Err(TrainError::Parameter { .. })));
}
