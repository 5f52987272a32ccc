//! What to learn and how, what one fit sees, and the resulting model.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ah_model::{ChoiceId, Costs as CostFormula, Features, Model, Node, Precondition, Tree};

use super::calibrate::{ALWAYS, NEVER, is_taken};
use crate::data::{Costs, Dataset, FitRows, PENALTY, RankedFeatures, Table, measured_range};
use crate::decisions::{self, JudgedInput};
use crate::learners::{self, Residuals, cost_formula};
use crate::model;
use crate::overhead::{Footprint, VisitedParts};
use crate::params::{Outside, Size};
use crate::plan::TrainPlan;
use crate::search::{self, Configuration};
use crate::tree::FittedEnsemble;
use crate::tree::cheap_first::{Askable, Price, cheap_first};
use crate::tree::leaves::{self, RankingPolicy};
use crate::tree::narrow::narrow;
use crate::tree::prune::pruned;

/// What to learn, and how.
#[derive(Clone, Copy)]
pub struct Recipe<'a> {
    /// The data.
    pub dataset: &'a Dataset,
    /// All settings.
    pub plan: &'a TrainPlan,
    /// The learner.
    pub configuration: &'a Configuration,
    /// The most leaves of a tree.
    pub max_leaves: Option<usize>,
}

/// The features as one fit sees them. Whatever looks at the answers was found on its inputs alone: derived features, features
/// that are not worth their time, and the orders of categories.
pub struct View {
    /// The inputs to learn from, ascending.
    pub inputs: Vec<u32>,
    /// Logged and derived features.
    pub features: Features,
    /// Their columns.
    pub ranked: RankedFeatures,
    /// Where choices can run at all.
    pub eligible: BTreeMap<ChoiceId, Precondition>,
    /// The formula of the choices' costs, for fits on one.
    pub formula: Option<Arc<CostFormula>>,
}

impl View {
    /// The features as a fit to these inputs sees them, with a cost formula if it stands on one.
    pub fn new(dataset: &Dataset, plan: &TrainPlan, inputs: &[u32], is_on_formula: bool) -> Self {
        let formula =
            if is_on_formula { cost_formula::fit(dataset, inputs, true).map(Arc::new) } else { None };
        let found = search::derived::with_found(dataset, inputs, plan.seed).map(|found| match plan.size {
            // With padding waste as columns, seven processors lose 0.62 instead of 0.93 %, and 1.40 instead of 1.74 % of 60 inputs. The
            // default has none: above all measured sizes it loses more there with some seeds, less with others (docs/laboratory.md).
            Size::Best if is_on_formula => found.with_derived(learners::padding(dataset, inputs)),
            _ => found,
        });
        let dataset = found.as_ref().unwrap_or(dataset);
        let left_out = search::features::not_worth_their_time(dataset, plan, inputs);
        Self {
            inputs: inputs.to_vec(),
            features: dataset.features.clone(),
            ranked: dataset.ranked_without(inputs, &left_out),
            eligible: dataset.eligible_on(inputs),
            formula,
        }
    }

    /// The part of the times that the formula leaves, by row.
    fn residuals(&self, dataset: &Dataset, steepness: f64) -> Option<Residuals> {
        let formula = self.formula.as_ref()?;
        let residuals = |&input: &u32| cost_formula::residuals(dataset, formula, input, steepness);
        Some(self.inputs.iter().map(residuals).collect())
    }

    /// The rows to learn from.
    pub fn rows(&self) -> FitRows<'_> {
        FitRows { columns: &self.ranked.columns, inputs: &self.inputs }
    }
}

/// The most leaves of a tree beside boosted ones. It tells which choices programs offer where: with 16, 32 and 64 leaves and with
/// all, SpMV on an MI100 loses 1.0386, 1.0343, 1.0290 and 1.0289 if the program names no choices. With 64, mixed_mm's model has 354
/// instead of 613 kB.
const BESIDE_BOOSTED: usize = 64;

/// An ensemble with the features that it learned from.
#[derive(Clone)]
pub struct Fitted {
    /// What it saw.
    pub view: Arc<View>,
    /// The ensemble.
    pub ensemble: FittedEnsemble,
}

