//! JSON: an object a row, in lines or in one document. Each line, and each document, is a record: a row, the rows of an
//! autotuner, or with `--rows` a list of rows with other values around it.

use std::collections::BTreeSet;
use std::io::{BufRead, Read as _};
use std::path::Path;

use ah_model::shown::{listed, quoted, reason};
use ah_model::{Error, Fault, RowNumber};
use indexmap::IndexSet;
use serde_json::Value as Json;

use super::json_text;
use super::rows::{Row, Table};
use crate::cell::Cell;
use crate::error::{bad_file, bad_row};
use crate::params::ImportParams;
use crate::preset;
use crate::tools::{self, NamedRow, Object};

/// The columns of JSON lines are those of this many first rows, which are held.
const ROWS_FOR_COLUMNS: usize = 1000;

/// Programs on Windows begin a text with this mark, which JSON does not allow.
const MARK: char = '\u{feff}';

/// A row as the values of its columns.
type JsonRow = (RowNumber, Object);

/// Opens a text with a JSON object a line.
pub fn open_lines(path: &Path, text: Box<dyn BufRead>, params: &ImportParams) -> Result<Table, Error> {
    let file = path.to_owned();
    let is_blank = |line: &std::io::Result<String>| line.as_ref().is_ok_and(|line| line.trim().is_empty());
    let lines = (1..).zip(text.lines()).filter(move |(_, line)| !is_blank(line));
    let records = lines.map(move |(number, line)| {
        let line = line.map_err(Error::io(&file, "read"))?;
        let number = RowNumber::Line(number);
        let found = match json_text::parse(line.trim_start_matches(MARK)) {
            Ok(object @ Json::Object(_)) => return Ok((number, object)),
            Ok(_) => quoted(&line),
            Err(e) => format!("{} ({})", quoted(&line), reason(&e)),
        };
        Err(bad_row("a JSON object", found).at(&file, number).into())
    });
    of_records(path, records, params)
}

/// Opens a JSON document: a list of records, or one record.
pub fn open_document(path: &Path, mut text: Box<dyn BufRead>, params: &ImportParams) -> Result<Table, Error> {
    let mut document = String::new();
    text.read_to_string(&mut document).map_err(Error::io(path, "read"))?;
    let wrong = |fault: Fault| Error::from(fault.of_file(path));
    let document = json_text::parse_document(document.trim_start_matches(MARK))
        .map_err(|e| wrong(bad_file("a JSON document", reason(&e))))?;
    let is_of_tool = preset::find(params, |mark| document.pointer(mark).is_some()).is_some();
    let records = match document {
        record if is_of_tool || params.rows.is_some() => vec![record],
        Json::Array(list) => list,
        other => return Err(wrong(unknown(&other))),
    };
    let records = (1..).zip(records).map(|(number, record)| Ok((RowNumber::Row(number), record)));
    of_records(path, records, params)
}

/// The table of these records: rows, or lists of rows, or what a tool writes. The columns are those of the first rows.
pub fn of_records(
    path: &Path,
    records: impl Iterator<Item = Result<(RowNumber, Json), Error>> + 'static,
    params: &ImportParams,
) -> Result<Table, Error> {
    let mut records = records.peekable();
    let first = records.peek().and_then(|record| record.as_ref().ok());
    let has = |mark: &str| first.is_some_and(|(_, record)| record.pointer(mark).is_some());
    let preset = preset::found_for(path, params, preset::find(params, has))?;
    let under = params.rows.clone().or_else(|| preset.rows.clone());
    let of_tool = tools::reader(&preset.name).filter(|_| under.is_none());
    // A tool's columns are its features. A document is in memory.
    let is_in_memory = !matches!(first, None | Some((RowNumber::Line(_), _)));
    let held = if is_in_memory || of_tool.is_some() { usize::MAX } else { ROWS_FOR_COLUMNS };
    let file = path.to_owned();
    let about = preset.about.clone();
    let read = move |(number, record): (RowNumber, Json)| {
        // A document is one record of many rows.
        let is_document = matches!(number, RowNumber::Row(_)) && (under.is_some() || of_tool.is_some());
        let rows = match of_tool {
            None => rows_of(record, under.as_deref()),
            Some(of_tool) => of_tool(&record)
                .map(|rows| rows.into_iter().map(|(name, row)| (name, flat(&row))).collect())
                .map_err(|fault| {
                    let expected = format!("{about} with {}", fault.expected);
                    if is_document { Fault { expected, ..fault } } else { bad_row(expected, fault.found) }
                }),
        };
        let rows = rows.map_err(|fault| match is_document {
            true => fault.of_file(&file),
            false => fault.at(&file, number.clone()),
        })?;
        let row = |(at, (name, values)): (u64, NamedRow)| {
            let place = match name {
                Some(name) => RowNumber::Named(at, name),
                None if is_document && of_tool.is_none() => RowNumber::Row(at),
                None => number.clone(),
            };
            Ok((place, values))
        };
        Ok((1..).zip(rows).map(row).collect())
    };
    let rows = move |record: Result<_, Error>| {
        record.and_then(&read).unwrap_or_else(|error| vec![Err::<JsonRow, Error>(error)])
    };
    let mut first = Vec::new();
    while first.len() < held
        && let Some(record) = records.next()
    {
        first.extend(rows(record));
    }
    // Without a good row, the first bad one is the reason.
    if first.iter().all(Result::is_err)
        && let Some(Err(error)) = first.drain(..).next()
    {
        return Err(error);
    }
    let known: Vec<&JsonRow> = first.iter().flatten().collect();
    let kernels: BTreeSet<&str> = known.iter().filter_map(|(_, row)| row.get("kernel")?.as_str()).collect();
    if of_tool.is_some() && kernels.len() > 1 {
        let fault = bad_file("one kernel in all rows (split the file by it)", listed(kernels));
        return Err(fault.of_file(path).into());
    }
    let names: IndexSet<String> = known.iter().flat_map(|(_, row)| row.keys().cloned()).collect();
    let columns = names.iter().cloned().collect();
    let rows = first.into_iter().chain(records.flat_map(rows)).map(move |row| {
        let (number, mut row) = row?;
        let cells = names.iter().map(|name| row.remove(name).map_or(Cell::Missing(""), Cell::from)).collect();
        Ok(Row { number, cells })
    });
    Ok(Table { columns, preset, rows: Box::new(rows) })
}

