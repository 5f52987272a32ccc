//! Presets: the files of a tool as a TOML that sets the flags of an import. Adding a tool is one file in `presets/`.

use std::path::Path;

use ah_model::shown::{did_you_mean, listed, quoted};
use ah_model::{Error, Fault};
use include_dir::{Dir, include_dir};
use indexmap::IndexSet;
use serde::Deserialize;

use crate::column::is_named;
use crate::params::{Format, ImportParams};

static FILES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/presets");

/// The flags that a tool's files need, none by default. A flag of the user replaces each but the conditions, which are added.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Preset {
    /// The name of the tool, and of the preset's file; empty without a tool.
    #[serde(skip)]
    pub name: String,
    /// What writes such files, for people.
    pub about: String,
    /// What only such files have: columns, JSON pointers such as `/results/0/times`, or the first characters of a text.
    has: Vec<String>,
    /// Where the tool writes a folder: the JSON files of one row, by their paths below the row's own folder.
    files: Vec<String>,
    format: Option<Format>,
    /// The path of the rows in JSON.
    pub rows: Option<String>,
    /// The columns of the features, without one that a flag names for the choice.
    pub features: IndexSet<String>,
    /// The columns of the choice, without those that a flag names as features.
    pub choice: IndexSet<String>,
    /// The first of these columns that the table has.
    pub time: Vec<String>,
    unit: Option<String>,
    failed: Vec<String>,
    failed_where: Vec<String>,
    #[serde(rename = "where")]
    only_where: Vec<String>,
    /// The column that `--name-pattern` splits.
    name_column: Option<String>,
    /// The pattern of the lines that are rows, in a text without a line of names.
    pub line_pattern: Option<String>,
}

/// All presets in the order of their names. A test reads each.
fn all() -> Vec<Preset> {
    let read = |file: &include_dir::File<'_>| {
        let preset: Preset = toml::from_str(file.contents_utf8()?).ok()?;
        Some(Preset { name: file.path().file_stem()?.to_string_lossy().into_owned(), ..preset })
    };
    let mut presets: Vec<Preset> = FILES.files().filter_map(read).collect();
    presets.sort_by(|a, b| a.name.cmp(&b.name));
    presets
}

/// The names of all tools.
pub fn names() -> Vec<String> {
    all().into_iter().map(|preset| preset.name).collect()
}

/// The text of a tool's preset, to print it.
///
/// # Errors
/// [`Error::Parameter`] for another name.
pub fn text(tool: &str) -> Result<&'static str, Error> {
    FILES.get_file(format!("{tool}.toml")).and_then(|file| file.contents_utf8()).ok_or_else(|| {
        let names = names();
        let found = format!("{}{}", quoted(tool), did_you_mean(tool, &names));
        Error::parameter("tool", format!("one of {}", listed(&names)), found)
    })
}

/// The preset of `--tool`, or else the only one, if the file has all its marks.
pub fn find(params: &ImportParams, has: impl Fn(&str) -> bool) -> Option<Preset> {
    if params.rows.is_some() && params.tool.is_none() {
        return None;
    }
    // A tool may write several formats: `jmh` and `jmh-csv`.
    let is_of = |preset: &Preset, tool: &str| {
        preset.name.strip_prefix(tool).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let mut fitting = all();
    fitting.retain(|preset| params.tool.as_ref().is_none_or(|tool| is_of(preset, tool)));
    fitting.retain(|preset| preset.has.iter().all(|mark| has(mark)));
    fitting.pop().filter(|_| fitting.is_empty())
}

/// The names of the files of a row, of each tool that writes folders.
pub fn folders(params: &ImportParams) -> impl Iterator<Item = Vec<String>> {
    let is_asked = |preset: &Preset| params.tool.as_ref().is_none_or(|tool| *tool == preset.name);
    all().into_iter().filter(is_asked).map(|preset| preset.files).filter(|files| !files.is_empty())
}

/// The preset that was found for a file, or one without flags.
///
/// # Errors
/// The file is not of the tool that `--tool` names.
pub fn found_for(path: &Path, params: &ImportParams, found: Option<Preset>) -> Result<Preset, Error> {
    let Some(tool) = params.tool.as_deref().filter(|_| found.is_none()) else {
        return Ok(found.unwrap_or_default());
    };
    let hint = format!(
        "`ah-train import --tool {tool} --show` prints what its files have; leave --tool out for another table"
    );
    Err(Fault::new(format!("a file of {tool}"), "one that lacks its marks", hint).of_file(path).into())
}

impl Preset {
    /// The format of `--tool`, if its files have one that their names do not show.
    pub fn format(tool: &str) -> Option<Format> {
        all().into_iter().find(|preset| preset.name == tool)?.format
    }

    /// The flags of an import of such a file. A condition on a column that the file lacks is none.
    pub fn apply(&self, params: &ImportParams, columns: &[String]) -> ImportParams {
        let has = |condition: &&String| {
            let column = condition.split(['=', '!']).next().unwrap_or_default();
            // A place in a list.
            let column = column.trim_end_matches(|c: char| c == '.' || c.is_ascii_digit());
            columns.iter().any(|known| is_named(known, column))
        };
        let added =
            |ours: &[String], theirs: &[String]| ours.iter().filter(has).chain(theirs).cloned().collect();
        let of_preset = params.time.is_empty() && !params.higher_is_better;
        ImportParams {
            unit: params.unit.or(self.unit.as_ref().filter(|_| of_preset).and_then(|unit| unit.parse().ok())),
            failed: params.failed.clone().or((!self.failed.is_empty()).then(|| self.failed.clone())),
            failed_where: added(&self.failed_where, &params.failed_where),
            only_where: added(&self.only_where, &params.only_where),
            name_column: params.name_column.clone().or_else(|| self.name_column.clone()),
            ..params.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_preset_can_be_read_and_has_a_mark() {
        for file in FILES.files() {
            let preset: Preset = toml::from_str(file.contents_utf8().unwrap())
                .unwrap_or_else(|e| panic!("{}: {e}", file.path().display()));
            assert!(!preset.has.is_empty() && !preset.about.is_empty(), "{}", file.path().display());
            assert!(
                preset.unit.is_none_or(|unit| unit.parse::<crate::Unit>().is_ok()),
                "{}",
                file.path().display()
            );
        }
        assert_eq!(all().len(), FILES.files().count());
    }
}
