//! Any text as the TOML of an optimization: an error in words, or one that can be asked everything.
#![no_main]
use ah_model::{Features, Schema};
use ah_types::Optimization;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    match Optimization::parse(&text, "fuzz.toml".as_ref()) {
        Ok(optimization) => {
            let schema = optimization.schema().expect("checked on reading");
            for schema in [schema, Schema::default()] {
                let (derived, _) = optimization.derived_for(&schema);
                let _ = Features::new(schema, &derived);
            }
            let _ = optimization.fallback_among(&["a"]);
        }
        Err(error) => {
            let text = error.to_string();
            assert!(text.len() < 4000, "{text}");
            assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        }
    }
});
