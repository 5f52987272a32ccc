//! Reads optimizations: built-in ones by name, others from TOML files.

use std::path::Path;

use ah_model::shown::{did_you_mean, listed, quoted, reason};
use ah_model::{DEVICE_FEATURES, Error, Feature, artefact};
use serde::de::DeserializeOwned;

use super::definition::Optimization;
use crate::log::Log;

/// The largest file that is read.
const MAX_MIB: u64 = 16;

macro_rules! built_in {
    ($($file:literal),* $(,)?) => {
        /// The built-in optimizations: each file's name and text.
        const BUILT_IN: &[(&str, &str)] = &[$(($file, include_str!(concat!($file, ".toml")))),*];
    };
}
built_in!["pad_mm", "mm", "mixed_mm", "softmax", "flex_attention"];

/// The optimization of a log for which a person gives none.
#[derive(Clone, Debug)]
pub struct LogOptimization {
    /// The built-in one, or one of the log's features and fallback alone.
    pub optimization: Optimization,
    /// The text of the file of a built-in one.
    pub built_in: Option<&'static str>,
    /// Why the built-in one of the log's name does not serve the log: a sentence for the user.
    pub note: Option<String>,
}

impl LogOptimization {
    /// The built-in optimization of the log's name if the log's features and choices are its own. A log of
    /// another program that has only the name in common gets an optimization of its own features and fallback.
    pub fn new(log: &Log) -> Self {
        let own = |note| Self {
            optimization: Optimization::from_log(&log.metadata, &log.schema),
            built_in: None,
            note,
        };
        let name = &log.metadata.name;
        let Ok(optimization) = Optimization::built_in(name) else { return own(None) };
        let built_in = BUILT_IN.iter().find(|(known, _)| known == name).map(|(_, text)| *text);
        match optimization.foreign_part(log) {
            None => Self { optimization, built_in, note: None },
            Some(part) => own(Some(format!(
                "the log is named {} like a built-in optimization, but that one does not have {part}; so the log alone declares \
                 the features and the fallback",
                quoted(name)
            ))),
        }
    }
}

impl Optimization {
    /// The features or choices of a log that are not this optimization's, in words; `None` if all are.
    fn foreign_part(&self, log: &Log) -> Option<String> {
        let declared = |logged: &Feature| {
            DEVICE_FEATURES.contains(&logged.name.as_str())
                || self.features.iter().any(|f| (&f.name, f.kind) == (&logged.name, logged.kind))
        };
        let features: Vec<&str> =
            log.schema.features().iter().filter(|f| !declared(f)).map(|f| f.name.as_str()).collect();
        if !features.is_empty() {
            return Some(format!("the features {}", listed(features)));
        }
        let matches = |choice: &String, own: &String| match own.strip_suffix('*') {
            Some(begin) => choice.starts_with(begin),
            None => choice == own,
        };
        let foreign = |choice: &&String| !self.own_choices.iter().any(|own| matches(choice, own));
        let choices: Vec<&String> = log.choices.iter().filter(foreign).collect();
        (!choices.is_empty()).then(|| format!("the choices {}", listed(choices)))
    }

    /// The names of the built-in optimizations.
    pub fn built_in_names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// The built-in optimization of this name.
    ///
    /// # Errors
    /// A sentence that lists the names that exist.
    pub fn built_in(name: &str) -> Result<Self, Error> {
        let found = BUILT_IN.iter().find(|(known, _)| *known == name);
        let (file, text) = found.ok_or_else(|| {
            let known = listed(Self::built_in_names());
            let proposal = did_you_mean(name, Self::built_in_names());
            let name = quoted(name);
            Error::Invalid(format!(
                "unknown optimization {name}; built in: {known}; for another, give its TOML file{proposal}"
            ))
        })?;
        Self::parse(text, Path::new(&format!("{file}.toml")))
    }

    /// Reads an optimization from a TOML file.
    ///
    /// # Errors
    /// [`Error`] with the file and, for bad TOML, line and column.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::parse(&Self::read_text(path)?, path)
    }

    /// The text of a TOML file, for readers of further tables.
    ///
    /// # Errors
    /// [`Error::Io`], also for a file of more than 16 MiB.
    pub fn read_text(path: &Path) -> Result<String, Error> {
        let text = artefact::read_text(path, MAX_MIB).map_err(Error::io(path, "read the optimization"))?;
        Ok(text.replace("\r\n", "\n")) // A shell takes the carriage return of a script for text.
    }

    /// Reads an optimization from the text of the TOML file at `path`.
    ///
    /// # Errors
    /// [`Error`] with the file and, for bad TOML, line and column.
    pub fn parse(text: &str, path: &Path) -> Result<Self, Error> {
        let optimization: Self = Self::parse_as(text, path)?;
        optimization.schema()?;
        Ok(optimization)
    }

    /// The error of a file that is no optimization.
    pub fn malformed(path: &Path, message: &str) -> Error {
        Error::Invalid(format!("{}: not an optimization: {message}", path.display()))
    }

    /// Reads other tables from the text of the TOML file at `path`.
    ///
    /// # Errors
    /// [`Error`] with the file, line and column.
    pub fn parse_as<T: DeserializeOwned>(text: &str, path: &Path) -> Result<T, Error> {
        toml::from_str(text).map_err(|e| Self::malformed(path, &reason(e.to_string().trim())))
    }
}
