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
        for (name, value) in given(layer) {
            self.by_name.entry(name).or_insert(Setting { value, from });
        }
        let values = self.by_name.iter().map(|(name, setting)| (name.clone(), setting.value.clone()));
        self.values = serde_json::from_value(values.collect()).expect("parameters read what they write");
    }

    /// Replaces the settings that this layer gives.
    pub fn replace(&mut self, layer: &Params, from: Origin) {
        given(layer).for_each(|(name, _)| _ = self.by_name.remove(&name));
        self.add_layer(layer, from);
    }

    /// Whether no layer but the tool's own gives this setting.
    pub fn is_default(&self, name: &str) -> bool {
        self.by_name.get(name).is_none_or(|setting| setting.from == Origin::Default)
    }
}

/// The settings that a layer gives, by name.
fn given(layer: &Params) -> impl Iterator<Item = (String, Value)> {
    let all = json!(layer).as_object_mut().map(std::mem::take).unwrap_or_default();
    all.into_iter().filter(|(_, value)| ![json!(null), json!([]), json!({})].contains(value))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_layer_wins_in_the_parameters_as_in_what_is_shown() {
        let mut settings = Settings::default();
        settings.add_layer(&Params { seed: Some(7), ..Params::default() }, Origin::Flag);
        let below = Params { seed: Some(8), exclude: vec!["m".to_owned()], ..Params::default() };
        settings.add_layer(&below, Origin::Optimization);
        settings.replace(&Params { max_depth: Some(3), ..Params::default() }, Origin::Log);
        assert_eq!(
            (settings.seed, settings.max_depth, &*settings.exclude),
            (Some(7), Some(3), &["m".to_owned()][..])
        );
        assert_eq!(
            settings.to_string(),
            "exclude    \"m\" (optimization)\nmax_depth  3 (log)\nseed       7 (flag)\n"
        );
    }
}
