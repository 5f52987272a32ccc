//! The place of the joint model in a program of functions, which does not link it: functions with hundreds of choices that have
//! fields are rare, and each such program would compile seven crates more.

use ah_types::{Schema, Value};

use crate::plan::PlannedInput;

/// A plan that no program has.
#[derive(Debug)]
pub(super) enum JointPlan {}

#[cfg(feature = "cli")]
pub(super) fn serves(_: &[String]) -> bool {
    false
}

impl JointPlan {
    pub(super) fn new(_: &[String], _: &Schema, _: u64) -> Option<Self> {
        None
    }

    pub(super) fn wanted<'a>(
        &mut self,
        _: &'a PlannedInput,
        _: impl Iterator<Item = &'a PlannedInput>,
    ) -> Vec<bool> {
        match *self {}
    }

    pub(super) fn expected(&self, _: &PlannedInput) -> Vec<bool> {
        match *self {}
    }

    pub(super) fn note(&mut self, _: Vec<Value>, _: &[Option<f64>]) {
        match *self {}
    }
}
