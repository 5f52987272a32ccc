//! What was generated, for people.

use std::fmt;
use std::path::PathBuf;

use similar::TextDiff;

use crate::files::Files;
use crate::write::{Change, WriteMode};

/// What [`generate`](crate::generate) did or found.
#[derive(Clone, Debug)]
pub struct Report {
    /// As requested.
    pub mode: WriteMode,
    /// One for each target.
    pub generated: Vec<GeneratedFiles>,
}

/// What one target gave.
#[derive(Clone, Debug)]
pub struct GeneratedFiles {
    /// The target's name.
    pub target: &'static str,
    /// The folder of the crate.
    pub place: PathBuf,
    /// The texts by their paths below `place`.
    pub files: Files,
    /// How each stood to the disk before.
    pub changes: Vec<(String, Change)>,
}

impl GeneratedFiles {
    /// Where a file stands.
    #[must_use]
    pub fn path(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.place.clone() } else { self.place.join(path) }
    }

    /// True where the disk held exactly these files.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.changes.iter().all(|(_, change)| *change == Change::Same)
    }
}

impl Report {
    /// True where the disk held exactly what was generated.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.generated.iter().all(GeneratedFiles::is_same)
    }

    /// The differences as a unified diff, from the disk to what was generated; empty where there is none.
    #[must_use]
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
}

/// One line a target: what was done, or would be.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for generated in &self.generated {
            let (target, place) = (generated.target, generated.place.display());
            let changed = generated.changes.iter().filter(|(_, c)| *c != Change::Same).count();
            let files = generated.files.len();
            match (self.mode, changed) {
                (_, 0) => writeln!(f, "{target}: {place} is up to date ({files} files)")?,
                (WriteMode::Write, _) => {
                    writeln!(f, "{target}: wrote {place} ({files} files, {changed} changed)")?;
                }
                (WriteMode::Check, _) => {
                    writeln!(f, "{target}: {place} differs in {changed} of {files} files")?;
                }
                (WriteMode::DryRun, _) => {
                    writeln!(f, "{target}: would write {place} ({files} files, {changed} changed)")?;
                }
            }
        }
        Ok(())
    }
}
