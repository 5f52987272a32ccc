//! The values that the templates of every target print: the lowered model in the words of a language.

mod choices;
mod ensemble;
mod features;
mod origin;
mod trees;
mod viewer;

use std::collections::BTreeSet;

use ah_types::expr::{LOG2_COEFFICIENTS, LOG2_LARGEST};
use serde::Serialize;

use crate::lower::LoweredModel;
use crate::printing::expression::Printer;
use crate::printing::language::Language;
use crate::printing::text::number;
use choices::{ChoiceView, ConfigView, Fields};
use ensemble::EnsembleView;
use features::{AssignmentView, ConditionView, DerivedView, EligibleView, FeatureView};
use origin::{DeviceView, PromiseView, ProvenanceView};
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
    /// With boosters as branches: the assignments that compute all derived features, each part once.
    computed: Vec<AssignmentView>,
    /// The helpers that expressions call, and those that they call.
    helpers: BTreeSet<&'static str>,
    log2: Log2View,
    /// True if training saw a number missing.
    missing: bool,
    /// The leaves of the model's own tree.
    leaves: Vec<LeafView>,
    /// The length of the longest ranking.
    most: usize,
    /// The model's own tree as branches; empty if the language has it in the arrays of the ensemble.
    tree: Vec<LineView>,
    /// The arrays; none for branches.
    ensemble: Option<EnsembleView>,
    /// The boosters as branches; empty if the language has them in the arrays.
    boosters: Vec<Vec<LineView>>,
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
        let mut printer = Printer { lowered, dialect: language, called: Default::default(), shared: None };
        let viewer = Viewer { lowered, language };
        let derived = viewer.derived(&mut printer);
        let precondition = model.precondition.as_ref().map(|p| viewer.predicate(p, &mut printer));
        let eligible = viewer.eligible(&mut printer);
        let fields = Fields::new(&model.choices);
        let choices = viewer.choices(&fields);
        let arrays = lowered.ensemble.as_deref();
        let is_nested = arrays.is_none() || language.nests_ensembles();
        let (branches, boosters) =
            if is_nested { (lowered.branches(), lowered.boosters()) } else { Default::default() };
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
            computed: if boosters.is_empty() { Vec::new() } else { viewer.computed(&mut printer) },
            helpers: printer.called.all_helpers(),
            log2: Log2View {
                coefficients: LOG2_COEFFICIENTS.map(number).into(),
                largest: number(LOG2_LARGEST),
            },
            missing: !model.missing.is_empty(),
            leaves: viewer.leaves(),
            most: lowered.longest_ranking(),
            tree: viewer.tree(&branches, 4),
            ensemble: arrays.map(|arrays| viewer.ensemble(arrays)),
            boosters: boosters.iter().map(|events| viewer.tree(events, 1)).collect(),
        }
    }
}
