//! JSON: an object a row, in lines or in one document. Each line, and each document, is a record: a row, the rows of an
//! autotuner, or with `--rows` a list of rows with other values around it.

use std::collections::BTreeSet;
use std::io::{BufRead, Read as _};
use std::path::Path;

use ah_model::shown::{listed, quoted, reason};
use ah_model::{Error, Fault, RowNumber};
use indexmap::IndexSet;
use serde_json::{Map, Value as Json};

use super::json_text;
use crate::cell::{Cell, Row, Table};
use crate::error::{bad_file, bad_row};
use crate::tools::{self, Defaults, NamedRow};

/// The columns of JSON lines are those of this many first rows, which are held.
const ROWS_FOR_COLUMNS: usize = 1000;

/// Programs on Windows begin a text with this mark, which JSON does not allow.
const MARK: char = '\u{feff}';

/// A row as the values of its columns.
type JsonRow = (RowNumber, Map<String, Json>);

/// Opens a text with a JSON object a line.
pub fn open_lines(path: &Path, text: Box<dyn BufRead>, under: Option<&str>) -> Result<Table, Error> {
    let file = path.to_owned();
    let records = (1..).zip(text.lines()).filter_map(move |(number, line)| {
        let line = match line {
            Err(e) => return Some(Err(Error::io(&file, "read")(e))),
            Ok(line) => line,
        };
        let number = RowNumber::Line(number);
        let read = |line: &str| match object(line) {
            Ok(record) => Ok((number, record)),
            Err(fault) => Err(fault.at(&file, number).into()),
        };
        (!line.trim().is_empty()).then(|| read(&line))
    });
    of_records(path, records, under, ROWS_FOR_COLUMNS)
}

fn object(line: &str) -> Result<Json, Fault> {
    match json_text::parse(line.trim_start_matches(MARK)) {
        Ok(object @ Json::Object(_)) => Ok(object),
        Ok(_) => Err(bad_row("a JSON object", quoted(line))),
        Err(e) => Err(bad_row("a JSON object", format!("{} ({})", quoted(line), reason(&e)))),
    }
}

/// Opens a JSON document: a list of records, or one record.
pub fn open_document(path: &Path, mut text: Box<dyn BufRead>, under: Option<&str>) -> Result<Table, Error> {
    let mut document = String::new();
    text.read_to_string(&mut document).map_err(Error::io(path, "read"))?;
    let wrong = |fault: Fault| Error::from(fault.of_file(path));
    let document = json_text::parse_document(document.trim_start_matches(MARK))
        .map_err(|e| wrong(bad_file("a JSON document", reason(&e))))?;
    let is_record = under.is_some() || tools::find(&document).is_some();
    let records = match document {
        record if is_record => vec![record],
        Json::Array(list) => list,
        other => return Err(wrong(unknown(&other))),
    };
    let records = (1..).zip(records).map(|(number, record)| Ok((RowNumber::Row(number), record)));
    of_records(path, records, under, usize::MAX)
}