impl Recipe<'_> {
    /// Learns an ensemble in a view.
    pub fn fit(&self, view: &Arc<View>) -> Fitted {
        let Self { dataset, configuration, .. } = self;
        let rows = view.rows();
        let costs = self.costs(&view.inputs);
        let Configuration { learner, boost, .. } = configuration;
        let residuals = view.residuals(dataset, learner.steepness());
        let tree = learner.fit(&rows, &costs, residuals.as_ref());
        let ensemble = match boost {
            None if view.formula.is_some() => tree,
            None => self.cheap_first(view, &costs, tree),
            Some(boost) => {
                let tree = match self.plan.evidence_tree {
                    Some(_) => tree,
                    None => pruned(&tree, &rows, &costs, |_, _| 0.0, Some(BESIDE_BOOSTED)),
                };
                // Boosters need no penalty for choices that are too slow: their scores tell the inputs apart. They learn where the
                // fallback cannot run, because declining is no answer there: with a promise of 1 % forward and backward convolutions
                // lose 7.2 and 2.0 % instead of 8.4 and 3.1 %.
                let fallback = self.plan.promises().then(|| dataset.fallback(&view.inputs));
                boost.fit(tree.tree, &rows, &Costs::new(&dataset.table, fallback), residuals)
            }
        };
        let ensemble = FittedEnsemble { formula: view.formula.clone(), ..ensemble };
        Fitted { view: view.clone(), ensemble }
    }

    /// Learns from these inputs a model without a promise, with this margin.
    pub fn learn_without_promise(&self, inputs: &[u32], margin: f64) -> Model {
        let plan = &TrainPlan { looks: Vec::new(), ..self.plan.clone() };
        let recipe = Recipe { plan, ..*self };
        let view = Arc::new(View::new(self.dataset, plan, inputs, self.configuration.on_formula));
        let fitted = recipe.sized(&recipe.fit(&view));
        recipe.model(&fitted, self.dataset.fallback(inputs), margin)
    }

    /// The costs that trees learn from these inputs: the costs, with the promise's penalty if there is one.
    fn costs(&self, inputs: &[u32]) -> Costs {
        let costs = Costs::new(&self.dataset.table, None);
        let fallback = self.dataset.fallback(inputs);
        match self.plan.promises() {
            true => costs.with_penalty(&self.dataset.table, fallback, self.plan.max_slowdown, PENALTY),
            false => costs,
        }
    }

    /// The tree behind one cheap question, where asking takes time and that saves some.
    fn cheap_first(&self, view: &View, costs: &Costs, tree: FittedEnsemble) -> FittedEnsemble {
        let call_site = &self.plan.call_site;
        if call_site.is_free() || tree.tree.leaves() < 2 {
            return tree;
        }
        let rows = view.rows();
        // Without the splits that do not pay: with their price, almost all inputs went to the new leaf.
        let price = self.path_price(view, &tree);
        let tree = pruned(&tree, &rows, costs, |node, input| price.path(node, input, 0.0), None);
        let askable = Askable { least: self.plan.min_samples_leaf, logged: view.features.base().len() };
        match cheap_first(&tree, &rows, costs, askable, &self.path_price(view, &tree)) {
            Some(cheap) => self.configuration.learner.with_scores(cheap, &rows, costs),
            None => tree,
        }
    }

    /// The prices of the paths of a tree.
    fn path_price<'p>(&'p self, view: &'p View, fitted: &FittedEnsemble) -> PathPrice<'p> {
        let used = Footprint::of_fitted(fitted, &view.features, &view.rows());
        let fallback = self.dataset.fallback(&view.inputs);
        PathPrice { dataset: self.dataset, plan: self.plan, fallback, used }
    }

    /// The same ensemble with a tree of at most `max_leaves` leaves, without the splits that cost more than they save.
    pub fn sized(&self, fitted: &Fitted) -> Fitted {
        let view = &fitted.view;
        let ensemble = &fitted.ensemble;
        // Boosted trees and formulas are asked on every path, so no split costs anything.
        if ensemble.reorders() {
            return fitted.clone();
        }
        let price = self.path_price(view, ensemble);
        let asking = |node, input| price.path(node, input, 0.0);
        let ensemble = pruned(ensemble, &view.rows(), &self.costs(&view.inputs), asking, self.max_leaves);
        Fitted { view: view.clone(), ensemble }
    }

    /// The decisions of a model on these inputs of the table to learn from.
    pub fn decide(&self, model: &Model, inputs: &[u32]) -> Vec<JudgedInput> {
        decisions::decide(model, &self.dataset.table, inputs, &self.plan.call_site)
    }

    /// The model of an ensemble, without its record. Choices that save less than `margin` are not allowed.
    pub fn model(&self, fitted: &Fitted, fallback: ChoiceId, margin: f64) -> Model {
        let Self { dataset, plan, .. } = self;
        let Fitted { view, ensemble } = fitted;
        let policy = RankingPolicy {
            at_least: plan.settings.ranking.unwrap_or_default(),
            eligible: view.eligible.clone(),
        };
        // A model that takes nothing but the fallback is one leaf.
        let root = (margin == NEVER).then(|| ensemble.part(|_| false));
        let ensemble = root.as_ref().unwrap_or(ensemble);
        let mut tree = leaves::tree(ensemble, &dataset.table, &view.rows(), fallback, &policy);
        if !ensemble.is_boosted() {
            allow(&mut tree, fallback, margin);
        }
        narrow(&mut tree, &view.ranked.categories);
        let boosters = ensemble.boosters.in_model(&view.ranked.columns);
        let mut model = Model {
            heuristic: plan.heuristic_name.clone(),
            optimization: dataset.optimization.name.clone(),
            features: view.features.clone(),
            categories: view.ranked.categories.clone(),
            missing: view.ranked.missing.clone(),
            precondition: dataset.precondition.clone(),
            eligible: view.eligible.clone(),
            device: dataset.device().cloned(),
            shared_memory: dataset.metadata.shared_memory,
            device_capa: dataset.metadata.device_capa,
            choices: dataset.table.choices.clone(),
            fallback: Some(fallback),
            costs: ensemble.formula.as_deref().cloned(),
            tree,
            unit: if boosters.is_empty() { 0.0 } else { ensemble.boosters.unit },
            margin: (!boosters.is_empty() && margin > ALWAYS).then_some(margin),
            boosters,
            ..Model::default()
        };
        // A program that names its choices knows which of them can run. Without names, only expected choices are picked.
        let leaves = model.tree.leaves().flat_map(|(_, leaf)| &leaf.ranking);
        let expected: BTreeSet<ChoiceId> =
            leaves.filter(|ranked| ranked.expected).map(|ranked| ranked.choice).collect();
        model.eligible.retain(|choice, _| dataset.eligible.contains_key(choice) || expected.contains(choice));
        // A cost formula extrapolates, trees do not.
        if plan.outside == Outside::Decline && model.costs.is_none() {
            let logged = 0..dataset.features.base().len();
            let read = model.reads().into_iter().filter(|slot| logged.contains(slot)).collect();
            let declared = dataset.precondition.as_ref();
            let schema = view.features.base();
            model.precondition =
                measured_range::within(&dataset.table, &view.inputs, schema, &read, declared);
        }
        if dataset.ad_hoc {
            model::drop_unused(&mut model);
        }
        model
    }
}

