//! Any text as an expression: an error, or a tree that prints to what reads back and evaluates without a panic.
#![no_main]
use ah_model::{Feature, Schema, Value, expr};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(parsed) = expr::parse(&text) {
        assert_eq!(expr::parse(&parsed.to_string()).as_ref(), Ok(&parsed));
        let schema = Schema::new([Feature::numerical("m"), Feature::categorical("c")]).unwrap();
        if let Ok(typed) = parsed.resolve(&schema) {
            let row = [Value::from(0.0), Value::from("x")];
            let _ = (typed.number(&row[..]), typed.truth(&row[..]), typed.category(&row[..]));
        }
    }
});
