//! Any names in a model: outside of strings and comments, the generated code has only ASCII, every string ends in its line,
//! and files land in the output folder.
#![no_main]
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/ah-codegen/tests/it/hostile/mod.rs"]
mod hostile;
#[path = "../../crates/ah-codegen/tests/it/models/mod.rs"]
mod models;

fuzz_target!(|input: (u64, u8, Vec<String>)| {
    let (seed, depth, names) = input;
    hostile::check(seed % 4096, usize::from(depth % 6), &names);
});
