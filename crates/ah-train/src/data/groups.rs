//! Groups: inputs that are one piece of evidence, such as the levels of one file.

use std::hash::Hash;
use std::sync::Arc;

use ah_model::Error;
use ah_types::log::{Input, Log};
use rustc_hash::FxHashMap;

use crate::error::unknown_feature;

/// The groups of a log's inputs.
#[derive(Clone, Debug)]
pub struct Groups {
    /// By input of the table, its group.
    pub keys: Arc<[u32]>,
    /// What the inputs of a group share.
    pub shared: Shared,
}

/// What the inputs of a group share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shared {
    /// The values of these columns.
    Columns(Vec<String>),
    /// All numbers, nearly.
    Nearness,
    /// A stretch of the log.
    Stretch,
}

impl Shared {
    /// Returns why several inputs count as one, in words.
    pub fn words(&self) -> String {
        match self {
            Self::Columns(names) => format!("one for each {}", names.join(", ")),
            Self::Nearness => "one for each cluster".to_owned(),
            Self::Stretch => "one for each stretch of the log".to_owned(),
        }
    }
}

impl Groups {
    /// Returns the groups of inputs with equal keys, which are given by input of the table.
    pub fn new<K: Hash + Eq>(keys: impl IntoIterator<Item = K>, shared: Shared) -> Self {
        let mut numbers: FxHashMap<K, u32> = FxHashMap::default();
        let number = |key| {
            let next = numbers.len() as u32;
            *numbers.entry(key).or_insert(next)
        };
        Self { keys: keys.into_iter().map(number).collect(), shared }
    }
}

/// Groups by columns that a person names, before any column is taken out of the log.
pub struct NamedGroups {
    columns: Vec<String>,
    /// By sample of the log.
    of_samples: Vec<u32>,
}

impl NamedGroups {
    /// Returns the groups by these columns; `None` if there are no columns, or `none`.
    pub fn new(log: &Log, columns: &[String]) -> Result<Option<Self>, Error> {
        let slot = |name: &String| log.schema.slot(name);
        if columns.is_empty() || columns == ["none"] && slot(&columns[0]).is_none() {
            return Ok(None);
        }
        if let Some(unknown) = columns.iter().find(|name| slot(name).is_none()) {
            let known = log.schema.features().iter().map(|feature| &feature.name);
            return Err(unknown_feature(&log.metadata.name, "--group", unknown, known));
        }
        let slots: Vec<usize> = columns.iter().filter_map(slot).collect();
        let key =
            |input: &Input| slots.iter().map(|&slot| input.values[slot].to_string()).collect::<Vec<_>>();
        let groups = Groups::new(log.inputs.iter().map(key), Shared::Columns(Vec::new()));
        let of_samples = log.samples.iter().map(|sample| groups.keys[sample.input as usize]).collect();
        Ok(Some(Self { columns: columns.to_vec(), of_samples }))
    }

    /// Returns the group of each input of the log, by its text, after columns were taken out. Inputs that became one have the group
    /// of the first.
    pub fn by_text(&self, log: &Log) -> FxHashMap<Box<str>, u32> {
        let mut groups = FxHashMap::default();
        for (sample, group) in log.samples.iter().zip(&self.of_samples) {
            groups.entry(log.inputs[sample.input as usize].text.clone()).or_insert(*group);
        }
        groups
    }

    /// Returns what the inputs of a group share.
    pub fn shared(self) -> Shared {
        Shared::Columns(self.columns)
    }
}
