//! Any names: the identifiers, comments and strings that generated code makes of them stay what they are.
//! `generated_code` checks whole files; this checks the parts that names go through, and is faster by far.
#![no_main]
#![allow(dead_code)] // The generator's own files, of which this uses the doors.
use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/ah-codegen/src/names.rs"]
mod names;
#[path = "../../crates/ah-codegen/src/text.rs"]
mod text;

use names::{Case, Namer, is_identifier};

const RESERVED: &str = "type self Self class for a b x1";

fuzz_target!(|bytes: &[u8]| {
    let input = String::from_utf8_lossy(bytes);
    // The first character says what to check: each check alone is three times as fast as all.
    let mut characters = input.chars();
    let first = characters.next().map_or(0, u32::from);
    let names = characters.as_str();
    match first % 5 {
        0 => identifiers(Case::Snake, names),
        1 => identifiers(Case::Camel, names),
        2 => identifiers(Case::Kept, names),
        3 => comments(names),
        _ => {
            let literal = text::rust_string(names);
            assert!(
                literal.chars().all(|c| c.is_ascii_graphic() || c == ' ' || c.is_alphanumeric()),
                "{literal:?}"
            );
            assert_eq!(unescaped(&literal[1..literal.len() - 1]), names);
        }
    }
});

/// Each line is a name.
fn identifiers(case: Case, names: &str) {
    let mut namer = Namer::new(case, &[RESERVED]);
    let mut given = HashSet::new();
    for name in names.split('\n') {
        let identifier = namer.give(name, "feature", 160);
        // A reserved word has `_` behind it.
        assert!(is_identifier(identifier.trim_end_matches('_')), "{case:?} {name:?}: {identifier}");
        assert!(identifier.len() < 200, "{identifier}");
        assert!(!RESERVED.split(' ').any(|word| word == identifier), "{identifier}");
        assert!(given.insert(identifier), "{name:?} of {names:?}");
    }
}

fn comments(name: &str) {
    let shown = text::shown(name);
    assert!(!shown.contains(['\n', '\r', '"', '`', '\\']), "{shown:?}");
    assert!(!["*/", "/*", "//", "??"].iter().any(|end| shown.contains(end)), "{shown:?}");
    assert!(!shown.contains(|c: char| c.is_control()), "{shown:?}");
    let code = text::code(name);
    assert!(code == "(no name)" || code.matches('`').count() == 2, "{code:?}");
    let _ = text::sentence(name);
}

/// The text of a literal; panics where it would end early.
fn unescaped(literal: &str) -> String {
    let mut text = String::new();
    let mut rest = literal;
    while let Some(c) = rest.chars().next() {
        assert_ne!(c, '"', "{literal}");
        if c != '\\' {
            text.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let (plain, length) = match rest.as_bytes()[1] {
            b'n' => ('\n', 2),
            b'r' => ('\r', 2),
            b't' => ('\t', 2),
            b'u' => {
                let end = rest.find('}').expect("a closed code");
                let code = u32::from_str_radix(&rest[3..end], 16).expect("a code");
                (char::from_u32(code).expect("a character"), end + 1)
            }
            other => (char::from(other), 2),
        };
        text.push(plain);
        rest = &rest[length..];
    }
    text
}
