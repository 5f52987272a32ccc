//! The rows of a table of decisions, for programs that read one: each input of a log with the choice to take there.
//!
//! A row takes the heuristic's choice only where the log proves that it is faster than the default. Every other row keeps the
//! default: what the log's feature `default` names for this input, or the model's fallback without this feature. The proof is an interval of the median of paired ratios: the default's time over the choice's
//! time in the same turn. The interval has 95 % and lies above 1.

use std::fmt::Write as _;

use ah_measure::interval::{LEAST_SAMPLES, median_interval};
use ah_types::log::{Log, quote};
use ah_types::shown::listed;
use ah_types::{ChoiceId, Model, Value, fields, median};
use serde_json::json;

use crate::error::{CodegenError, DEFAULT};
use crate::names::{Case, identifier};
use crate::target::{Output, Target};

/// The page of proofs beside the files of a table. JSON and CSV have no comments, so it names the folder's generated files.
pub const PROOFS: &str = "proofs.md";
const CSV: &str = "rows.csv";
const JSON: &str = "rows.json";

/// The rows of a table of decisions.
#[derive(Clone, Debug)]
struct PinnedRows {
    /// The names of the log's features.
    features: Vec<String>,
    /// The rows, in the order of the log.
    rows: Vec<PinnedRow>,
    /// The name of the default, if it is the same on all rows.
    default: Option<String>,
    /// The log's files.
    source: String,
    /// The model learned from these times too.
    is_training: bool,
}

/// One row.
#[derive(Clone, Debug)]
struct PinnedRow {
    /// The values of the log's features.
    values: Box<[Value]>,
    /// The name of the choice that the row takes.
    choice: String,
    /// The median time of this choice, in milliseconds, if the log has it.
    ms: Option<f64>,
    /// True if the row takes the heuristic's choice, which is proved to be faster than the default.
    is_changed: bool,
    /// The cells of the page of proofs: why the row changes or keeps the default.
    proof: String,
}

impl PinnedRows {
    /// Decides the rows of a log by a model.
    pub fn new(model: &Model, log: &Log) -> Result<Self, CodegenError> {
        let features: Vec<String> = log.schema.features().iter().map(|f| f.name.clone()).collect();
        let slot = features.iter().position(|name| name == DEFAULT);
        let fallback = model.fallback.map(|id| model.choice_name(id));
        if slot.is_none() && fallback.is_none() {
            return Err(CodegenError::NoDefault);
        }
        let default_of = |input: usize| match slot.map(|slot| &log.inputs[input].values[slot]) {
            Some(Value::Category(name)) => name,
            _ => fallback.unwrap_or_default(),
        };
        let known = |name: &String| features.contains(name);
        if let Some(missing) = model.features.base().features().iter().find(|f| !known(&f.name)) {
            return Err(CodegenError::NoFeature { feature: missing.name.clone(), found: features });
        }
        let mut times: Vec<Vec<Vec<f64>>> = vec![vec![Vec::new(); log.choices.len()]; log.inputs.len()];
        for sample in &log.samples {
            times[sample.input as usize][sample.choice.index()].push(sample.feedback);
        }
        let times_of = |input: usize, name: &str| match log.choice_id(name) {
            Some(id) => &times[input][id.index()][..],
            None => &[],
        };
        if (0..times.len()).all(|input| times_of(input, default_of(input)).is_empty()) {
            let default = if times.is_empty() { fallback.unwrap_or(DEFAULT) } else { default_of(0) };
            return Err(CodegenError::NoDefaultTimes { default: default.to_owned(), inputs: times.len() });
        }
        let row = |input: usize| {
            let default = default_of(input);
            let runs = |id: ChoiceId| {
                let times = times_of(input, model.choice_name(id));
                !times.is_empty() && times.iter().all(|ms| ms.is_finite())
            };
            let values = model.values(&log.context(input));
            let decision = model.decide(&values, |id| runs(id) || model.choice_name(id) == default);
            let taken = decision.map(|pick| model.choice_name(pick.choice));
            let (is_changed, proof) = match taken {
                Ok(choice) if choice == default => {
                    (false, "default: the heuristic takes it | | | |".to_owned())
                }
                Ok(choice) => proved(choice, times_of(input, choice), times_of(input, default)),
                Err(unsure) => {
                    let names = model.features.all().features().iter().map(|f| f.name.as_str());
                    let reason = unsure.explain(&names.collect::<Vec<_>>());
                    (false, format!("default: the heuristic declines: {reason} | | | |"))
                }
            };
            let choice = taken.ok().filter(|_| is_changed).unwrap_or(default).to_owned();
            let ms = median(times_of(input, &choice)).filter(|ms| ms.is_finite());
            PinnedRow { values: log.inputs[input].values.clone(), choice, ms, is_changed, proof }
        };
        let rows = (0..log.inputs.len()).map(row).collect();
        let hashes =
            |hash: &String| !hash.is_empty() && model.provenance.logs.iter().any(|log| log.blake3 == *hash);
        Ok(Self {
            features,
            rows,
            default: slot.is_none().then(|| fallback.unwrap_or_default().to_owned()),
            source: listed(
                log.sources.iter().map(|s| s.path.file_name().unwrap_or_default().to_string_lossy()),
            ),
            is_training: log.sources.iter().any(|source| hashes(&source.hash)),
        })
    }

