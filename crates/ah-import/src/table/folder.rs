//! A folder of a tool: each row is a folder below it with JSON files, whose keys together are its columns.

use std::path::Path;

use ah_model::shown::{quoted, reason};
use ah_model::{Error, RowNumber};
use serde_json::Value as Json;

use super::rows::Table;
use super::{json, json_text};
use crate::error::bad_file;
use crate::params::ImportParams;
use crate::preset;
use crate::tools::Object;

/// A row, and its folder.
type FolderRow = (String, Object);

/// Opens the folder of a tool.
pub fn open(path: &Path, params: &ImportParams) -> Result<Table, Error> {
    for files in preset::folders(params) {
        let mut rows = Vec::new();
        collect(path, &files, &mut rows)?;
        if !rows.is_empty() {
            let record = |(at, (name, row))| Ok((RowNumber::Named(at, name), Json::Object(row)));
            return json::of_records(path, (1..).zip(rows).map(record), params);
        }
    }
    let files: Vec<String> = preset::folders(params).map(|files| files.join(" and ")).collect();
    let expected = format!("a table, or a folder with {} below it", files.join(", or "));
    Err(bad_file(expected, format!("the folder {}", quoted(&path.display().to_string())))
        .of_file(path)
        .into())
}

/// Adds the rows below a folder in the order of their names.
fn collect(folder: &Path, files: &[String], rows: &mut Vec<FolderRow>) -> Result<(), Error> {
    if files.iter().all(|file| folder.join(file).is_file()) {
        let mut row = Object::new();
        for file in files.iter().map(|file| folder.join(file)) {
            let text = std::fs::read_to_string(&file).map_err(Error::io(&file, "read"))?;
            let wrong = |found: String| Error::from(bad_file("a JSON object", found).of_file(&file));
            match json_text::parse_document(&text).map_err(|e| wrong(reason(&e)))? {
                Json::Object(object) => row.extend(object),
                other => return Err(wrong(quoted(&other.to_string()))),
            }
        }
        rows.push((folder.display().to_string(), row));
    }
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(Error::io(folder, "read"))? {
        let entry = entry.map_err(Error::io(folder, "read"))?;
        // A link might lead back.
        if entry.file_type().map_err(Error::io(folder, "read"))?.is_dir() {
            folders.push(entry.path());
        }
    }
    folders.sort();
    folders.iter().try_for_each(|path| collect(path, files, rows))
}
