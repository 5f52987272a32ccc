//! Any text as a model: an error, or a model that decides without a panic and prints to what reads back.
#![no_main]
use ah_types::{Context, Model};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(model) = Model::parse(text) {
        assert_eq!(Model::parse(&model.to_json()).as_ref(), Ok(&model));
        let _ = model.decide(&model.values(&Context::new()), |_| true);
    }
});