    /// Returns the page of proofs.
    fn proofs(&self, heuristic: &str) -> String {
        let changed = self.rows.iter().filter(|row| row.is_changed).count();
        let mut page = format!(
            "<!-- @generated by ah-codegen {}: generate it again instead of editing it. -->\n# Proofs for {}\n\n\
             {changed} of {} rows are changed; the others keep the default, {}. Times: {}.\n\n\
             A row changes only where the 95 % interval of the median of (the default's time / the choice's time), paired by turn, \
             lies above 1. That takes at least {LEAST_SAMPLES} pairs.\n",
            env!("CARGO_PKG_VERSION"),
            cell(heuristic),
            self.rows.len(),
            self.default
                .as_ref()
                .map_or_else(|| "which the log names".to_owned(), |name| format!("`{}`", cell(name))),
            self.source,
        );
        if self.is_training {
            page.push_str(
                "\n**The model learned from these times too**, so the gains are too high by what it picked for luck. Measure the \
                 inputs again, and give that log.\n",
            );
        }
        let features = self.features.iter().map(|name| cell(name)).collect::<Vec<_>>().join(" | ");
        let _ = write!(
            page,
            "\nThe rows of `{CSV}` and `{JSON}`:\n\n| {features} | row | heuristic's choice | pairs | times as fast | 95 % interval |\n|"
        );
        page.push_str(&" --- |".repeat(self.features.len() + 5));
        page.push('\n');
        for row in &self.rows {
            let values: Vec<String> = row.values.iter().map(|value| cell(&value.to_string())).collect();
            let _ = writeln!(page, "| {} | {} |", values.join(" | "), row.proof);
        }
        page
    }

    /// Returns the rows as CSV: the features of the log, the choice, its fields, and its median time in milliseconds.
    fn csv(&self) -> String {
        let mut keys: Vec<String> = Vec::new();
        for (key, _) in self.rows.iter().flat_map(|row| fields(&row.choice).unwrap_or_default()) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let line =
            |cells: Vec<String>| cells.iter().map(|cell| quote(cell)).collect::<Vec<_>>().join(",") + "\n";
        let columns = self.features.iter().cloned().chain(["choice".to_owned()]).chain(keys.iter().cloned());
        let mut text = line(columns.chain(["ms".to_owned()]).collect());
        for row in &self.rows {
            let of = fields(&row.choice).unwrap_or_default();
            let field = |key: &String| {
                of.iter().find(|(k, _)| k == key).map(|(_, x)| x.to_string()).unwrap_or_default()
            };
            let mut cells: Vec<String> = row.values.iter().map(ToString::to_string).collect();
            cells.push(row.choice.clone());
            cells.extend(keys.iter().map(field));
            cells.push(row.ms.map(|ms| ms.to_string()).unwrap_or_default());
            text += &line(cells);
        }
        text
    }

    /// Returns the rows as JSON: for each the features, the choice, its fields, and its median time.
    fn json(&self) -> String {
        let row = |row: &PinnedRow| {
            let features = self.features.iter().zip(&row.values).map(|(name, x)| (name.clone(), json!(x)));
            let features: serde_json::Map<_, _> = features.collect();
            let config = fields(&row.choice).unwrap_or_default().into_iter().map(|(key, x)| (key, json!(x)));
            let config: serde_json::Map<_, _> = config.collect();
            let row = json!({ "features": features, "choice": row.choice, "config": config, "ms": row.ms });
            format!("  {row}")
        };
        format!("[\n{}\n]\n", self.rows.iter().map(row).collect::<Vec<_>>().join(",\n"))
    }
}

/// Compares a choice with the default, turn by turn. Returns whether it is proved to be faster, and the cells of the page.
fn proved(choice: &str, times: &[f64], default: &[f64]) -> (bool, String) {
    let choice = cell(choice);
    if default.is_empty() {
        return (false, format!("default: it has no times here | `{choice}` | 0 | |"));
    }
    if default.iter().any(|ms| ms.is_infinite()) {
        return (true, format!("changed: the default fails here | `{choice}` | | |"));
    }
    let ratios: Vec<f64> = default.iter().zip(times).map(|(default, ms)| default / ms).collect();
    let (pairs, gain, interval) = (ratios.len(), median(&ratios).unwrap_or(1.0), median_interval(&ratios));
    let is_faster = interval.is_some_and(|(low, _)| low > 1.0);
    let interval = interval.map_or_else(
        || format!("at least {LEAST_SAMPLES} pairs needed"),
        |(low, high)| format!("{low:.3} to {high:.3}"),
    );
    let row = if is_faster { "changed" } else { "default" };
    (is_faster, format!("{row} | `{choice}` | {pairs} | {gain:.3} | {interval}"))
}

/// Returns text for a cell of a table in Markdown.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(char::is_control, " ")
}

/// A table of decisions for programs that read one.
pub const TABLE: Target = Target {
    name: "table",
    usage: |_, _| format!("read {PROOFS} there for which rows changed and why"),
    has_rankings: false,
    files: |plan| {
        let rows = PinnedRows::new(plan.request.model, plan.request.rows.ok_or(CodegenError::NoRows)?)?;
        let package = identifier(&plan.request.model.heuristic, Case::Snake, "heuristic");
        let files =
            [(CSV, rows.csv()), (JSON, rows.json()), (PROOFS, rows.proofs(&plan.request.model.heuristic))];
        let files = files.map(|(name, text)| (name.to_owned(), text)).into();
        Ok(Output { signature: Vec::new(), place: plan.request.out.join(format!("{package}_table")), files })
    },
};
