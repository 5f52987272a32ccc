//! A command with `{names}` that are filled in for each input and choice.

use std::process::Command;

use serde::Deserialize;

/// A command as written in the TOML file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged, expecting = "expected a command line, or a list of its arguments")]
pub(super) enum CommandText {
    /// Arguments separated by spaces, or a script for a shell.
    Line(String),
    /// The program and its arguments.
    Arguments(Vec<String>),
}

/// A command with names to fill in.
#[derive(Clone, Debug)]
pub(super) enum CommandTemplate {
    /// The program and its arguments. A value is always part of one argument.
    Arguments(Vec<Vec<Piece>>),
    /// A script for `sh`. Values are passed in the environment, so no value is read as script.
    Shell(Vec<Piece>),
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    Text(String),
    /// A name to fill in.
    Name(String),
}

impl Piece {
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            Self::Text(_) => None,
        }
    }
}

/// Characters that only a shell understands.
const SHELL_SYNTAX: &[char] = &['\'', '"', '\\', '|', '<', '>', ';', '&', '$', '`', '*', '?', '~', '#'];

impl CommandTemplate {
    /// Reads a command; `shell` allows scripts.
    pub(super) fn new(text: &CommandText, shell: bool) -> Result<Self, String> {
        let arguments = match text {
            CommandText::Line(line) if shell => return Ok(Self::Shell(pieces(line)?)),
            CommandText::Line(line) => {
                if let Some(c) = line.chars().find(|c| SHELL_SYNTAX.contains(c)) {
                    return Err(format!(
                        "{line:?} holds {c:?}, which only a shell understands; write the command as a list of \
                         arguments, or set shell = true"
                    ));
                }
                line.split_whitespace().map(pieces).collect::<Result<Vec<_>, _>>()?
            }
            CommandText::Arguments(_) if shell => {
                return Err("with shell = true a command is one text, not a list of arguments".to_owned());
            }
            CommandText::Arguments(list) => list.iter().map(|a| pieces(a)).collect::<Result<Vec<_>, _>>()?,
        };
        match arguments.first() {
            Some(program) if !program.is_empty() => Ok(Self::Arguments(arguments)),
            _ => Err("a command without a program".to_owned()),
        }
    }

    /// Returns the names to fill in.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let pieces: Vec<&Piece> = match self {
            Self::Arguments(arguments) => arguments.iter().flatten().collect(),
            Self::Shell(script) => script.iter().collect(),
        };
        pieces.into_iter().filter_map(Piece::name)
    }

    /// Returns the command with these values, and its text for messages.
    pub(super) fn fill(&self, value: impl Fn(&str) -> Option<String>) -> Result<(Command, String), String> {
        match self {
            Self::Arguments(arguments) => {
                let filled = arguments.iter().map(|a| fill(a, &value)).collect::<Result<Vec<_>, _>>()?;
                let mut command = Command::new(&filled[0]);
                command.args(&filled[1..]);
                Ok((command, filled.join(" ")))
            }
            Self::Shell(script) => {
                let mut command = Command::new("sh");
                let mut text = String::new();
                for (i, piece) in script.iter().enumerate() {
                    match piece {
                        Piece::Text(part) => text.push_str(part),
                        Piece::Name(name) => {
                            // In double quotes, the shell does not read the value as script.
                            let variable = format!("AH_VALUE_{i}");
                            text.push_str(&format!("\"${variable}\""));
                            command.env(variable, value(name).ok_or_else(|| no_value(name))?);
                        }
                    }
                }
                command.arg("-c").arg(text);
                Ok((command, fill(script, &value)?))
            }
        }
    }
}

/// Cuts a text at its `{names}`; `{{` and `}}` are braces.
pub(super) fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let mut found = Vec::new();
    let mut plain = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '{' | '}' if rest.peek() == Some(&c) => {
                rest.next();
                plain.push(c);
            }
            '{' => {
                let mut name = String::new();
                loop {
                    match rest.next() {
                        Some('}') => break,
                        Some(c) if c != '{' => name.push(c),
                        _ => {
                            return Err(format!(
                                "{text:?}: a brace is not closed; write {{{{ for a brace itself"
                            ));
                        }
                    }
                }
                if !plain.is_empty() {
                    found.push(Piece::Text(std::mem::take(&mut plain)));
                }
                found.push(Piece::Name(name));
            }
            '}' => return Err(format!("{text:?}: a brace is not opened; write }}}} for a brace itself")),
            c => plain.push(c),
        }
    }
    if !plain.is_empty() {
        found.push(Piece::Text(plain));
    }
    Ok(found)
}

/// Returns the text with these values.
pub(super) fn fill(pieces: &[Piece], value: &impl Fn(&str) -> Option<String>) -> Result<String, String> {
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => Ok(text.clone()),
            Piece::Name(name) => value(name).ok_or_else(|| no_value(name)),
        })
        .collect()
}

fn no_value(name: &str) -> String {
    format!(
        "{{{name}}} has no value: it is not a feature, a parameter of the choice, a column of --inputs, or \
         {{folder}}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str) -> Option<String> {
        match name {
            "file" => Some("a b; $(touch x) \"'".to_owned()),
            "level" => Some("3".to_owned()),
            _ => None,
        }
    }

    fn line(text: &str, shell: bool) -> Result<CommandTemplate, String> {
        CommandTemplate::new(&CommandText::Line(text.to_owned()), shell)
    }

    #[test]
    fn a_value_is_one_argument() {
        let (command, _) = line("zstd -{level} {file}", false).unwrap().fill(value).unwrap();
        let arguments: Vec<_> = command.get_args().collect();
        assert_eq!(arguments, ["-3", "a b; $(touch x) \"'"]);
        let list = ["awk", "{{print $1}}", "{file}"].map(str::to_owned).to_vec();
        let (command, _) =
            CommandTemplate::new(&CommandText::Arguments(list), false).unwrap().fill(value).unwrap();
        assert_eq!(command.get_args().next().unwrap(), "{print $1}");
    }

    #[test]
    fn a_shell_reads_no_value_as_script() {
        let folder = tempfile::tempdir().unwrap();
        for script in ["printf %s {file} > out", "printf %s \"{file}\" > out", "printf %s '{file}' > out"] {
            let (mut command, _) = line(script, true).unwrap().fill(value).unwrap();
            assert!(command.current_dir(&folder).status().unwrap().success(), "{script}");
            assert!(!folder.path().join("x").exists(), "{script}");
        }
        let (mut command, _) = line("printf %s {file} > out", true).unwrap().fill(value).unwrap();
        command.current_dir(&folder).status().unwrap();
        assert_eq!(std::fs::read_to_string(folder.path().join("out")).unwrap(), value("file").unwrap());
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("zstd {file} > out", "'>', which only a shell understands"),
            ("zstd '{file}'", "which only a shell understands"),
            ("zstd {file", "a brace is not closed"),
            ("zstd file}", "a brace is not opened"),
            ("  ", "without a program"),
        ] {
            let mistake = line(text, false).unwrap_err();
            assert!(mistake.contains(part), "{text}: {mistake}");
        }
        let mistake = line("zstd {name}", false).unwrap().fill(value).unwrap_err();
        assert!(mistake.contains("{name} has no value"), "{mistake}");
    }
}
