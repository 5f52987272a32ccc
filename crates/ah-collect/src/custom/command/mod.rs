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
//! setup = "shuf -i 1-{lines} -o {folder}/numbers"
//! check = "sort -c -n {folder}/sorted"
//! choices = { "threads={threads}" = "sort -n --parallel={threads} {folder}/numbers -o {folder}/sorted" }
//! parameters = { threads = [1, 2] }
//! inputs = { lines = { from = 100, to = 1000000 } }
//! ```
//!
//! The file's format is in `format`, a command with `{names}` in `template`, a started command in
//! `process`. `runner` measures.

mod format;
mod process;
mod runner;
mod template;

pub(crate) use format::Commands;
pub(super) use format::CommandsTable;
