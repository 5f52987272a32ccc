//! The table `[commands]` of an optimization's TOML file.

use std::collections::BTreeMap;

use ah_measure::draws::{self, Inputs};
use ah_model::FieldValue;
use ah_model::hash::fnv1a;
use ah_types::Optimization;
use serde::Deserialize;

use crate::custom::combinations::{Parameters, combinations, is_identifier};
use crate::worker::check_choices;

/// The table as written. Each command is a script for `sh -eu`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::custom) struct CommandsTable {
    /// Once for each input, before everything else.
    pub(super) setup: Option<String>,
    /// Before each run, outside the time.
    pub(super) prepare: Option<String>,
    /// After the first run of each choice; fails for a wrong result.
    pub(super) check: Option<String>,
    /// Once for each input, at its end.
    pub(super) cleanup: Option<String>,
    /// The timed commands by the names of their choices; both may hold `$parameters`.
    choices: BTreeMap<String, String>,
    /// The values of each parameter. A choice that uses parameters becomes one choice for each of their combinations.
    #[serde(default)]
    parameters: Parameters,
    /// How the features are drawn. Without it, `--inputs` gives them.
    #[serde(default)]
    pub(super) inputs: Inputs,
    #[serde(default)]
    pub(super) time: Clock,
}

/// The source of a run's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Clock {
    /// From the command's start to its end.
    #[default]
    Wall,
    /// The command prints seconds on its last line.
    PrintedSeconds,
    /// The command prints milliseconds on its last line.
    PrintedMilliseconds,
    /// The command prints microseconds on its last line.
    PrintedMicroseconds,
}

/// The table, checked: one command for each choice.
#[derive(Debug)]
pub(crate) struct Commands {
    pub(super) table: CommandsTable,
    pub(super) choices: Vec<CommandChoice>,
    /// A hash of all that runs.
    pub(super) hash: String,
}

/// A choice of the table for one combination of its parameters.
#[derive(Debug)]
pub(super) struct CommandChoice {
    pub name: String,
    pub command: String,
    pub parameters: BTreeMap<String, String>,
}

impl Commands {
    /// The names of the choices.
    pub(in crate::custom) fn names(&self) -> Vec<String> {
        self.choices.iter().map(|choice| choice.name.clone()).collect()
    }
}

/// The positions of `$name` and `${name}` in a text: begin, end and name.
fn variables(text: &str) -> Vec<(usize, usize, &str)> {
    let mut found = Vec::new();
    for (begin, _) in text.match_indices('$') {
        let rest = &text[begin + 1..];
        let braces = usize::from(rest.starts_with('{'));
        let name =
            rest[braces..].split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or("");
        let end = begin + 1 + braces + name.len();
        if is_identifier(name) {
            let closes = usize::from(braces == 1 && text[end..].starts_with('}'));
            found.push((begin, end + closes, name));
        }
    }
    found
}

impl CommandsTable {
    /// Checks the table against its optimization.
    pub(in crate::custom) fn check(self, optimization: &Optimization) -> Result<Commands, String> {
        for name in self.parameters.keys() {
            if name == "folder" || optimization.features.iter().any(|f| f.name == *name) {
                return Err(format!("commands.parameters: {name:?} is a feature or $folder; rename it"));
            }
            if !is_identifier(name) {
                return Err(format!(
                    "commands.parameters: {name:?} is no name of a shell's variable; rename it"
                ));
            }
        }
        let choices = self.choices()?;
        draws::check(&self.inputs, optimization).map_err(|e| format!("commands.inputs{e}"))?;
        let Self { setup, prepare, check, cleanup, choices: commands, parameters, time, .. } = &self;
        let runs = format!("{:?}", (setup, prepare, check, cleanup, commands, parameters, time));
        Ok(Commands { choices, hash: format!("{:016x}", fnv1a(&runs)), table: self })
    }

    /// Every choice for every combination of the parameters that its command uses.
    fn choices(&self) -> Result<Vec<CommandChoice>, String> {
        let mut choices: Vec<CommandChoice> = Vec::new();
        for (name, command) in &self.choices {
            let wrong = |e: String| format!("commands.choices.{name:?}: {e}");
            let uses = |text: &str, wanted: &str| variables(text).iter().any(|(.., used)| *used == wanted);
            let used: BTreeMap<&String, &Vec<FieldValue>> = (self.parameters.iter())
                .filter(|(parameter, _)| uses(name, parameter) || uses(command, parameter))
                .collect();
            if let Some((parameter, _)) = used.iter().find(|(p, values)| values.len() > 1 && !uses(name, p)) {
                return Err(wrong(format!(
                    "the command uses ${parameter}, so the name must too: each value is a choice"
                )));
            }
            // As a shell has them.
            let text = |value: &FieldValue| match value {
                FieldValue::Truth(truth) => truth.to_string(),
                other => other.value().to_string(),
            };
            for combination in combinations(used.into_iter()).map_err(wrong)? {
                let parameters =
                    combination.into_iter().map(|(name, value)| (name.to_owned(), text(value))).collect();
                let name = fill(name, &parameters).map_err(wrong)?;
                choices.push(CommandChoice { name, command: command.clone(), parameters });
            }
        }
        check_choices(choices.iter().map(|choice| &choice.name))
            .map_err(|e| format!("commands.choices: {e}"))?;
        Ok(choices)
    }
}

/// The name of a choice with the values of its parameters.
fn fill(name: &str, parameters: &BTreeMap<String, String>) -> Result<String, String> {
    let mut filled = String::new();
    let mut at = 0;
    for (begin, end, parameter) in variables(name) {
        let value = parameters.get(parameter);
        let value = value.ok_or_else(|| format!("${parameter} is none of the parameters"))?;
        filled.push_str(&name[at..begin]);
        filled.push_str(value);
        at = end;
    }
    Ok(filled + &name[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_those_of_a_shell() {
        let names = |text| variables(text).into_iter().map(|(.., name)| name).collect::<Vec<_>>();
        assert_eq!(names("zstd -$level --T${threads} \"$folder/a\" $1 $$ $"), ["level", "threads", "folder"]);
        let parameters = BTreeMap::from([("a", "1"), ("b", "x")].map(|(k, v)| (k.to_owned(), v.to_owned())));
        assert_eq!(fill("A=$a_B=${b}", &parameters), Err("$a_B is none of the parameters".to_owned()));
        assert_eq!(fill("A=${a}_B=$b", &parameters).unwrap(), "A=1_B=x");
    }
}
