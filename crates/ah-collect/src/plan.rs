//! Which inputs are measured, in which order: a seeded sequence, or a list that the user gave.

use std::collections::HashSet;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ah_types::feature::FeatureKind;
use ah_types::log::{LogError, Place};
use ah_types::{Context, Schema, Value};

use ah_measure::sampling::{self, Rng};
use ah_measure::{Failure, Runner};

/// Draws in a row that were all in the log already before a sequence counts as exhausted.
const MAX_REPEATS: u32 = 100_000;

/// One part of a sequence that several machines share: `2/4` is the second of four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u64,
    count: NonZeroU64,
}

impl Default for Shard {
    /// The whole sequence.
    fn default() -> Self {
        Self { index: 0, count: NonZeroU64::MIN }
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (index, count) = text.split_once('/')?;
            let (index, count) = (index.parse::<u64>().ok()?, count.parse::<NonZeroU64>().ok()?);
            (1..=count.get()).contains(&index).then(|| Self { index: index - 1, count })
        };
        parse().ok_or_else(|| format!("expected I/N with I from 1 to N, for example 1/4, found {text:?}"))
    }
}

/// An input to be measured.
#[derive(Clone, Debug)]
pub struct Planned {
    /// What is known when choosing.
    pub context: Context,
    /// The generator of the operands' random data; that of a drawn input is in the state that
    /// [`draw`](ah_measure::BenchmarkRunner::draw) found.
    pub rng: Rng,
    /// The features' text as it stands in the log.
    pub text: String,
}

/// The inputs that are still to be measured.
#[derive(Debug)]
pub struct Plan {
    source: Source,
    next: u64,
    seed: u64,
    shard: Shard,
    seen: HashSet<String>,
    schema: Schema,
}

#[derive(Debug)]
enum Source {
    /// Drawn by the runner from the seed.
    Drawn,
    /// These.
    Listed(Vec<Context>),
}

impl Plan {
    /// The seeded sequence, or the `listed` inputs, without those whose text is in `seen`.
    #[must_use]
    pub fn new(
        listed: Option<Vec<Context>>,
        seed: u64,
        shard: Shard,
        seen: HashSet<String>,
        schema: Schema,
    ) -> Self {
        let source = listed.map_or(Source::Drawn, Source::Listed);
        Self { source, next: 0, seed, shard, seen, schema }
    }

    /// The next input; `None` when the list ends or every draw repeats an earlier one.
    ///
    /// # Errors
    /// The runner cannot draw.
    pub fn next(&mut self, runner: &dyn Runner) -> Result<Option<Planned>, Failure> {
        let mut repeats = 0;
        while repeats < MAX_REPEATS {
            let index = self.next;
            self.next += 1;
            let rng = sampling::rng(self.seed, index);
            let context = match &self.source {
                Source::Listed(contexts) => {
                    let listed = usize::try_from(index).ok().and_then(|i| contexts.get(i));
                    let Some(context) = listed else { return Ok(None) };
                    context.clone()
                }
                Source::Drawn => runner.draw(&mut rng.clone())?,
            };
            let text = context.log_text(&self.schema);
            // An input drawn twice belongs to the shard that drew it first.
            if !self.seen.insert(text.clone()) {
                repeats += 1;
            } else if index % self.shard.count == self.shard.index {
                return Ok(Some(Planned { context, rng, text }));
            }
        }
        Ok(None)
    }

    /// How many inputs the list has that are not measured yet; `None` for a sequence.
    #[must_use]
    pub fn remaining(&self) -> Option<u64> {
        let Source::Listed(contexts) = &self.source else { return None };
        let mut seen = self.seen.clone();
        let fresh = contexts.iter().zip(0_u64..).filter(|(c, _)| seen.insert(c.log_text(&self.schema)));
        Some(fresh.filter(|(_, i)| *i % self.shard.count == self.shard.index).count() as u64)
    }
}

