//! The trait of learned heuristics, generated as a crate or read from a model file.

use ah_model::{Device, DeviceMismatch, FeatureKind, Scalar, Unsure};

/// A learned heuristic of one optimization.
///
/// Generated crates implement it under their feature `runtime`, and [`LoadedModel`](crate::LoadedModel)
/// implements it for model files. [`AutoHeuristic`](crate::AutoHeuristic) asks it.
///
/// A decision point compares names once, when it binds the heuristic. [`decide`](Self::decide) is the hot
/// path: it takes values by slot, returns a position, and allocates nothing.
pub trait Heuristic: Send + Sync {
    /// The heuristic's own name, for example `SimpleHeuristic`.
    fn name(&self) -> &str;

    /// The optimization that it decides, for example `pad_mm`.
    fn optimization(&self) -> &str;

    /// The version of what was learned, [`Model::version`](ah_model::Model::version): a program can
    /// [pin](crate::AutoHeuristicBuilder::pin) it. `None` if unknown.
    fn version(&self) -> Option<&str> {
        None
    }

    /// The names of the logged features, by slot: the order of `values` in
    /// [`decide`](Self::decide).
    fn features(&self) -> Vec<&str>;

    /// The kinds of the logged features, by slot. A decision point whose features have other kinds refuses the heuristic. Empty if
    /// unknown.
    fn kinds(&self) -> Vec<FeatureKind> {
        Vec::new()
    }

    /// The names of the derived features; their slots follow those of the logged features. Only
    /// [`Unsure`] refers to them.
    fn derived(&self) -> Vec<&str> {
        Vec::new()
    }

    /// The names of the choices, by the positions that `decide` and `ranked` return.
    fn choices(&self) -> Vec<&str>;

    /// The choice of the program without a heuristic: choices were compared with it. A decision point with another fallback
    /// refuses the heuristic. `None` if unknown.
    fn fallback(&self) -> Option<&str> {
        None
    }

    /// Checks the device guard: whether the heuristic was learned on a device like this one.
    ///
    /// # Errors
    /// The difference, with both values.
    fn admits(&self, device: &Device) -> Result<(), DeviceMismatch>;

    /// The position of the choice to take, among those for which `offered` is true.
    ///
    /// `values` follow the slots of [`features`](Self::features): numbers for numerical features, categories or
    /// truth values for categorical ones. A missing value, or one of the other kind, is undefined.
    ///
    /// # Errors
    /// Why the heuristic declines.
    fn decide(&self, values: &[Scalar<'_>], offered: &dyn Fn(usize) -> bool) -> Result<usize, Unsure>;

    /// The position of the choice for a program that does not list its choices: one that training
    /// measured on nearly every input of the leaf.
    ///
    /// # Errors
    /// Why the heuristic declines.
    fn choose(&self, values: &[Scalar<'_>]) -> Result<usize, Unsure> {
        self.decide(values, &|_| true)
    }

    /// Calls `visit` with the position of each choice in the leaf's ranking, best first, for autotuning. The
    /// ranking includes choices that the promise does not allow.
    ///
    /// # Errors
    /// Why there is no ranking for these values.
    fn ranked(&self, values: &[Scalar<'_>], visit: &mut dyn FnMut(usize)) -> Result<(), Unsure>;

    /// Explains the decision for these values to people: the choice, or the reason for declining, and the
    /// first five of its ranking. A [`LoadedModel`](crate::LoadedModel) also gives the path through the tree and
    /// the evidence.
    fn explain(&self, values: &[Scalar<'_>]) -> String {
        let choices = self.choices();
        let name = |choice: usize| choices.get(choice).copied().unwrap_or_default();
        let mut text = match self.choose(values) {
            Ok(choice) => format!("{} takes {}.\n", self.name(), name(choice)),
            Err(unsure) => {
                let features: Vec<&str> = self.features().into_iter().chain(self.derived()).collect();
                format!("{} declines: {}.\n", self.name(), unsure.explain(&features))
            }
        };
        let mut ranking = Vec::new();
        if self.ranked(values, &mut |choice| ranking.push(name(choice))).is_ok() && !ranking.is_empty() {
            ranking.truncate(5);
            text += &format!("Its ranking begins: {}.\n", ranking.join(", "));
        }
        text
    }
}
