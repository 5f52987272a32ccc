//! Any names in a model: the generated Rust, Python and C are those of harmless names, but for identifiers,
//! strings and comments, and land in the output folder.
#![no_main]
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/ah-codegen/tests/hostile/mod.rs"]
mod hostile;
#[path = "../../crates/ah-codegen/tests/models/mod.rs"]
mod models;

fuzz_target!(|input: (u64, u8, Vec<String>)| {
    let (seed, depth, names) = input;
    hostile::check(seed % 4096, usize::from(depth % 6), &names);
});
