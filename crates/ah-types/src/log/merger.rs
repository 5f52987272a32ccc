//! What several files add up to.

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::metadata::Metadata;
use super::reader::{Dirt, Input, Log, Sample, Source};
use crate::choice::ChoiceId;
use crate::feature::Schema;

/// Everything read so far.
pub(super) struct Merger {
    pub(super) metadata: Metadata,
    pub(super) schema: Schema,
    pub(super) choices: Vec<String>,
    pub(super) choice_ids: FxHashMap<String, u32>,
    pub(super) inputs: Vec<Input>,
    pub(super) input_ids: FxHashMap<Box<str>, u32>,
    pub(super) samples: Vec<Sample>,
    pub(super) sources: Vec<Source>,
    pub(super) dirt: Dirt,
    pub(super) hasher: FxBuildHasher,
}

impl Merger {
    /// Choices get ids by name, so that ids do not depend on the order of rows.
    pub(super) fn finish(mut self) -> Log {
        let mut order: Vec<usize> = (0..self.choices.len()).collect();
        order.sort_by(|&a, &b| self.choices[a].cmp(&self.choices[b]));
        let mut new_id = vec![0; order.len()];
        for (new, &old) in (0_u32..).zip(&order) {
            new_id[old] = new;
        }
        for sample in &mut self.samples {
            sample.choice = ChoiceId(new_id[sample.choice.index()]);
        }
        let choices = order.iter().map(|&old| std::mem::take(&mut self.choices[old])).collect();
        Log {
            metadata: self.metadata,
            schema: self.schema,
            choices,
            inputs: self.inputs,
            samples: self.samples,
            sources: self.sources,
            dirt: self.dirt,
        }
    }
}
