//! Any text as a model: an error, or a model that decides without a panic, alike by the file's own
//! evaluation and at run time, and prints to what reads back.
#![no_main]
use ah_model::{FeatureKind, Model, Scalar, Value};
use ah_runtime::{Heuristic, LoadedModel};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let Ok(model) = Model::parse(&text) else { return };
    assert_eq!(Model::parse(&model.to_json()).as_ref(), Ok(&model));
    let loaded = LoadedModel::from(model.clone());
    for (turn, number) in
        [0.0, 1.0, 8.0, 9.5, 11.0, 4096.0, -3.0, 1e300, f64::INFINITY, f64::NAN].into_iter().enumerate()
    {
        let value = |(slot, feature): (usize, &ah_model::Feature)| match feature.kind {
            FeatureKind::Numerical => Value::from(number),
            FeatureKind::Categorical => {
                Value::from(model.categories[slot].get(turn % 3).map_or("never seen", String::as_str))
            }
        };
        let values: Vec<Value> = model.features.base().features().iter().enumerate().map(value).collect();
        let scalars: Vec<Scalar<'_>> = values.iter().map(Value::as_scalar).collect();
        let own = model.decide(&values, |choice| choice.index() != turn).ok().map(|choice| choice.index());
        assert_eq!(loaded.decide(&scalars, &|choice| choice != turn).ok(), own);
        let _ = loaded.ranked(&scalars, &mut |choice| assert!(choice < model.choices.len()));
        let _ = loaded.decide(&scalars[..scalars.len() / 2], &|_| true);
    }
});