/// The error of a document whose rows are nowhere.
fn unknown(document: &Json) -> Fault {
    let expected = format!("a list of objects, or a file of one of these: {}", listed(preset::names()));
    let hint = "name the keys that lead to the list of rows with --rows";
    let found = match document.as_object() {
        Some(object) => format!("an object with the keys {}", listed(object.keys())),
        None => quoted(&document.to_string()),
    };
    Fault::new(expected, found, hint)
}

/// The column with the key of a row, where `--rows` goes through the values of an object.
const KEY: &str = "key";

/// The rows of a record: itself, or those under the keys `under`, each with the values around it.
fn rows_of(record: Json, under: Option<&str>) -> Result<Vec<NamedRow>, Fault> {
    let path = under.unwrap_or_default();
    let keys: Vec<&str> = path.split('.').filter(|key| !key.is_empty()).collect();
    if keys.is_empty() {
        return Ok(vec![(None, row(&record, &Object::new())?)]);
    }
    let mut rows = Vec::new();
    if !collect_rows(record, &keys, &Object::new(), &mut rows)? {
        let hint = "give --rows the keys that lead to it, separated by points; * stands for all keys";
        return Err(Fault::new(format!("a list under {}", quoted(path)), "none", hint));
    }
    Ok(rows)
}

/// Adds the rows under `keys` in a value; lists on the way are gone through. `around` are the values around it. Returns whether there was
/// a list.
fn collect_rows(
    value: Json,
    keys: &[&str],
    around: &Object,
    rows: &mut Vec<NamedRow>,
) -> Result<bool, Fault> {
    match (value, keys) {
        (Json::Array(list), []) => {
            for value in list {
                rows.push((None, row(&value, around)?));
            }
            Ok(true)
        }
        (Json::Array(list), keys) => {
            let mut found = list.is_empty();
            for value in list {
                found |= collect_rows(value, keys, around, rows)?;
            }
            Ok(found)
        }
        (Json::Object(object), ["*", rest @ ..]) => {
            for (key, value) in object {
                let mut inside = around.clone();
                inside.insert(KEY.to_owned(), key.clone().into());
                match rest {
                    // The values of the object are the rows.
                    [] => rows.push((Some(key), row(&value, &inside)?)),
                    rest => drop(collect_rows(value, rest, &inside, rows)?),
                }
            }
            Ok(true)
        }
        (Json::Object(mut object), [key, rest @ ..]) => {
            let Some(value) = object.remove(*key) else { return Ok(false) };
            let mut inside = around.clone();
            inside.extend(flat(&object).into_iter().filter(|(_, value)| !value.is_null()));
            collect_rows(value, rest, &inside, rows)
        }
        _ => Ok(false),
    }
}

/// The columns of a row: those of its object or list, and the values around it under names that the row itself lacks.
fn row(value: &Json, around: &Object) -> Result<Object, Fault> {
    let mut row = match value {
        Json::Object(object) => flat(object),
        // The values of a list have their places as names.
        Json::Array(list) if !list.is_empty() => {
            flat(&(0..).zip(list).map(|(at, value): (usize, _)| (at.to_string(), value.clone())).collect())
        }
        value => return Err(bad_file("JSON objects as rows", quoted(&value.to_string()))),
    };
    for (name, value) in around {
        row.entry(name.clone()).or_insert_with(|| value.clone());
    }
    Ok(row)
}

/// The values of an object, and of the objects in it.
fn flat(object: &Object) -> Object {
    let mut row = Object::new();
    flatten("", object, &mut row);
    row
}

/// Adds the values of an object to `row`; those of an object inside get its key and a point before theirs. A list of objects with names,
/// such as `[{"name": "n", "value": 3}]`, is an object.
fn flatten(prefix: &str, object: &Object, row: &mut Object) {
    for (key, value) in object {
        let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Json::Object(inner) => flatten(&name, inner, row),
            Json::Array(list) => match named_values(list) {
                Some(inner) => flatten(&name, &inner, row),
                None => drop(row.insert(name, value.clone())),
            },
            value => drop(row.insert(name, value.clone())),
        }
    }
}

/// A list of objects that each have a name as one object: `{"n": 3}` of `[{"Name": "n", "Value": 3}]`. nvbench names its
/// summaries by a `tag`.
fn named_values(list: &[Json]) -> Option<Object> {
    const NAMES: [&str; 3] = ["tag", "name", "Name"];
    let mut inner = Object::new();
    for value in list {
        let mut object = value.as_object()?.clone();
        let name = NAMES.iter().find_map(|name| object.remove(*name))?;
        let value =
            ["value", "Value"].iter().find_map(|value| object.remove(*value)).unwrap_or(Json::Object(object));
        // A name twice would lose a value.
        inner.insert(name.as_str()?.to_owned(), value).is_none().then_some(())?;
    }
    (!inner.is_empty()).then_some(inner)
}
