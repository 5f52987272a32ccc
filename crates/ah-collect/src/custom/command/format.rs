//! The table `[commands]` of an optimization's TOML file.

use std::collections::BTreeMap;

use ah_types::Optimization;
use serde::Deserialize;

use super::super::drawn::{self, Draw, ScalarText};
use super::template::{CommandTemplate, CommandText, Piece, fill, pieces};

/// The table as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::custom) struct CommandsTable {
    /// Once for each input, before everything else.
    setup: Option<CommandText>,
    /// Before each run, outside the time.
    prepare: Option<CommandText>,
    /// After the first run of each choice; fails for a wrong result.
    check: Option<CommandText>,
    /// Once for each input, at its end.
    cleanup: Option<CommandText>,
    /// The timed commands by the names of their choices; both may hold `{parameters}`.
    choices: BTreeMap<String, CommandText>,
    /// The values of each parameter. A choice that uses parameters becomes one choice for each of their combinations.
    #[serde(default)]
    parameters: BTreeMap<String, Vec<ScalarText>>,
    /// How the features are drawn. Without it, `--inputs` gives them.
    #[serde(default)]
    inputs: BTreeMap<String, Draw>,
    #[serde(default)]
    time: Clock,
    /// Whether commands are scripts for `sh`.
    #[serde(default)]
    shell: bool,
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
    pub(super) setup: Option<CommandTemplate>,
    pub(super) prepare: Option<CommandTemplate>,
    pub(super) check: Option<CommandTemplate>,
    pub(super) cleanup: Option<CommandTemplate>,
    pub(super) choices: Vec<CommandChoice>,
    /// In the order of the features; `None` for a feature that is not drawn.
    pub(super) inputs: Vec<Option<Draw>>,
    pub(super) clock: Clock,
}

impl Commands {
    /// Returns the names of the choices.
    pub(in crate::custom) fn names(&self) -> Vec<String> {
        self.choices.iter().map(|choice| choice.name.clone()).collect()
    }
}

/// A choice of the table for one combination of its parameters.
#[derive(Debug)]
pub(super) struct CommandChoice {
    pub name: String,
    pub command: CommandTemplate,
    pub parameters: BTreeMap<String, String>,
}

impl CommandsTable {
    /// Checks the table against its optimization.
    pub(in crate::custom) fn check(self, optimization: &Optimization) -> Result<Commands, String> {
        let template = |role: &str, text: &Option<CommandText>| match text {
            Some(text) => {
                CommandTemplate::new(text, self.shell).map(Some).map_err(|e| format!("commands.{role}: {e}"))
            }
            None => Ok(None),
        };
        for name in self.parameters.keys() {
            if name == "folder" || optimization.features.iter().any(|f| f.name == *name) {
                return Err(format!("commands.parameters: {name:?} is a feature or {{folder}}; rename it"));
            }
        }
        Ok(Commands {
            setup: template("setup", &self.setup)?,
            prepare: template("prepare", &self.prepare)?,
            check: template("check", &self.check)?,
            cleanup: template("cleanup", &self.cleanup)?,
            choices: self.choices()?,
            inputs: drawn::check(&self.inputs, optimization).map_err(|e| format!("commands.inputs{e}"))?,
            clock: self.time,
        })
    }

    /// Returns every choice for every combination of the parameters that its command uses.
    fn choices(&self) -> Result<Vec<CommandChoice>, String> {
        let mut choices: Vec<CommandChoice> = Vec::new();
        for (name, text) in &self.choices {
            let wrong = |e: String| format!("commands.choices.{name:?}: {e}");
            let command = CommandTemplate::new(text, self.shell).map_err(wrong)?;
            let name_pieces = pieces(name).map_err(wrong)?;
            let in_name = |parameter: &str| name_pieces.contains(&Piece::Name(parameter.to_owned()));
            let used = || command.names().chain(name_pieces.iter().filter_map(Piece::name));
            let mut combinations = vec![BTreeMap::new()];
            for (parameter, values) in self.parameters.iter().filter(|(p, _)| used().any(|n| n == *p)) {
                if values.len() > 1 && !in_name(parameter) {
                    return Err(wrong(format!(
                        "the command uses {{{parameter}}}, so the name must too: each value is a choice"
                    )));
                }
                combinations = combinations
                    .iter()
                    .flat_map(|combination: &BTreeMap<String, String>| {
                        values.iter().map(|value| {
                            let mut combination = combination.clone();
                            combination.insert(parameter.clone(), value.text());
                            combination
                        })
                    })
                    .collect();
            }
            for parameters in combinations {
                let name = fill(&name_pieces, &|p| parameters.get(p).cloned()).map_err(wrong)?;
                if choices.iter().any(|c| c.name == name) {
                    return Err(wrong(format!("the choice {name:?} is there twice")));
                }
                choices.push(CommandChoice { name, command: command.clone(), parameters });
            }
        }
        if choices.len() < 2 {
            return Err(format!("commands.choices: {} choices, at least two are needed", choices.len()));
        }
        Ok(choices)
    }
}
