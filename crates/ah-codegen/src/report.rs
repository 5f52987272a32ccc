//! The report of what was generated, for people.

use std::fmt;
use std::path::PathBuf;

use serde_json::json;
use similar::TextDiff;

use crate::files::Files;
use crate::write::{Change, WriteMode};

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
    /// The folder of the crate.
    pub place: PathBuf,
    /// The texts by their paths below `place`.
    pub files: Files,
    /// The slots of the logged features that a caller gives, with their identifiers.
    pub signature: Vec<(usize, String)>,
    /// The change of each file against the disk.
    pub changes: Vec<(String, Change)>,
}

impl GeneratedFiles {
    /// Returns the path of a file.
    pub fn path(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.place.clone() } else { self.place.join(path) }
    }

    /// Returns true if the disk had exactly these files.
    pub fn is_same(&self) -> bool {
        self.changes.iter().all(|(_, change)| *change == Change::Same)
    }
}

impl Report {
    /// Returns true if the disk had exactly the generated files.
    pub fn is_same(&self) -> bool {
        self.generated.iter().all(GeneratedFiles::is_same)
    }

    /// Returns the differences as a unified diff, from the disk to the generated files; empty if there is
    /// none.
    pub fn diff(&self) -> String {
        let mut text = String::new();
        for generated in &self.generated {
            for (path, change) in &generated.changes {
                let new = generated.files.get(path).map_or("", String::as_str);
                let old = match change {
                    Change::Same => continue,
                    Change::New => "",
                    Change::Differs(old) | Change::Obsolete(old) => old,
                };
                let path = generated.path(path).display().to_string();
                let diff = TextDiff::from_lines(old, new);
                text.push_str(
                    &diff
                        .unified_diff()
                        .context_radius(3)
                        .header(&path, &format!("{path} (generated)"))
                        .to_string(),
                );
            }
        }
        text
    }

    /// Returns the changed files, one a line.
    pub fn changed_files(&self) -> String {
        let line = |generated: &GeneratedFiles, path: &str, change: &Change| {
            format!("  {}: {}\n", change.name(), generated.path(path).display())
        };
        let of = |generated: &GeneratedFiles| -> String {
            let changed = generated.changes.iter().filter(|(_, change)| *change != Change::Same);
            changed.map(|(path, change)| line(generated, path, change)).collect()
        };
        self.generated.iter().map(of).collect()
    }

    /// Returns the report as JSON: for each target, its place and the change of each file; under
    /// [`WriteMode::Check`] also the diff.
    pub fn json(&self) -> serde_json::Value {
        let of = |generated: &GeneratedFiles| {
            let file = |(path, change): &(String, Change)| json!({ "path": generated.path(path), "change": change.name() });
            let files: Vec<_> = generated.changes.iter().map(file).collect();
            json!({ "target": generated.target, "place": generated.place, "files": files })
        };
        let targets: Vec<_> = self.generated.iter().map(of).collect();
        let diff = (self.mode == WriteMode::Check).then(|| self.diff());
        json!({ "mode": self.mode, "same": self.is_same(), "targets": targets, "diff": diff })
    }
}

/// Prints one line per target: what was done, or would be done.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for generated in &self.generated {
            let (target, place) = (generated.target, generated.place.display());
            let changed = generated.changes.iter().filter(|(_, c)| *c != Change::Same).count();
            let count = generated.files.len();
            let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
            match (self.mode, changed) {
                (_, 0) => writeln!(f, "{target}: {place} is up to date ({files})")?,
                (WriteMode::Write, _) => {
                    let is_new = generated.changes.iter().all(|(_, change)| *change == Change::New);
                    let changed = if is_new { String::new() } else { format!(", {changed} changed") };
                    let usage = crate::target(target).map(|target| target.usage(&generated.place));
                    writeln!(f, "{target}: wrote {place} ({files}{changed}); {}", usage.unwrap_or_default())?;
                }
                (WriteMode::Check, _) => {
                    writeln!(f, "{target}: {place} differs in {changed} of {files}")?;
                }
                (WriteMode::DryRun, _) => {
                    writeln!(f, "{target}: would write {place} ({files}, {changed} changed)")?;
                }
            }
        }
        Ok(())
    }
}