/// Allows in each leaf the fallback, and the choices that save at least `margin` against it.
fn allow(tree: &mut Tree, fallback: ChoiceId, margin: f64) {
    for node in &mut tree.nodes {
        let Node::Leaf(leaf) = node else { continue };
        let base = leaf.ranking.iter().find(|ranked| ranked.choice == fallback).map(|ranked| ranked.score);
        if margin == NEVER && base.is_some() {
            leaf.ranking.retain(|ranked| ranked.choice == fallback);
        }
        for ranked in &mut leaf.ranking {
            let saved = base.map_or(f64::NEG_INFINITY, |base| base - ranked.score);
            ranked.allowed = ranked.choice == fallback || is_taken(saved, margin);
        }
    }
}

/// What asking a tree adds to the cost of an input, by its path.
struct PathPrice<'a> {
    dataset: &'a Dataset,
    plan: &'a TrainPlan,
    fallback: ChoiceId,
    used: Footprint,
}

impl PathPrice<'_> {
    /// The cost of a path. One that breaks the promise by itself pays the promise's penalty.
    fn cost(&self, input: u32, parts: &VisitedParts) -> f64 {
        let table = &self.dataset.table;
        let overhead = self.plan.call_site.overhead(&self.used, parts);
        let base = table.time(input, self.fallback, self.fallback);
        let breaks = self.plan.promises() && Table::breaks(self.plan.max_slowdown, overhead.net(base), base);
        let added = if self.plan.counts_asking() { overhead.added(table, input) } else { 0.0 };
        added + if breaks { PENALTY } else { 0.0 }
    }
}

impl Price for PathPrice<'_> {
    fn comparison(&self, input: u32) -> f64 {
        self.cost(input, &VisitedParts { splits: 1.0, ..VisitedParts::default() })
    }

    fn path(&self, node: usize, input: u32, further: f64) -> f64 {
        let parts = self.used.paths[node];
        if parts.splits + further == 0.0 {
            return 0.0;
        }
        self.cost(input, &VisitedParts { splits: parts.splits + further, ..parts })
    }
}