/// The contexts of a file: a log (its inputs), or a CSV file whose header names the features.
///
/// # Errors
/// [`LogError`] with file, line, column, expected and found; also for a context that lies outside
/// the runner's domain.
pub fn read_inputs(path: &Path, runner: &dyn Runner, schema: &Schema) -> Result<Vec<Context>, LogError> {
    let io = |source| LogError::Io { path: path.to_owned(), action: "read", source };
    let is_log = std::fs::read(path).map_err(io)?.first().is_some_and(|b| [b'{', 0x1f].contains(b));
    let file = InputsFile { path: path.to_owned() };
    if !is_log {
        return file.read_csv(runner, schema);
    }
    let log = ah_types::log::read(&[path])?;
    let contexts = (0..log.inputs.len()).map(|i| log.context(i));
    let checked = contexts.map(|context| match context.row(schema) {
        Err(e) => Err(file.malformed(2, 0, "a column for each feature", &e.to_string(), "see --list")),
        Ok(_) => file.accept(0, runner, context),
    });
    checked.collect()
}

struct InputsFile {
    path: PathBuf,
}

impl InputsFile {
    fn read_csv(&self, runner: &dyn Runner, schema: &Schema) -> Result<Vec<Context>, LogError> {
        let csv_error = |e: csv::Error| {
            let line = e.position().map_or(1, csv::Position::line);
            self.malformed(line, 0, "CSV", &e.to_string(), "mend the line")
        };
        let mut reader =
            csv::ReaderBuilder::new().trim(csv::Trim::All).from_path(&self.path).map_err(csv_error)?;
        let header = reader.headers().map_err(csv_error)?.clone();
        let column = |name: &str| {
            header.iter().position(|h| h == name).ok_or_else(|| {
                let hint = "the header names every feature (ah-collect --list shows them)";
                self.malformed(
                    1,
                    0,
                    &format!("a column {name:?}"),
                    &format!("{:?}", header.iter().collect::<Vec<_>>().join(",")),
                    hint,
                )
            })
        };
        let columns = schema
            .features()
            .iter()
            .map(|f| Ok((f, column(&f.name)?)))
            .collect::<Result<Vec<_>, LogError>>()?;
        let mut contexts = Vec::new();
        for record in reader.records() {
            let record = record.map_err(csv_error)?;
            let line = record.position().map_or(1, csv::Position::line);
            let mut context = Context::new();
            for (feature, column) in &columns {
                let text = &record[*column];
                let value = match feature.kind {
                    FeatureKind::Categorical => Value::from(text),
                    FeatureKind::Numerical => match text.parse::<f64>() {
                        Ok(x) if x.is_finite() => Value::Number(x),
                        _ => {
                            let expected = format!("a number for {:?}", feature.name);
                            let at = *column as u64 + 1;
                            return Err(self.malformed(line, at, &expected, &format!("{text:?}"), "mend it"));
                        }
                    },
                };
                context.set(&feature.name, value);
            }
            contexts.push(self.accept(line, runner, context)?);
        }
        if contexts.is_empty() {
            return Err(self.malformed(
                1,
                0,
                "at least one context",
                "none",
                "add one line for each context",
            ));
        }
        Ok(contexts)
    }

    fn accept(&self, line: u64, runner: &dyn Runner, context: Context) -> Result<Context, LogError> {
        match runner.accepts(&context) {
            Ok(()) => Ok(context),
            Err(found) => Err(self.malformed(
                line,
                0,
                &format!("a context that {} can measure here", runner.subject().optimization.name),
                &format!("{context}: {found}"),
                "change it or take it out",
            )),
        }
    }

    fn malformed(&self, line: u64, column: u64, expected: &str, found: &str, hint: &str) -> LogError {
        LogError::Malformed {
            place: Place { path: self.path.clone(), line, column },
            expected: expected.to_owned(),
            found: found.to_owned(),
            hint: hint.to_owned(),
        }
    }
}
