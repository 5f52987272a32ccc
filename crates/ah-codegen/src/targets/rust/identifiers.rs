//! The identifiers of a model's things in Rust.

use crate::lower::LoweredModel;
use crate::names::{Case, Namer, single};

/// Keywords of every edition, and what the templates name themselves.
const RESERVED: &str = "\
    abstract as async await become box break const continue crate do dyn else enum extern false final fn \
    for gen if impl in let loop macro match mod move mut override priv pub ref return self static struct \
    super trait true try type typeof unsafe unsized use virtual where while yield union raw safe row \
    context values memo node at slot leaf leaves features known needed number seen defined divide modulo \
    min max abs floor ceil log2 ctz same eq ne lt le gt ge precondition into try_into";
const RESERVED_TYPES: &str = "\
    Self Choice Context Row Number Leaf Vote Ends Ranking Unsure Device Promise UnknownChoice Heuristic \
    Option Some None Result Ok Err Other Memo Node Whole";
/// Names that no package may have, beside the keywords.
const RESERVED_CRATES: &str = "\
    core std alloc test proc_macro serde ah_runtime ah_types con nul aux prn";

/// The identifiers of a model's things.
pub struct Identifiers {
    /// By slot: fields, locals and functions.
    pub features: Vec<String>,
    /// By logged slot: the types of categorical features.
    pub enums: Vec<String>,
    /// By logged slot: the variants, as in [`LoweredModel::variants`].
    pub variants: Vec<Vec<String>>,
    pub choices: Vec<String>,
}

/// The name of the crate.
pub fn krate(heuristic: &str) -> String {
    single(heuristic, Case::Snake, "heuristic", &[RESERVED, RESERVED_CRATES].join(" "))
}

impl Identifiers {
    pub fn new(lowered: &LoweredModel<'_>) -> Self {
        let mut names = Namer::new(Case::Snake, RESERVED);
        let features = lowered.model.features.all().features().iter().map(|f| names.give(&f.name, "feature"));
        let features = features.collect();
        let mut types = Namer::new(Case::Camel, RESERVED_TYPES);
        let base = lowered.model.features.base().features();
        let enums = base.iter().map(|f| types.give(&f.name, "Feature")).collect();
        let variants = lowered.variants.iter().map(|texts| {
            let mut names = Namer::new(Case::Camel, "Self Other");
            texts.iter().map(|text| names.give(text, "Category")).collect()
        });
        let mut choices = Namer::new(Case::Camel, "Self");
        Self {
            features,
            enums,
            variants: variants.collect(),
            choices: lowered.model.choices.iter().map(|c| choices.give(c, "Choice")).collect(),
        }
    }

    /// The path of the variant for a category of a logged feature.
    pub fn variant(&self, lowered: &LoweredModel<'_>, slot: usize, category: &str) -> String {
        let variant =
            lowered.variants[slot].binary_search(&category).ok().map(|i| self.variants[slot][i].as_str());
        format!("context::{}::{}", self.enums[slot], variant.unwrap_or("Other"))
    }
}
