//! One file: its head, then its rows, into what the files before it added up to.

use std::io::Read;
use std::path::Path;

use rustc_hash::{FxHashMap, FxHashSet};

use super::head::Head;
use super::lines::Lines;
use super::merger::Merger;
use super::metadata::{Metadata, differences};
use super::reader::{Dirt, ReadOptions, Source};
use super::samples::{Column, Rows};
use super::{CHOICE_COLUMN, FEEDBACK_COLUMN, LogError, Place, io_error};

const SKIP_HINT: &str = "mend the row, or pass over such rows with --skip-bad-rows";

/// Reads the log that `reader` gives; `path` is its name in errors.
pub(super) fn read_into(
    merged: &mut Option<Merger>,
    path: &Path,
    reader: impl Read,
    options: ReadOptions,
) -> Result<(), LogError> {
    let mut lines = Lines::new(reader);
    let Head { metadata, schema, columns } = Head::read(path, &mut lines)?;
    let merger = match merged {
        Some(merger) => {
            agree(path, merger, &metadata)?;
            merger
        }
        None => merged.insert(Merger {
            metadata,
            schema,
            choices: Vec::new(),
            choice_ids: FxHashMap::default(),
            inputs: Vec::new(),
            input_ids: FxHashMap::default(),
            categories: FxHashSet::default(),
            samples: Vec::new(),
            sources: Vec::new(),
            dirt: Dirt::default(),
        }),
    };
    let columns = columns.iter().map(|name| match name.as_str() {
        CHOICE_COLUMN => Column::Choice,
        FEEDBACK_COLUMN => Column::Feedback,
        name => {
            // The metadata agree, so the first file has each feature too.
            let slot = merger.schema.slot(name).unwrap_or_default();
            Column::Feature { slot, kind: merger.schema.features()[slot].kind }
        }
    });
    let mut state = Rows::new(columns.collect());
    let inputs_before = merger.inputs.len();
    let mut rows = 0;
    while let Some((line, text)) = lines.next().map_err(io_error(path, "read"))? {
        if text.iter().all(u8::is_ascii_whitespace) {
            merger.dirt.blank_lines += 1;
            continue;
        }
        if options.max_rows.is_some_and(|max| rows >= max) {
            break;
        }
        let Err(fault) = state.row(text, merger) else {
            rows += 1;
            continue;
        };
        let error = LogError::Malformed {
            place: Place { path: path.to_owned(), line, column: fault.column as u64 },
            expected: fault.expected,
            found: fault.found,
            hint: SKIP_HINT.to_owned(),
        };
        if !options.skip_bad_rows {
            return Err(error);
        }
        merger.dirt.bad_rows += 1;
        if merger.dirt.examples.len() < 5 {
            merger.dirt.examples.push(error.to_string());
        }
    }
    let end = lines.finish().map_err(io_error(path, "read"))?;
    if !end.terminated {
        merger.dirt.unterminated.push(path.to_owned());
    }
    let new_inputs = (merger.inputs.len() - inputs_before) as u64;
    merger.sources.push(Source { path: path.to_owned(), hash: end.hash, rows, new_inputs });
    Ok(())
}

fn agree(path: &Path, merger: &Merger, metadata: &Metadata) -> Result<(), LogError> {
    let mut found = differences(&merger.metadata, metadata);
    // Parts of one seeded sequence, or several seeds, may be merged.
    found.retain(|d| d.key != "autoheuristic_rs.seed" && d.key != "choices");
    if found.is_empty() {
        return Ok(());
    }
    Err(LogError::Metadata {
        path: path.to_owned(),
        other: merger.sources.first().map_or_else(String::new, |s| s.path.display().to_string()),
        differences: found,
        hint: "logs of different devices or features cannot be merged; learn from each alone",
    })
}
