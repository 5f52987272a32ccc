//! The settings of a training in layers: the first layer that gives a setting wins, and is the origin that people see.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

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

/// All settings: of each the value that the first layer gives, as parameters and by name.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Settings {
    by_name: BTreeMap<String, Setting>,
    #[serde(skip)]
    values: Params,
}

impl Deref for Settings {
    type Target = Params;

    fn deref(&self) -> &Params {
        &self.values
    }
}

impl Settings {
    /// Adds a layer below those that are there: the settings that it gives and they do not.
    pub fn add_layer(&mut self, layer: &Params, from: Origin) {
        let Value::Object(settings) = json!(layer) else { return };
        let is_given = |value: &Value| ![json!(null), json!([]), json!({})].contains(value);
        let given = settings.into_iter().filter(|(_, value)| is_given(value));
        self.add(given.map(|(name, value)| (name, Setting { value, from })));
    }

    /// Replaces the settings that this layer gives.
    pub fn replace(&mut self, layer: &Params, from: Origin) {
        let below = std::mem::take(&mut self.by_name);
        self.add_layer(layer, from);
        self.add(below.into_iter());
    }

    fn add(&mut self, below: impl Iterator<Item = (String, Setting)>) {
        for (name, setting) in below {
            self.by_name.entry(name).or_insert(setting);
        }
        let values = self.by_name.iter().map(|(name, setting)| (name.clone(), setting.value.clone()));
        self.values = serde_json::from_value(values.collect()).expect("what parameters wrote reads back");
    }

    /// Returns whether no layer but the tool's own gives this setting.
    pub fn is_default(&self, name: &str) -> bool {
        self.by_name.get(name).is_none_or(|setting| setting.from == Origin::Default)
    }
}

/// One line for each setting.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.by_name.keys().map(String::len).max().unwrap_or(0);
        for (name, Setting { value, from }) in &self.by_name {
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
