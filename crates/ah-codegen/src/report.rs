//! The report of what was generated, for people.

use std::fmt;

use similar::TextDiff;

use crate::target::{Output, WriteMode};
use crate::write::Change;

/// The result of [`generate`](crate::generate).
#[derive(Clone, Debug)]
pub struct Report {
    /// The requested mode.
    pub mode: WriteMode,
    /// The files of each target.
    pub generated: Vec<GeneratedFiles>,
}

/// The files of one target.
#[derive(Clone, Debug)]
pub struct GeneratedFiles {
    /// The target's name.
    pub target: &'static str,
    /// How a program uses them.
    pub usage: String,
    /// The files.
    pub output: Output,
    /// Each file beside the one on disk.
    pub changes: Vec<Change>,
}

impl Report {
    /// Returns the files that differ from those on the disk.
    fn changed(&self) -> impl Iterator<Item = &Change> {
        self.generated.iter().flat_map(|generated| &generated.changes).filter(|change| !change.is_same())
    }

    /// Returns true if the disk had exactly the generated files.
    pub fn is_same(&self) -> bool {
        self.changed().next().is_none()
    }

    /// Returns the differences as a unified diff, from the disk to the generated files; empty if there is none.
    pub fn diff(&self) -> String {
        let of = |Change { path, old, new }: &Change| {
            let [old, new] = [old, new].map(|text| text.as_deref().unwrap_or_default());
            let path = path.display().to_string();
            let diff = TextDiff::from_lines(old, new);
            diff.unified_diff().context_radius(3).header(&path, &format!("{path} (generated)")).to_string()
        };
        self.changed().map(of).collect()
    }

    /// Returns the changed files, one a line.
    pub fn changed_files(&self) -> String {
        self.changed().map(|change| format!("  {}: {}\n", change.name(), change.path.display())).collect()
    }
}

/// Prints one line per target: what was done, or would be done.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for GeneratedFiles { target, usage, output, changes } in &self.generated {
            let place = output.place.display();
            let changed = changes.iter().filter(|change| !change.is_same()).count();
            let count = changes.len();
            let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
            match (self.mode, changed) {
                (_, 0) => writeln!(f, "{target}: {place} is up to date ({files})")?,
                (WriteMode::Write, _) => {
                    let is_new = changes.iter().all(|change| change.old.is_none());
                    let changed = if is_new { String::new() } else { format!(", {changed} changed") };
                    writeln!(f, "{target}: wrote {place} ({files}{changed}); {usage}")?;
                }
                (WriteMode::Check, _) => writeln!(f, "{target}: {place} differs in {changed} of {files}")?,
            }
        }
        Ok(())
    }
}
