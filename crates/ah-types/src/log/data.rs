//! The contents of a log.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ah_model::shown::listed;
use ah_model::{ChoiceId, Context, Schema, Value};
use rustc_hash::FxHashMap;

use super::devices::LoggedDevice;
use super::metadata::Metadata;
use crate::tally::Tally;

/// One or several logs with the same metadata.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// The metadata of the first file.
    pub metadata: Metadata,
    /// The devices of the logs: one, unless the [options](super::ReadOptions) allow several.
    pub devices: Vec<LoggedDevice>,
    /// The features, in the order of the first file's header, then those of devices.
    pub schema: Schema,
    /// The names of all choices, sorted: a [`ChoiceId`] is a position here.
    pub choices: Vec<String>,
    /// The distinct contexts, in order of first appearance.
    pub inputs: Vec<Input>,
    /// All samples, in order.
    pub samples: Vec<Sample>,
    /// The files.
    pub sources: Vec<Source>,
    /// What the reader skipped or found suspicious.
    pub irregularities: Irregularities,
}

/// One distinct context.
#[derive(Clone, Debug)]
pub struct Input {
    /// The values, by slot of the schema.
    pub values: Box<[Value]>,
    /// The values as a log of ours writes them, joined by commas: equal values have equal texts.
    pub text: Box<str>,
}

/// One timing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The position of its input in [`Log::inputs`].
    pub input: u32,
    /// Its choice.
    pub choice: ChoiceId,
    /// Milliseconds; infinite if the choice failed.
    pub feedback: f64,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The path as given.
    pub path: PathBuf,
    /// BLAKE3 of the unpacked bytes, in hex; empty without the feature `hash`.
    pub hash: String,
    /// The day of measuring, `2026-11-24`; empty if unknown.
    pub date: String,
    /// The number of rows; 0 if the file repeats an earlier one.
    pub rows: u64,
}

/// What the reader skipped or found suspicious.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Irregularities {
    /// The number of blank lines.
    pub blank_lines: u64,
    /// The errors of the malformed rows that `skip_bad_rows` skipped.
    pub bad_rows: Tally,
    /// Files with the same bytes as an earlier file; each counts once.
    pub repeated: Vec<PathBuf>,
    /// Choices with rows that no file's metadata lists, sorted; empty if a file's metadata lists no choices.
    pub unlisted: Vec<String>,
    /// Files whose last line has no line end: its number may be incomplete.
    pub unterminated: Vec<PathBuf>,
}

/// Fewer inputs may be corrupt rows.
const GROUP_OF_INPUTS: usize = 3;

impl Log {
    /// The context of an input.
    pub fn context(&self, input: usize) -> Context {
        let names = self.schema.features().iter().map(|f| f.name.as_str());
        names.zip(self.inputs[input].values.iter().cloned()).collect()
    }

    /// The id of the choice with this name.
    pub fn choice_id(&self, name: &str) -> Option<ChoiceId> {
        ChoiceId::find(&self.choices, name)
    }

    /// The name of a choice.
    pub fn choice_name(&self, id: ChoiceId) -> &str {
        &self.choices[id.index()]
    }

    /// See [`unconnected`].
    pub fn unconnected(&self) -> Option<String> {
        unconnected(&self.choices, self.samples.iter().map(|sample| (sample.input, sample.choice.0)))
    }
}

/// A sentence about groups of choices that no input connects, as of two logs with other choices: nothing says which group is faster. A
/// corrupt row is no group, and nor is a log of winners. `samples` are the input and the choice of each.
pub fn unconnected<N: AsRef<str>>(
    choices: &[N],
    samples: impl Iterator<Item = (u32, u32)>,
) -> Option<String> {
    // By choice, the first choice of its group.
    let mut group_of: Vec<usize> = (0..choices.len()).collect();
    let mut seen: FxHashMap<u32, u32> = FxHashMap::default();
    for (input, choice) in samples {
        let before = *seen.entry(input).or_insert(choice);
        let [first, second] = [choice, before].map(|choice| group_of[choice as usize]);
        if first != second {
            let joined = group_of.iter_mut().filter(|group| **group == first.max(second));
            joined.for_each(|group| *group = first.min(second));
        }
    }
    let mut groups: BTreeMap<usize, (usize, Vec<&str>)> = BTreeMap::new();
    for choice in seen.into_values() {
        groups.entry(group_of[choice as usize]).or_default().0 += 1;
    }
    for (group, name) in group_of.iter().zip(choices) {
        if let Some((_, names)) = groups.get_mut(group) {
            names.push(name.as_ref());
        }
    }
    let mut groups: Vec<(usize, Vec<&str>)> = groups.into_values().collect();
    groups.retain(|(inputs, _)| *inputs >= GROUP_OF_INPUTS);
    groups.iter_mut().for_each(|(_, names)| names.sort_unstable());
    groups.sort_unstable_by(|(_, a), (_, b)| a.cmp(b));
    let is_compared = groups.iter().any(|(_, names)| names.len() > 1);
    let of_group = |(inputs, names): &(usize, Vec<&str>)| format!("{inputs} inputs time {}", listed(names));
    let counts: Vec<String> = groups.iter().map(of_group).collect();
    (counts.len() > 1 && is_compared).then(|| {
        format!(
            "inputs share no choices, so nothing compares them: {}. Time choices of each group on the same inputs",
            counts.join("; ")
        )
    })
}