/// Returns the table of these records: rows, or with `under` lists of rows, or what a tool writes. The columns are those of the
/// first `held` rows.
fn of_records(
    path: &Path,
    records: impl Iterator<Item = Result<(RowNumber, Json), Error>> + 'static,
    under: Option<&str>,
    held: usize,
) -> Result<Table, Error> {
    let mut records = records.peekable();
    let tool = match (records.peek(), under) {
        (Some(Ok((_, record))), None) => tools::find(record),
        _ => None,
    };
    let mut defaults = Defaults { tool, ..Defaults::default() };
    let (file, under) = (path.to_owned(), under.map(str::to_owned));
    let rows = move |record: Result<(RowNumber, Json), Error>, roles: &mut Defaults| {
        let rows = record.and_then(|(number, record)| {
            // A document is one record of many rows.
            let is_document = matches!(number, RowNumber::Row(_)) && (under.is_some() || tool.is_some());
            let read = match tool {
                Some(tool) => (tool.read)(&record, roles).map_err(|fault| {
                    let expected = format!("{} with {}", tool.name, fault.expected);
                    if is_document { Fault { expected, ..fault } } else { bad_row(expected, fault.found) }
                }),
                None => rows_of(record, under.as_deref()),
            };
            let read = read.map_err(|fault| match is_document {
                true => fault.of_file(&file),
                false => fault.at(&file, number.clone()),
            })?;
            let place = |at, name: Option<String>| match name {
                Some(name) => RowNumber::Named(at, name),
                None if is_document && tool.is_none() => RowNumber::Row(at),
                None => number.clone(),
            };
            Ok((1..).zip(read).map(|(at, (name, row))| Ok((place(at, name), row))).collect())
        });
        rows.unwrap_or_else(|error| vec![Err(error)])
    };
    let mut first = Vec::new();
    // The roles are complete behind the last record of a tool.
    while (first.len() < held || tool.is_some())
        && let Some(record) = records.next()
    {
        first.extend(rows(record, &mut defaults));
    }
    // Without a good row, the first bad one is the reason.
    if first.iter().all(Result::is_err)
        && let Some(Err(error)) = first.drain(..).next()
    {
        return Err(error);
    }
    let known: Vec<&JsonRow> = first.iter().flatten().collect();
    let kernels: BTreeSet<&str> = known.iter().filter_map(|(_, row)| row.get("kernel")?.as_str()).collect();
    if tool.is_some() && kernels.len() > 1 {
        let fault = bad_file("one kernel in all rows (split the file by it)", listed(kernels));
        return Err(fault.of_file(path).into());
    }
    let mut columns = IndexSet::new();
    known.iter().for_each(|(_, row)| columns.extend(row.keys().cloned()));
    let columns: Vec<String> = columns.into_iter().collect();
    let names = columns.clone();
    let rest = records.flat_map(move |record| rows(record, &mut Defaults::default()));
    let rows = first.into_iter().chain(rest).map(move |row| {
        let (number, mut row) = row?;
        let cells = names.iter().map(|name| row.remove(name).map_or(Cell::Missing, Cell::from)).collect();
        Ok(Row { number, cells })
    });
    Ok(Table { columns, defaults, rows: Box::new(rows) })
}

/// Returns the error of a document whose rows are nowhere.
fn unknown(document: &Json) -> Fault {
    let expected = format!("a list of objects, or one of these: {}", listed(tools::names()));
    let hint = "name the keys that lead to the list of rows with --rows";
    match document.as_object() {
        Some(object) => {
            let keys = listed(object.keys().map(String::as_str));
            Fault::new(expected, format!("an object with the keys {keys}"), hint)
        }
        None => Fault::new(expected, quoted(&document.to_string()), hint),
    }
}

/// Returns the rows of a record: itself, or the objects of the list under the keys `under`, each with the values around the list.
fn rows_of(mut record: Json, under: Option<&str>) -> Result<Vec<NamedRow>, Fault> {
    let flat = |value: &Json| {
        let object =
            value.as_object().ok_or_else(|| bad_file("JSON objects as rows", quoted(&value.to_string())))?;
        let mut row = Map::new();
        flatten("", object, &mut row);
        Ok(row)
    };
    let Some(under) = under else { return Ok(vec![(None, flat(&record)?)]) };
    let found = under.split('.').try_fold(&mut record, |value, key| value.get_mut(key)).map(Json::take);
    let Some(Json::Array(list)) = found else {
        let hint = "give --rows the keys that lead to it, separated by points";
        return Err(Fault::new(format!("a list under {}", quoted(under)), "none", hint));
    };
    let around = flat(&record)?;
    let row = |value: &Json| {
        let mut row = flat(value)?;
        for (key, value) in around.iter().filter(|(_, value)| !value.is_null()) {
            row.entry(key.clone()).or_insert_with(|| value.clone());
        }
        Ok((None, row))
    };
    list.iter().map(row).collect()
}

/// Adds the values of an object to `row`; those of an object inside get its key and a point before theirs.
fn flatten(prefix: &str, object: &Map<String, Json>, row: &mut Map<String, Json>) {
    for (key, value) in object {
        let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Json::Object(inner) => flatten(&name, inner, row),
            value => drop(row.insert(name, value.clone())),
        }
    }
}
