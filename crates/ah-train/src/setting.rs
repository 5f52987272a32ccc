//! The settings of a training in layers: the first layer that gives a setting wins, and is the origin that people see.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use crate::params::Params;

/// The layer that gives a setting, the first one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A flag, or a field of [`Params`].
    Flag,
    /// The optimization.
    Optimization,
    /// The log.
    Log,
    /// A rule of the tool.
    Default,
}

/// The value of a setting, and its origin.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// The value.
    pub value: Value,
    /// The layer that gives it.
    pub from: Origin,
}

/// All settings by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Settings(BTreeMap<String, Setting>);

impl Settings {
    /// Adds a layer below those that are there: the settings that it gives and they do not.
    pub fn add_layer(&mut self, layer: &Params, from: Origin) {
        let Value::Object(settings) = json!(layer) else { return };
        for (name, value) in settings {
            let is_given = !value.is_null() && value.as_array().is_none_or(|items| !items.is_empty());
            if is_given {
                self.0.entry(name).or_insert(Setting { value, from });
            }
        }
    }

    /// Replaces one setting.
    pub fn set(&mut self, name: &str, value: &impl Serialize, from: Origin) {
        self.0.insert(name.to_owned(), Setting { value: json!(value), from });
    }

    /// Returns whether no layer but the tool's own gives this setting.
    pub fn is_default(&self, name: &str) -> bool {
        self.0.get(name).is_none_or(|setting| setting.from == Origin::Default)
    }

    /// Returns the settings as parameters.
    pub fn params(&self) -> Params {
        // A fallback can come of the log or the optimization too, and a feature's time is no parameter.
        let values = self.0.iter().filter(|(name, _)| !["fallback", "feature_ms"].contains(&name.as_str()));
        let values = values.map(|(name, setting)| (name.clone(), setting.value.clone()));
        serde_json::from_value(values.collect()).expect("what parameters wrote reads back")
    }
}

/// One line for each setting.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.0.keys().map(String::len).max().unwrap_or(0);
        for (name, Setting { value, from }) in &self.0 {
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Array(items) => items.iter().map(Value::to_string).collect::<Vec<_>>().join(", "),
                other => other.to_string(),
            };
            writeln!(f, "{name:width$}  {value} ({})", json!(from).as_str().unwrap_or_default())?;
        }
        Ok(())
    }
}
