//! A model file as a [`Heuristic`], without generating code.

use std::path::Path;

use ah_types::device::DeviceMismatch;
use ah_types::model::ModelError;
use ah_types::tree::{LeafUnsure, Stuck};
use ah_types::{Device, Leaf, Model, Scalar};

use crate::heuristic::{DeviceGuard, Heuristic, Unsure};

/// A checked model, ready to decide.
#[derive(Clone, Debug)]
pub struct LoadedModel {
    model: Model,
}

impl LoadedModel {
    /// Reads and checks a `model.json`.
    ///
    /// # Errors
    /// [`ModelError`] names the file and what is wrong with it.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        Model::read(path).map(Self::from)
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    fn leaf(&self, values: &[Scalar<'_>]) -> Result<&Leaf, Unsure> {
        if let Some(precondition) = &self.model.precondition
            && precondition.typed.eval_bool(values) != Some(true)
        {
            return Err(Unsure::Precondition);
        }
        let tree = &self.model.trees[0];
        let row = self.model.features.row(values);
        match tree.leaf_index(&row, |slot, category| self.model.knows(slot, category)) {
            Ok(index) => tree.leaf(index).ok_or(Unsure::NoneAllowed),
            Err(Stuck::Undefined(slot)) => Err(Unsure::Undefined(slot)),
            Err(Stuck::UnknownCategory(slot)) => Err(Unsure::UnknownCategory(slot)),
        }
    }
}

impl From<Model> for LoadedModel {
    /// `model` must be [valid](Model::validate), as every model that was read is.
    fn from(model: Model) -> Self {
        Self { model }
    }
}

impl Heuristic for LoadedModel {
    fn name(&self) -> &str {
        &self.model.heuristic
    }

    fn optimization(&self) -> &str {
        &self.model.optimization
    }

    fn features(&self) -> Vec<&str> {
        self.model.features.base().features().iter().map(|f| f.name.as_str()).collect()
    }

    fn derived(&self) -> Vec<&str> {
        self.model.features.derived().iter().map(|(d, _)| d.name.as_str()).collect()
    }

    fn choices(&self) -> Vec<&str> {
        self.model.choices.iter().map(String::as_str).collect()
    }

    fn admits(&self, device: &Device) -> Result<(), DeviceMismatch> {
        match &self.model.device {
            Some(learned) => learned.admits(device),
            None => DeviceGuard::Capability {
                capability: self.model.device_capa,
                shared_memory: self.model.shared_memory,
            }
            .admits(device),
        }
    }

    fn decide(&self, values: &[Scalar<'_>], offered: &dyn Fn(usize) -> bool) -> Result<usize, Unsure> {
        let leaf = self.leaf(values)?;
        match leaf.unsure {
            Some(LeafUnsure::LowConfidence) => return Err(Unsure::LowConfidence),
            Some(LeafUnsure::Unsafe) => return Err(Unsure::UnsafeLeaf),
            None => {}
        }
        let picked = leaf.pick(self.model.fallback, |choice| offered(choice.index()));
        picked.map(|ranked| ranked.choice.index()).ok_or(Unsure::NoneAllowed)
    }

    fn ranked(&self, values: &[Scalar<'_>], visit: &mut dyn FnMut(usize)) -> Result<(), Unsure> {
        self.leaf(values)?.ranking.iter().for_each(|ranked| visit(ranked.choice.index()));
        Ok(())
    }
}
