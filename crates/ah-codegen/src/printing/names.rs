//! Turns the names of a model, which may be anything, into identifiers.
//!
//! An identifier keeps the ASCII letters and digits of the name. The name itself is beside it as an escaped
//! string, and only that string is ever compared with anything.

use std::collections::HashSet;

/// Longer identifiers are cut. A structured choice can have a name of 100 characters, which should stay
/// whole.
const LONGEST: usize = 160;

/// The case of an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// `arith_intensity`
    Snake,
    /// `ArithIntensity`
    Camel,
    /// The name itself if it is an identifier; else its words joined by `_`.
    Kept,
}

/// Hands out identifiers, each once.
#[derive(Clone, Debug)]
pub struct Namer {
    case: Case,
    taken: HashSet<String>,
}

impl Namer {
    /// Starts without identifiers. `reserved` are those that must not be used: the target's keywords and
    /// the templates' own names, separated by spaces.
    pub fn new(case: Case, reserved: &str) -> Self {
        Self { case, taken: reserved.split_ascii_whitespace().map(str::to_owned).collect() }
    }

    /// Returns an identifier for `name`. `stem` replaces a name without letters and digits, and precedes
    /// one that starts with a digit. Equal names and names with equal words get numbers.
    pub fn give(&mut self, name: &str, stem: &str) -> String {
        let kept = self.case == Case::Kept && is_identifier(name);
        let words = if kept { vec![name.to_owned()] } else { words(name) };
        let mut base = join(&words, self.case);
        if base.is_empty() {
            base = join(&[stem.to_owned()], self.case);
        } else if base.starts_with(|c: char| c.is_ascii_digit()) {
            base = join(&[stem.to_owned(), words.join(" ")], self.case).replace(' ', "_");
            base = join(&self::words(&base), self.case);
        }
        base.truncate(LONGEST);
        let base = base.trim_end_matches('_');
        let separator = if self.case == Case::Camel { "" } else { "_" };
        let mut identifier = base.to_owned();
        let mut number = 1_u32;
        while !self.taken.insert(identifier.clone()) {
            number += 1;
            // `B2` twice is `B2` and `B2_2`.
            let digit = base.ends_with(|c: char| c.is_ascii_digit());
            let separator = if digit { "_" } else { separator };
            identifier = format!("{base}{separator}{number}");
        }
        identifier
    }
}

/// Returns an identifier for a name that cannot collide: a crate, a file, a class.
pub fn single(name: &str, case: Case, stem: &str, reserved: &str) -> String {
    Namer::new(case, reserved).give(name, stem)
}

/// Returns true if a name is an identifier in every language, without underscores at its ends: those are
/// for the templates.
pub fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.ends_with('_')
}

/// Returns the runs of ASCII letters and digits in a name, split where a capital follows a small letter.
/// Operators between them, as in names of derived features, become words.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut length = 0;
    for c in name.chars() {
        // The rest is cut anyway.
        if length > 2 * LONGEST {
            break;
        }
        if c.is_ascii_alphanumeric() {
            if c.is_ascii_uppercase() && word.ends_with(|p: char| p.is_ascii_lowercase()) {
                words.push(std::mem::take(&mut word));
            }
            word.push(c);
            length += 1;
            continue;
        }
        if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        let operator = match c {
            '*' => "times",
            '/' => "over",
            '+' => "plus",
            '%' => "mod",
            _ => continue,
        };
        words.push(operator.to_owned());
        length += operator.len();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

fn join(words: &[String], case: Case) -> String {
    let mut text = String::new();
    for word in words {
        let lower = word.to_ascii_lowercase();
        match case {
            Case::Snake | Case::Kept => {
                if !text.is_empty() {
                    text.push('_');
                }
                text.push_str(if case == Case::Kept { word } else { &lower });
            }
            Case::Camel => {
                // `16_64` must not become `1664`.
                let digits = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
                if digits(text.chars().last()) && digits(lower.chars().next()) {
                    text.push('_');
                }
                let mut chars = lower.chars();
                text.extend(chars.next().map(|c| c.to_ascii_uppercase()));
                text.push_str(chars.as_str());
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_keep_what_they_can() {
        let snake = |name| Namer::new(Case::Snake, "type row").give(name, "feature");
        assert_eq!(snake("mat1_stride_0"), "mat1_stride_0");
        assert_eq!(snake("k/(m*n)"), "k_over_m_times_n");
        assert_eq!(snake("1LEQmLEQ16"), "feature_1leqm_leq16");
        assert_eq!(snake("ctz(m)"), "ctz_m");
        assert_eq!(snake("type"), "type_2");
        assert_eq!(snake("мама"), "feature");
        assert_eq!(snake(""), "feature");
        let camel = |name| Namer::new(Case::Camel, "Self Other").give(name, "Choice");
        assert_eq!(camel("type=triton_BLOCK-M=16_BLOCK-K=64"), "TypeTritonBlockM16BlockK64");
        assert_eq!(camel("torch.bfloat16"), "TorchBfloat16");
        assert_eq!(camel("self"), "Self2");
        assert_eq!(camel("other"), "Other2");
        assert_eq!(camel("16_32"), "Choice16_32");
        assert_eq!(camel("*/ \"\"\" {{ 7 * 7 }}"), "TimesOver7Times7");
    }

    #[test]
    fn names_that_read_alike_get_numbers() {
        let mut namer = Namer::new(Case::Snake, "");
        let given: Vec<String> = ["a-b", "a_b", "a b", "a_b_2"].map(|n| namer.give(n, "feature")).into();
        assert_eq!(given, ["a_b", "a_b_2", "a_b_3", "a_b_2_2"]);
        let mut namer = Namer::new(Case::Camel, "");
        let long = "x".repeat(10_000);
        let given: Vec<String> = (0..3).map(|_| namer.give(&long, "Choice")).collect();
        assert!(given.iter().all(|g| g.len() <= LONGEST + 2), "{given:?}");
        assert_eq!(given.iter().collect::<HashSet<_>>().len(), 3);
    }
}
