//! The values that the templates of every target print: the lowered model in the words of a language.

mod choices;
mod features;
mod origin;
mod table;
mod trees;
mod viewer;

use std::collections::BTreeSet;

use ah_types::expr::{LOG2_COEFFICIENTS, LOG2_LARGEST};
use serde::Serialize;

use crate::lower::{Form, LoweredModel};
use crate::printing::expression::Printer;
use crate::printing::language::Language;
use crate::printing::text::number;
use choices::{ChoiceView, ConfigView, Fields};
use features::{ConditionView, DerivedView, EligibleView, FeatureView};
use origin::{DeviceView, PromiseView, ProvenanceView};
use table::{BoostedView, TableView};
use trees::{LeafView, LineView};
use viewer::{NameView, Viewer};

/// The values that the templates of every target print.
#[derive(Debug, Serialize)]
pub struct ModelView {
    generator: &'static str,
    version: &'static str,
    heuristic: NameView,
    optimization: NameView,
    device: Option<DeviceView>,
    capability: (u32, u32),
    shared_memory: Option<u64>,
    promise: Option<PromiseView>,
    provenance: ProvenanceView,
    /// The logged features.
    features: Vec<FeatureView>,
    /// The derived features that are needed.
    derived: Vec<DerivedView>,
    precondition: Option<ConditionView>,
    /// The conditions under which choices can run, for those that have one.
    eligible: Vec<EligibleView>,
    choices: Vec<ChoiceView>,
    /// The fields of structured choices.
    config: Option<ConfigView>,
    fallback: Option<ChoiceView>,
    /// The names of all derived features, as string literals.
    derived_names: Vec<String>,
    /// The literals of all categories that code distinguishes, sorted by name.
    categories: Vec<String>,
    /// The literals of the categories `True` and `False`.
    yes: String,
    no: String,
    /// True if categories are compared by their codes.
    codes: bool,
    /// The helpers that expressions call, and those that they call.
    helpers: BTreeSet<&'static str>,
    log2: Log2View,
    /// The leaves, if the trees are branches.
    leaves: Vec<LeafView>,
    /// True if every ranked choice of every leaf is allowed.
    all_allowed: bool,
    /// True if a leaf has another one for inputs outside its ranges.
    has_outside: bool,
    /// The number of trees; several trees vote.
    count: usize,
    votes: bool,
    /// The most choices that the trees can rank.
    most: usize,
    /// The trees as branches, or as a table.
    trees: Vec<Vec<LineView>>,
    table: Option<TableView>,
    /// Trees that add to the scores.
    boosted: Option<BoostedView>,
}

#[derive(Debug, Serialize)]
struct Log2View {
    coefficients: Vec<String>,
    largest: String,
}

impl ModelView {
    /// Returns the view of a model in this language.
    pub fn new(lowered: &LoweredModel<'_>, language: &impl Language) -> Self {
        let model = lowered.model;
        let mut printer = Printer { lowered, dialect: language, called: Default::default() };
        let viewer = Viewer { lowered, language };
        let derived = viewer.derived(&mut printer);
        let precondition = model.precondition.as_ref().map(|p| viewer.predicate(p, &mut printer));
        let eligible = viewer.eligible(&mut printer);
        let fields = Fields::new(&model.choices);
        let choices = viewer.choices(&fields);
        let (trees, table, boosted) = match &lowered.trees {
            Form::Branches(trees) => (trees.iter().map(|tree| viewer.tree(tree)).collect(), None, None),
            Form::Table(table) => {
                (vec![], Some(viewer.table(table)), table.boosted.as_ref().map(BoostedView::new))
            }
        };
        Self {
            generator: concat!("ah-codegen ", env!("CARGO_PKG_VERSION")),
            version: env!("CARGO_PKG_VERSION"),
            heuristic: viewer.name(&model.heuristic),
            optimization: viewer.name(&model.optimization),
            device: model.device.as_ref().map(|device| viewer.device(device)),
            capability: model.device_capa,
            shared_memory: model.shared_memory,
            promise: viewer.promise(),
            provenance: viewer.provenance(),
            features: (0..model.features.base().len()).map(|slot| viewer.feature(slot)).collect(),
            derived,
            precondition,
            eligible,
            fallback: model.fallback.map(|choice| choices[choice.index()].clone()),
            choices,
            config: viewer.config(&fields),
            derived_names: model.features.derived().iter().map(|(d, _)| language.string(&d.name)).collect(),
            categories: lowered.texts.iter().map(|text| viewer.literal(text)).collect(),
            yes: viewer.literal("True"),
            no: viewer.literal("False"),
            codes: lowered.codes,
            helpers: printer.called.all_helpers(),
            log2: Log2View {
                coefficients: LOG2_COEFFICIENTS.map(number).into(),
                largest: number(LOG2_LARGEST),
            },
            leaves: if table.is_none() { viewer.leaves() } else { vec![] },
            all_allowed: lowered.leaves.iter().all(|leaf| leaf.ranking.iter().all(|r| r.allowed)),
            has_outside: lowered.leaves.iter().any(|leaf| leaf.outside.is_some()),
            count: model.trees.len(),
            votes: lowered.votes(),
            most: lowered.longest_ranking(),
            trees,
            table,
            boosted,
        }
    }
}
