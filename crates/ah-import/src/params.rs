//! The parameters of an import: one list of fields for the library and for the command line.

use ah_model::Error;
use std::path::PathBuf;

use ah_model::shown::quoted;

use crate::number::Decimal;
use crate::unit::Unit;

/// The parameters of an import.
// On the command line, the doc comments are the help texts.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct ImportParams {
    /// The tables, imported into one log.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub tables: Vec<PathBuf>,
    /// Skip bad rows and count them.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub skip_bad_rows: bool,
    /// The optimization's name, for example my_gemm.
    // Not required by clap: --show needs none.
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "NAME", default_value = "", hide_default_value = true)
    )]
    pub name: String,
    /// The tool that wrote the tables [default: the only one that writes such files].
    #[cfg_attr(feature = "cli", arg(long, value_name = "TOOL"))]
    pub tool: Option<String>,
    /// The columns that are known when choosing: the features.
    #[cfg_attr(feature = "cli", arg(long, value_delimiter = ',', value_name = "COLUMN,…"))]
    pub features: Vec<String>,
    /// A feature that has the same value in every row; can be repeated.
    #[cfg_attr(feature = "cli", arg(long, value_name = "FEATURE=VALUE"))]
    pub set: Vec<String>,
    /// The columns that make up the choice. One column of names is taken as it is; several become
    /// KEY=VALUE_KEY=VALUE. With --wide: the columns that each hold the times of one choice.
    #[cfg_attr(feature = "cli", arg(long, value_delimiter = ',', value_name = "COLUMN,…"))]
    pub choice: Vec<String>,
    /// The column of the times; several are repetitions.
    #[cfg_attr(feature = "cli", arg(long, value_delimiter = ',', value_name = "COLUMN,…"))]
    pub time: Vec<String>,
    /// The table is wide: every column that is not a feature has the times of one choice, and its name.
    #[cfg_attr(feature = "cli", arg(long, conflicts_with = "time"))]
    pub wide: bool,
    /// Columns that hold names, although they may look like numbers.
    #[cfg_attr(feature = "cli", arg(long, value_delimiter = ',', value_name = "COLUMN,…"))]
    pub categorical: Vec<String>,
    /// The unit of the times: ps, ns, us, ms, s, min or h, or a number of one, such as 0.4ns for the cycles of 2.5 GHz
    /// [default: that of the tool, of each cell or row, or of the column's name, else ms].
    #[cfg_attr(feature = "cli", arg(long, value_name = "UNIT"))]
    pub unit: Option<Unit>,
    /// The times are rates, for example TFLOPS: higher is better.
    #[cfg_attr(feature = "cli", arg(long, conflicts_with = "unit"))]
    pub higher_is_better: bool,
    /// A missing time means that the choice failed [default: that it was not measured]; so do these texts.
    #[cfg_attr(
        feature = "cli",
        arg(long, num_args = 0.., require_equals = true, value_delimiter = ',', value_name = "TEXT,…")
    )]
    pub failed: Option<Vec<String>>,
    /// Rows that failed by another column, for example is_correct=false; * stands for any text. Can be repeated.
    #[cfg_attr(feature = "cli", arg(long, value_name = "COLUMN=VALUE, COLUMN!=VALUE, COLUMN>NUMBER"))]
    pub failed_where: Vec<String>,
    /// Read these rows alone; the others are no measurements. Can be repeated.
    #[cfg_attr(
        feature = "cli",
        arg(long = "where", value_name = "COLUMN=VALUE, COLUMN!=VALUE, COLUMN>NUMBER")
    )]
    pub only_where: Vec<String>,
    /// The sign before the fraction of a number; the other one may group digits [default: a point, where no number can be read in
    /// two ways].
    #[cfg_attr(feature = "cli", arg(long, value_enum))]
    pub decimal: Option<Decimal>,
    /// In JSON: the keys, separated by points, that lead to the list of rows; the other values around it become columns too.
    #[cfg_attr(feature = "cli", arg(long, value_name = "KEY.KEY"))]
    pub rows: Option<String>,
    /// Columns out of the parts of a name: a regular expression with named groups, such as 'BM_(?<way>\w+)/(?<n>\d+)'.
    #[cfg_attr(feature = "cli", arg(long, value_name = "REGEX"))]
    pub name_pattern: Option<String>,
    /// The column of these names [default: name, run_name, benchmark or command].
    #[cfg_attr(feature = "cli", arg(long, value_name = "COLUMN", requires = "name_pattern"))]
    pub name_column: Option<String>,
    /// The format of the tables [default: by their names].
    #[cfg_attr(feature = "cli", arg(long, value_enum))]
    pub format: Option<Format>,
    /// The log to write.
    #[cfg_attr(feature = "cli", arg(long, short, default_value = "train.txt", value_name = "FILE"))]
    pub output: PathBuf,
    /// Add to the log if it exists.
    #[cfg_attr(feature = "cli", arg(long))]
    pub append: bool,
    /// A log that was measured on the device of the times: the device is taken from its first line.
    #[cfg_attr(feature = "cli", arg(long, value_name = "LOG", conflicts_with_all = ["device_capa", "shared_memory"]))]
    pub device: Option<PathBuf>,
    /// The compute capability of the GPU of the times, for example 9.0.
    #[cfg_attr(feature = "cli", arg(long, value_name = "MAJOR.MINOR", value_parser = capability))]
    pub device_capa: Option<(u32, u32)>,
    /// The shared memory that a block of this GPU may opt into, in bytes, for example 232448.
    #[cfg_attr(feature = "cli", arg(long, value_name = "BYTES"))]
    pub shared_memory: Option<u64>,
}

/// The format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Text with a line of names, separated by commas, tabs or semicolons.
    Csv,
    /// A JSON object a line.
    Jsonl,
    /// A list of JSON objects, a document with one inside (--rows), or what an autotuner writes (docs/tables.md).
    Json,
    /// Text whose lines are rows of one column, `line`.
    Lines,
}

impl ImportParams {
    /// Checks what can be checked without the tables.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let wrong = |field, expected: &str, found: String| Err(Error::parameter(field, expected, found));
        if self.tables.is_empty() {
            return wrong("tables", "at least one table", "none".to_owned());
        }
        if self.name.is_empty() || self.name.contains(char::is_control) {
            let expected = "the name of the decision in one line, for example my_gemm";
            return wrong("name", expected, quoted(&self.name));
        }
        if self.output.exists() && !self.append {
            let expected = "a new file; write to another one, or add to this one with --append";
            return wrong("output", expected, format!("{}, which exists", self.output.display()));
        }
        Ok(())
    }

    /// Names and values of `--set`.
    pub(crate) fn constants(&self) -> Result<Vec<(&str, &str)>, Error> {
        let pairs = self.set.iter().map(|text| {
            let pair = text.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
            pair.ok_or_else(|| Error::parameter("set", "FEATURE=VALUE", quoted(text)))
        });
        pairs.collect()
    }
}

#[cfg(feature = "cli")]
fn capability(text: &str) -> Result<(u32, u32), String> {
    let number = |text: &str| text.parse::<u32>().ok();
    text.split_once('.')
        .and_then(|(major, minor)| Some((number(major)?, number(minor)?)))
        .ok_or_else(|| "expected MAJOR.MINOR, for example 9.0".to_owned())
}
