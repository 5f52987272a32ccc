//! Random names, many of them hostile.

use rand::Rng;
use rand::seq::IndexedRandom;
use rand_pcg::Pcg64;

/// Names that have broken generators before.
pub const ODD: &[&str] = &[
    "m", "k", "n", "self", "type", "class", "def", "fn", "double", "m*k", "m k", "m-k", "m_k", "k/(m*n)", "",
    " ", "\"", "'", "\\", "\n", "*/", "/*", "\"\"\"", "'''", "{{ 7 * 7 }}", "{% raw %}", "// x", "# x",
    "??/", "`", "$(id)", "мир", "ｍ", "\u{202e}abc", "\u{0}", "None", "True", "False", "Other", "other",
    "row", "context", "1LEQmLEQ16", "Self", "a\tb", "\r\n", "%s%n", "\u{1F600}", "__init__", "Choice",
    "leaf", "defined", "memo", "value", "math", "end", "static_assert", "complex", "typeof", "co_await",
    "is_eligible", "ranking", "offered", "ineligible", "columns", "choose", "float",
];

pub fn name(rng: &mut Pcg64) -> String {
    match rng.random_range(0..10) {
        0 => "x".repeat(rng.random_range(1..10_000)),
        1 | 2 => format!("{}{}", ODD.choose(rng).unwrap(), ODD.choose(rng).unwrap()),
        3 => (0..rng.random_range(0..12)).map(|_| rng.random::<char>()).collect(),
        _ => (*ODD.choose(rng).unwrap()).to_owned(),
    }
}

pub fn distinct(rng: &mut Pcg64, count: usize) -> Vec<String> {
    let mut names = std::collections::BTreeSet::new();
    let mut i = 0;
    while names.len() < count {
        let mut name = name(rng);
        if i > 3 * count || count > 40 {
            name = name.chars().take(20).chain(i.to_string().chars()).collect();
        }
        names.insert(name);
        i += 1;
    }
    names.into_iter().collect()
}
