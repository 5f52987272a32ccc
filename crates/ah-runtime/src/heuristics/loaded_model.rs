//! A model file as a [`Heuristic`], without generated code.

use std::path::Path;

use ah_model::{
    ChoiceId, Device, DeviceMismatch, Error, FeatureKind, Model, Scalar, Sums, Tables, Unsure, Value, admits,
};

use super::heuristic::Heuristic;

/// A checked model, ready to decide.
#[derive(Clone, Debug)]
pub struct LoadedModel {
    model: Model,
    version: String,
    tables: Tables,
}

impl LoadedModel {
    /// Reads and checks a `model.json`.
    ///
    /// # Errors
    /// [`Error`] names the file and what is wrong with it.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Model::read(path).map(Self::from)
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }
}

impl From<Model> for LoadedModel {
    /// `model` must be [valid](Model::validate), as every model that was read is.
    fn from(model: Model) -> Self {
        Self { tables: Tables::new(&model), version: model.version(), model }
    }
}

impl Heuristic for LoadedModel {
    fn name(&self) -> &str {
        &self.model.heuristic
    }

    fn optimization(&self) -> &str {
        &self.model.optimization
    }

    fn version(&self) -> Option<&str> {
        Some(&self.version)
    }

    fn features(&self) -> Vec<&str> {
        self.model.features.base().features().iter().map(|f| f.name.as_str()).collect()
    }

    fn kinds(&self) -> Vec<FeatureKind> {
        self.model.features.base().features().iter().map(|f| f.kind).collect()
    }

    fn derived(&self) -> Vec<&str> {
        self.model.features.derived().iter().map(|(d, _)| d.name.as_str()).collect()
    }

    fn choices(&self) -> Vec<&str> {
        self.model.choices.iter().map(String::as_str).collect()
    }

    fn fallback(&self) -> Option<&str> {
        self.model.fallback.map(|choice| self.model.choice_name(choice))
    }

    fn admits(&self, device: &Device) -> Result<(), DeviceMismatch> {
        admits(&self.model.identity(), &device.identity())
    }

    fn decide(&self, values: &[Scalar<'_>], offered: &dyn Fn(usize) -> bool) -> Result<usize, Unsure> {
        let mut sums = Sums::default();
        let reached = self.tables.reach(&self.model, values, &mut sums)?;
        let offered = |choice: ChoiceId| self.model.is_eligible(choice, values) && offered(choice.index());
        reached.pick(offered).map(ChoiceId::index)
    }

    fn choose(&self, values: &[Scalar<'_>]) -> Result<usize, Unsure> {
        let mut sums = Sums::default();
        let reached = self.tables.reach(&self.model, values, &mut sums)?;
        reached.pick_expected(|choice| self.model.is_eligible(choice, values)).map(ChoiceId::index)
    }

    fn ranked(&self, values: &[Scalar<'_>], visit: &mut dyn FnMut(usize)) -> Result<(), Unsure> {
        let mut sums = Sums::default();
        let reached = self.tables.reach(&self.model, values, &mut sums)?;
        reached.ranking().iter().for_each(|ranked| visit(ranked.choice as usize));
        Ok(())
    }

    fn explain(&self, values: &[Scalar<'_>]) -> String {
        let value = |slot: usize| values.get(slot).map_or(Value::Number(f64::NAN), |value| value.to_value());
        let values: Vec<Value> = (0..self.model.features.base().len()).map(value).collect();
        self.model.explain(&values, None)
    }
}
