//! Groups: inputs that are one piece of evidence, such as the levels of one file.

use std::sync::Arc;

use ah_model::Error;
use ah_model::hash::fnv1a;
use ah_types::log::{Input, Log};
use ah_types::random::mix;

use crate::error::not_logged;

/// The groups of a log's inputs.
#[derive(Clone, Debug)]
pub struct Groups {
    /// By input of the table, a hash of its group.
    pub keys: Arc<[u64]>,
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
    /// The inputs of new groups, in words.
    pub fn new_ones(&self) -> String {
        match self {
            Self::Columns(names) => format!("new values of {}", names.join(", ")),
            Self::Nearness => "inputs unlike these".to_owned(),
            Self::Stretch => "inputs at other times".to_owned(),
        }
    }

    /// Why several inputs count as one, in words.
    pub fn words(&self) -> String {
        match self {
            Self::Columns(names) => format!("one for each {}", names.join(", ")),
            Self::Nearness => "one for each cluster".to_owned(),
            Self::Stretch => "one for each stretch of the log".to_owned(),
        }
    }
}

/// A hash of the group of each sample of a log, by the columns that a person names; `None` without columns, or for `none`.
pub fn named(log: &Log, columns: &[String]) -> Result<Option<Vec<u64>>, Error> {
    if columns.is_empty() || columns == ["none"] && log.schema.slot("none").is_none() {
        return Ok(None);
    }
    let slot = |name: &String| log.schema.slot(name).ok_or_else(|| not_logged("group", name, &log.schema));
    let slots = columns.iter().map(slot).collect::<Result<Vec<_>, _>>()?;
    let key =
        |input: &Input| slots.iter().fold(0, |key, &slot| mix(key, fnv1a(&input.values[slot].to_string())));
    let of_inputs: Vec<u64> = log.inputs.iter().map(key).collect();
    Ok(Some(log.samples.iter().map(|sample| of_inputs[sample.input as usize]).collect()))
}
