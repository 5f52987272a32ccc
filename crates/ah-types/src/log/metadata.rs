//! The first line of a log.

use std::collections::BTreeMap;

use ah_model::shown::quoted;
use ah_model::{Device, Difference, Feature, FeatureKind, Schema};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::timing::TimingPolicy;

/// The metadata of a log: PyTorch's keys with PyTorch's meanings, and ours under one further key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// The optimization.
    pub name: String,
    /// Shared memory that a block may opt into, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_memory: Option<u64>,
    /// Compute capability, major and minor.
    pub device_capa: (u32, u32),
    /// Names of the numerical features. The header defines the order of the columns.
    pub numerical_features: Vec<String>,
    /// Names of the categorical features.
    pub categorical_features: Vec<String>,
    /// All choices; only some of PyTorch's logs have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choices: Option<Vec<String>>,
    /// How `ah-collect` or `ah-runtime` measured. PyTorch ignores this key, and its logs lack it.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "autoheuristic_rs")]
    pub collection: Option<Collection>,
}

/// The version of the log format that this crate reads and writes.
pub const LOG_FORMAT: u32 = 1;

/// The column of the choice's name.
pub const CHOICE_COLUMN: &str = "choice";
/// The column of the time in milliseconds.
pub const FEEDBACK_COLUMN: &str = "feedback";

/// How a log was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Collection {
    /// The version of the log format: [`LOG_FORMAT`].
    #[serde(default = "log_format")]
    pub format: u32,
    /// The device; absent if the log does not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// The timing policy; absent if another program measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<TimingPolicy>,
    /// The seed of the inputs.
    #[serde(default)]
    pub seed: u64,
    /// The condition under which a choice can run: an expression over the logged features, by choice.
    /// Choices without an entry can run everywhere.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub eligible: BTreeMap<String, String>,
    /// What the program does without a heuristic; of several names, the first that is a choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<String>,
    /// Whether `ah-collect` measured: it knows which features are whole numbers, and repeats no measurement by mistake. A log
    /// without this key counts as collected if it has a timing policy. Appending ignores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collected: Option<bool>,
    /// The numerical features whose values are whole numbers; generated code takes integers. Appending ignores it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub integer_features: Vec<String>,
    /// The mean time of computing a feature, in milliseconds, by name. Features without an entry were not timed. Appending
    /// ignores it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_ms: BTreeMap<String, f64>,
    /// The least time of one fixed small decision on this machine, in nanoseconds, by the language: a call and eight
    /// comparisons on four numbers, as generated code does them. Appending ignores it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub decision_ns: BTreeMap<String, f64>,
    /// A hash of the commands that were measured, if the choices are commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands_hash: Option<String>,
    /// The rates that were imported, such as `GB/s`: its times are then per unit of that amount, not per run. Absent
    /// where it has the times of runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<String>,
    /// The day of measuring, `2026-11-24`; empty if unknown. Appending ignores it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub date: String,
    /// The program and its version, for example `ah-collect 0.1.0`. Appending ignores it.
    #[serde(default)]
    pub tool: String,
}

fn log_format() -> u32 {
    LOG_FORMAT
}

impl Metadata {
    /// The metadata of a new log.
    pub fn new(name: &str, schema: &Schema, choices: Vec<String>, collection: Collection) -> Self {
        let names = |kind| schema.names(kind).map(str::to_owned).collect();
        let integers = schema.features().iter().filter(|feature| feature.integer);
        let integer_features = integers.map(|feature| feature.name.clone()).collect();
        Self {
            name: name.to_owned(),
            shared_memory: collection.device.as_ref().map(Device::shared_memory),
            device_capa: collection.device.as_ref().map(Device::capability).unwrap_or_default(),
            numerical_features: names(FeatureKind::Numerical),
            categorical_features: names(FeatureKind::Categorical),
            choices: Some(choices),
            collection: Some(Collection { integer_features, ..collection }),
        }
    }

    /// The device, if the log has it.
    pub fn device(&self) -> Option<&Device> {
        self.collection.as_ref()?.device.as_ref()
    }

    /// The imported rates whose amounts the log does not know.
    pub fn rates(&self) -> Option<&str> {
        self.collection.as_ref()?.rates.as_deref()
    }

    /// Whether `ah-collect` measured the log: see [`Collection::collected`].
    pub fn is_collected(&self) -> bool {
        let says = |collection: &Collection| collection.collected.unwrap_or(collection.timing.is_some());
        self.collection.as_ref().is_some_and(says)
    }

    /// The features: the numerical ones, then the categorical ones.
    ///
    /// # Errors
    /// What is wrong with a name that occurs twice, or that is the name of another column.
    pub(super) fn features(&self) -> Result<Schema, String> {
        let integers: &[String] = self.collection.as_ref().map_or(&[], |of| &of.integer_features);
        let number = |name| Feature { integer: integers.contains(name), ..Feature::numerical(name) };
        let numerical = self.numerical_features.iter().map(number);
        let categorical = self.categorical_features.iter().map(Feature::categorical);
        let mut schema = Schema::default();
        for feature in numerical.chain(categorical) {
            let name = quoted(&feature.name);
            if matches!(&*feature.name, CHOICE_COLUMN | FEEDBACK_COLUMN) {
                return Err(format!("a feature named {name}, which is the name of another column"));
            }
            schema.push(feature).map_err(|_| format!("the feature {name} twice"))?;
        }
        Ok(schema)
    }
}

/// Keys that two logs, or a log and the rows to append, need not agree in.
const FREE: [&str; 6] = [
    "autoheuristic_rs.collected",
    "autoheuristic_rs.tool",
    "autoheuristic_rs.date",
    "autoheuristic_rs.integer_features",
    "autoheuristic_rs.feature_ms",
    "autoheuristic_rs.decision_ns",
];
/// Keys that only one side may have: a program may add its own timings to a log of ah-collect.
const ONE_SIDED: [&str; 3] = ["choices", "autoheuristic_rs.fallback", "autoheuristic_rs.timing"];

/// Each key whose value differs. Lists of features count as sets (the header has the order). The
/// version of the tool, the day, which features are integers, and the times of features and decisions do not count, nor do `choices`, a `fallback` or a `timing` policy that only one side has.
pub fn differences(log: &Metadata, other: &Metadata) -> Vec<Difference> {
    let json = |m: &Metadata| {
        let mut m = m.clone();
        m.numerical_features.sort();
        m.categorical_features.sort();
        serde_json::to_value(m).unwrap_or(Json::Null)
    };
    let mut found = Vec::new();
    compare("", Some(&json(log)), Some(&json(other)), &mut found);
    found
}

fn compare(key: &str, a: Option<&Json>, b: Option<&Json>, found: &mut Vec<Difference>) {
    match (a, b) {
        _ if a == b || FREE.contains(&key) => {}
        (None, _) | (_, None) if ONE_SIDED.contains(&key) => {}
        (Some(Json::Object(x)), Some(Json::Object(y))) => {
            let mut keys: Vec<&String> = x.keys().chain(y.keys()).collect();
            keys.sort();
            keys.dedup();
            for k in keys {
                let path = if key.is_empty() { k.clone() } else { format!("{key}.{k}") };
                compare(&path, x.get(k), y.get(k), found);
            }
        }
        _ => {
            let show = |v: Option<&Json>| v.map_or_else(|| "absent".to_owned(), ToString::to_string);
            found.push(Difference { key: key.to_owned(), log: show(a), other: show(b) });
        }
    }
}
