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
        for (name, value) in settings.into_iter().filter(|(_, value)| is_given(value)) {
            self.by_name.entry(name).or_insert(Setting { value, from });
        }
        fill(&mut self.values, layer);
    }

    /// Replaces the settings that this layer gives.
    pub fn replace(&mut self, layer: &Params, from: Origin) {
        let below = std::mem::take(self);
        self.add_layer(layer, from);
        for (name, setting) in below.by_name {
            self.by_name.entry(name).or_insert(setting);
        }
        fill(&mut self.values, &below.values);
    }

    /// Whether no layer but the tool's own gives this setting.
    pub fn is_default(&self, name: &str) -> bool {
        self.by_name.get(name).is_none_or(|setting| setting.from == Origin::Default)
    }
}

/// Takes the settings that are not given from the layer below.
fn fill(values: &mut Params, below: &Params) {
    macro_rules! fill {
        ($($setting:ident)*) => {
            // Names all fields, so that no new one is forgotten.
            let Params {
                $($setting,)*
                logs: _, heuristic_name: _, skip_bad_rows: _, weights: _, optimization: _,
            } = below;
            let none = Params::default();
            $(if values.$setting == none.$setting {
                values.$setting.clone_from($setting);
            })*
        };
    }
    fill!(targets learner objective max_depth min_samples_leaf max_leaves size fallback exclude group test_split seed ranking
        max_choices max_risk max_slowdown runs_per_decision outside dimensions feature_ms);
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
