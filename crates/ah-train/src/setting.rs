//! Settings: each is resolved once, in one order, and keeps its origin.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// Where a setting comes from. The first of these that gives it wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A flag, or a field of `Params`.
    Flag,
    /// The optimization.
    Optimization,
    /// The log.
    Log,
    /// A rule of the tool.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flag => "flag",
            Self::Optimization => "optimization",
            Self::Log => "log",
            Self::Default => "default",
        })
    }
}

/// A resolved setting, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: Value,
    /// Where the value comes from.
    pub origin: Origin,
}

/// All settings that were resolved, in this order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings(Vec<Setting>);

impl Settings {
    /// Resolves a setting: the first of flag, optimization and log that gives it, else the default.
    pub fn resolve<T: Serialize>(
        &mut self,
        name: &'static str,
        flag: Option<T>,
        optimization: Option<T>,
        log: Option<T>,
        default: T,
    ) -> T {
        let given = [(flag, Origin::Flag), (optimization, Origin::Optimization), (log, Origin::Log)];
        let first = given.into_iter().find_map(|(value, origin)| Some((value?, origin)));
        let (value, origin) = first.unwrap_or((default, Origin::Default));
        self.add(name, &value, origin);
        value
    }

    /// Adds a setting that only a flag can give, where it is given. Returns it.
    pub fn flag<T: Serialize>(&mut self, name: &'static str, value: Option<T>) -> Option<T> {
        if let Some(value) = &value {
            self.add(name, value, Origin::Flag);
        }
        value
    }

    /// Adds a setting that is resolved.
    pub fn add(&mut self, name: &'static str, value: &impl Serialize, origin: Origin) {
        self.0.push(Setting { name, value: json!(value), origin });
    }
}

/// One object: by name the value and its origin.
impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entry = |s: &Setting| (s.name, json!({ "value": s.value, "from": s.origin }));
        serializer.collect_map(self.0.iter().map(entry))
    }
}

/// One line for each setting.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.0.iter().map(|setting| setting.name.len()).max().unwrap_or(0);
        for Setting { name, value, origin } in &self.0 {
            let value = match value {
                Value::Null => "none".to_owned(),
                Value::String(text) => text.clone(),
                Value::Array(items) => items.iter().map(Value::to_string).collect::<Vec<_>>().join(", "),
                other => other.to_string(),
            };
            writeln!(f, "{name:width$}  {value} ({origin})")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_gives_a_setting_wins() {
        let mut settings = Settings::default();
        let mut resolve = |flag, optimization, log| settings.resolve("x", flag, optimization, log, 4);
        assert_eq!(resolve(Some(1), Some(2), Some(3)), 1);
        assert_eq!(resolve(None, Some(2), Some(3)), 2);
        assert_eq!(resolve(None, None, Some(3)), 3);
        assert_eq!(resolve(None, None, None), 4);
        let shown = settings.to_string();
        assert_eq!(shown, "x  1 (flag)\nx  2 (optimization)\nx  3 (log)\nx  4 (default)\n");
    }
}
