//! Merges several files into one log.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::data::{Input, Irregularities, Log, Sample, Source};
use super::devices::LoggedDevice;
use super::metadata::Metadata;
use super::quote::input_text;
use crate::choice::ChoiceId;
use crate::context::Value;
use crate::feature::Schema;

/// The contents of all files so far.
pub(super) struct Merger {
    pub(super) metadata: Metadata,
    /// The features of the inputs, then those of their devices.
    pub(super) schema: Schema,
    pub(super) choices: Vec<String>,
    /// Choices by the bytes of their names.
    pub(super) choice_ids: FxHashMap<Box<[u8]>, u32>,
    pub(super) inputs: Vec<Input>,
    /// Inputs by the text of their values.
    input_ids: FxHashMap<Box<str>, u32>,
    /// The categories of all features; thousands of inputs share a few.
    categories: FxHashSet<Arc<str>>,
    pub(super) samples: Vec<Sample>,
    pub(super) sources: Vec<Source>,
    pub(super) irregularities: Irregularities,
    /// The choices that the metadata of the files list; `None` if one of them lists none.
    listed: Option<FxHashSet<String>>,
}

impl Merger {
    pub(super) fn new(metadata: Metadata, schema: Schema) -> Self {
        Self {
            metadata,
            schema,
            choices: Vec::new(),
            choice_ids: FxHashMap::default(),
            inputs: Vec::new(),
            input_ids: FxHashMap::default(),
            categories: FxHashSet::default(),
            samples: Vec::new(),
            sources: Vec::new(),
            irregularities: Irregularities::default(),
            listed: Some(FxHashSet::default()),
        }
    }

    /// Adds the choices that a file's metadata lists.
    pub(super) fn list_choices(&mut self, choices: Option<&[String]>) {
        match (&mut self.listed, choices) {
            (Some(listed), Some(choices)) => listed.extend(choices.iter().cloned()),
            _ => self.listed = None,
        }
    }

    pub(super) fn category(&mut self, text: &str) -> Value {
        if let Some(known) = self.categories.get(text) {
            return Value::Category(known.clone());
        }
        let new: Arc<str> = text.into();
        self.categories.insert(new.clone());
        Value::Category(new)
    }

    /// Returns the number of the input with these values.
    pub(super) fn input(&mut self, values: Vec<Value>) -> u32 {
        let text = input_text(&values).into_boxed_str();
        if let Some(id) = self.input_ids.get(&text) {
            return *id;
        }
        let id = count(self.inputs.len());
        self.input_ids.insert(text.clone(), id);
        self.inputs.push(Input { values: values.into(), text });
        id
    }

    /// Returns the number of the choice of this name.
    pub(super) fn choice(&mut self, name: &str) -> u32 {
        if let Some(id) = self.choice_ids.get(name.as_bytes()) {
            return *id;
        }
        let id = count(self.choices.len());
        self.choice_ids.insert(name.as_bytes().into(), id);
        self.choices.push(name.to_owned());
        id
    }

    /// Choices get ids by name, so that ids do not depend on the order of rows.
    pub(super) fn finish(mut self, devices: Vec<LoggedDevice>) -> Log {
        let mut order: Vec<usize> = (0..self.choices.len()).collect();
        order.sort_by(|&a, &b| self.choices[a].cmp(&self.choices[b]));
        let mut new_id = vec![0; order.len()];
        for (new, &old) in (0_u32..).zip(&order) {
            new_id[old] = new;
        }
        for sample in &mut self.samples {
            sample.choice = ChoiceId(new_id[sample.choice.index()]);
        }
        let choices: Vec<String> = order.iter().map(|&old| std::mem::take(&mut self.choices[old])).collect();
        if let Some(listed) = &self.listed {
            self.irregularities.unlisted = choices.iter().filter(|c| !listed.contains(*c)).cloned().collect();
        }
        Log {
            metadata: self.metadata,
            devices,
            schema: self.schema,
            choices,
            inputs: self.inputs,
            samples: self.samples,
            sources: self.sources,
            irregularities: self.irregularities,
        }
    }
}

/// Ids are u32: a log of 2^32 inputs would not fit into memory.
fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
