//! The words of a language.

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

/// The words of a language.
pub struct Words {
    /// The cases of features and of choices.
    pub cases: [Case; 2],
    /// The language's words, and the names of the file itself.
    pub reserved: [&'static str; 2],
    /// Logged features are fields, so they never meet the file's own names.
    pub has_fields: bool,
    /// The types of integers, numbers, truth values and texts.
    pub types: [&'static str; 4],
    /// Escapes a line without control characters, a sentence, and a name, for documentation.
    pub documented: [fn(&str) -> String; 3],

    /// `and`, `or`
    pub and: &'static str,
    pub or: &'static str,
    /// True and false.
    pub truths: [&'static str; 2],
    /// NaN, infinity, and its negative.
    pub floats: [&'static str; 3],
    /// The text before a logged feature.
    pub field: &'static str,
    /// The text around the condition of an `if`, and at its end.
    pub block: [&'static str; 3],
    /// An `if` with one statement takes one line.
    pub in_one_line: bool,
    /// The text around a body that reads features, one level deeper; empty without.
    pub guard: [&'static str; 2],
    /// The text around a comment.
    pub comment: [&'static str; 2],
    /// The text before a node, a ranked choice, a split and a pair in tables, and behind each.
    pub rows: [&'static str; 5],
    /// The column of a leaf in tables.
    pub leaf: &'static str,
    /// Compilers may fuse a product and a sum, which then rounds once: a helper keeps them apart.
    pub fuses: bool,
}
