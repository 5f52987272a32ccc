//! Choices that are command lines of any program, described in the optimization's TOML file.
//!
//! ```toml
//! name = "sort"
//! fallback = ["threads=1"]
//!
//! [[feature]]
//! name = "lines"
//! kind = "numerical"
//! integer = true
//!
//! [commands]
//! setup = "shuf -i 1-$lines -o $folder/numbers"
//! check = "sort -c -n $folder/sorted"
//! choices = { "threads=$threads" = "sort -n --parallel=$threads $folder/numbers -o $folder/sorted" }
//! parameters = { threads = [1, 2] }
//! inputs = { lines = { from = 100, to = 1000000 } }
//! ```
//!
//! Features, further columns of the inputs, parameters and `folder` are environment variables of the commands, so a value
//! is never read as script. The file's format is in `format`, a started command in `process`. `runner` measures.

mod format;
mod process;
mod runner;

pub(crate) use format::Commands;
pub(super) use format::CommandsTable;
