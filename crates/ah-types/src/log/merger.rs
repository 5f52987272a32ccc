//! Merges several files into one log.

use std::sync::Arc;

use ah_model::{ChoiceId, Schema, Value};
use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxBuildHasher, FxHashSet};

use super::data::{Input, Log};
use super::devices::LoggedDevice;
use super::metadata::Metadata;
use super::quote::input_text;

/// The contents of all files so far.
#[derive(Default)]
pub(super) struct Merger {
    /// Its inputs and choices are here until the end.
    pub(super) log: Log,
    /// The names of the choices.
    pub(super) choices: IndexSet<Box<[u8]>, FxBuildHasher>,
    /// The values of the inputs by their text.
    inputs: IndexMap<Box<str>, Box<[Value]>, FxBuildHasher>,
    /// The categories of all features; thousands of inputs share a few.
    categories: FxHashSet<Arc<str>>,
    /// The choices that the metadata of the files list; `None` if one of them lists none.
    listed: Option<FxHashSet<String>>,
}

impl Merger {
    pub(super) fn new(metadata: Metadata, schema: Schema) -> Self {
        let log = Log { metadata, schema, ..Log::default() };
        Self { log, listed: Some(FxHashSet::default()), ..Self::default() }
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

    /// The number of the input with these values.
    pub(super) fn input(&mut self, values: Vec<Value>) -> u32 {
        let entry = self.inputs.entry(input_text(&values).into());
        let number = count(entry.index());
        entry.or_insert_with(|| values.into());
        number
    }

    /// The number of the choice of this name.
    pub(super) fn choice(&mut self, name: &str) -> u32 {
        let known = self.choices.get_index_of(name.as_bytes());
        count(known.unwrap_or_else(|| self.choices.insert_full(name.as_bytes().into()).0))
    }

    /// Choices get ids by name, so that ids do not depend on the order of rows.
    pub(super) fn finish(mut self, devices: Vec<LoggedDevice>) -> Log {
        let as_logged = self.choices.clone();
        self.choices.sort_unstable();
        let new_id: Vec<u32> =
            as_logged.iter().filter_map(|name| self.choices.get_index_of(name)).map(count).collect();
        for sample in &mut self.log.samples {
            sample.choice = ChoiceId(new_id[sample.choice.index()]);
        }
        let choices = self.choices.iter().map(|name| String::from_utf8_lossy(name).into_owned());
        self.log.choices = choices.collect();
        if let Some(listed) = &self.listed {
            let unlisted = self.log.choices.iter().filter(|choice| !listed.contains(*choice));
            self.log.irregularities.unlisted = unlisted.cloned().collect();
        }
        self.log.inputs = self.inputs.into_iter().map(|(text, values)| Input { values, text }).collect();
        Log { devices, ..self.log }
    }
}

/// Ids are u32: a log of 2^32 inputs would not fit into memory.
fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
