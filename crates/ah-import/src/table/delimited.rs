//! CSV and similar formats: the header shows whether commas, tabs, semicolons, bars or spaces separate the cells.

use std::io::{BufRead, Read};
use std::path::Path;

use ah_model::shown::quoted;
use ah_model::{Error, Fault, RowNumber};

use super::rows::{Row, Table};
use crate::cell::Cell;
use crate::error::{bad_file, bad_row, bad_row_or};
use crate::params::ImportParams;
use crate::preset::{self, Preset};

/// The most bytes of the line of names.
const MOST_HEADER: u64 = 64 << 20;

/// Opens a text with a line of names.
pub fn open(path: &Path, mut text: Box<dyn BufRead>, params: &ImportParams) -> Result<Table, Error> {
    let (header, before) = names(path, &mut text)?;
    let delimiter = delimiter(&header);
    let crlf = header.ends_with(b"\r\n");
    // Several spaces between cells are one.
    let shrink = move |record: &mut csv::StringRecord| {
        if delimiter == b' ' {
            *record = record.iter().filter(|cell| !cell.is_empty()).collect();
        }
    };
    // Where the names are padded, so are the cells, and no name begins with a space.
    let is_padded = header.windows(2).any(|pair| pair == [delimiter, b' '] || pair == [b' ', delimiter]);
    // Each line then ends as the first one does, and a line is counted for it.
    let end: &[u8] = if crlf { b"\r\n" } else { b"\n" };
    let all = std::io::Cursor::new(header).chain(text).chain(end);
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .flexible(true)
        .trim(csv::Trim::Headers)
        .from_reader(all);
    let mut header = reader.headers().map_err(|e| broken(path, e, 1 + before))?.clone();
    shrink(&mut header);
    let columns: Vec<String> = header.iter().map(str::to_owned).collect();
    if columns.iter().all(String::is_empty) {
        return Err(bad_file("a line of column names", "nothing").of_file(path).into());
    }
    let has = |mark: &str| columns.iter().any(|column| column == mark);
    let preset = preset::found_for(path, params, preset::find(params, has))?;
    // Markdown has quotes and bold text.
    let cell = move |text: &str| match delimiter {
        b'|' => Cell::from(text.trim().trim_matches(['`', '*'])),
        _ if is_padded => Cell::from(text.trim()),
        _ => Cell::from(text),
    };
    let path = path.to_owned();
    let mut record = csv::StringRecord::new();
    let width = columns.len();
    let rows = std::iter::from_fn(move || {
        loop {
            let read = reader.read_record(&mut record);
            // Behind the line of the record, whose cells may have line ends. The line feed of CRLF is not read yet.
            let behind = before + reader.position().line() + u64::from(crlf);
            let inside = record.iter().flat_map(str::bytes).filter(|b| *b == b'\n').count() as u64;
            let number = RowNumber::Line(behind - 1 - inside);
            shrink(&mut record);
            return match read {
                Ok(false) => None,
                Ok(true) if is_no_row(&record, width) => continue,
                Ok(true) => Some(match check(&record, width) {
                    None => Ok(Row { number, cells: record.iter().map(cell).collect() }),
                    Some(fault) => Err(fault.at(&path, number).into()),
                }),
                Err(e) => Some(Err(broken(&path, e, behind - 1))),
            };
        }
    });
    Ok(Table { columns, preset, rows: Box::new(rows) })
}

/// Reads the line of names. Returns it with the number of lines before it: comments, and the `sep=;` of a spreadsheet.
fn names(path: &Path, text: &mut Box<dyn BufRead>) -> Result<(Vec<u8>, u64), Error> {
    let mut before = 0;
    loop {
        let mut line = Vec::new();
        let read = text.by_ref().take(MOST_HEADER).read_until(b'\n', &mut line);
        if read.map_err(Error::io(path, "read"))? as u64 == MOST_HEADER {
            let found = format!("a first line of {} MiB", MOST_HEADER >> 20);
            return Err(bad_file("a line of column names", found).of_file(path).into());
        }
        let next = text.fill_buf().map_err(Error::io(path, "read"))?;
        let next = next.split(|b| *b == b'\n').next().unwrap_or_default();
        let count = |line: &[u8]| line.iter().filter(|b| **b == delimiter(next)).count();
        if line.starts_with(b"#") && count(&line) > 0 && count(&line) == count(next) {
            // As numpy's savetxt writes names.
            line.remove(0);
        }
        if !line.starts_with(b"#") && !line.starts_with(b"sep=") {
            return Ok((line, before));
        }
        before += 1;
    }
}

/// Whether a record is a comment, or the line below the names in Markdown.
fn is_no_row(record: &csv::StringRecord, width: usize) -> bool {
    let is_rule = |cell: &str| cell.bytes().all(|b| b"-:=+ ".contains(&b));
    let has_rule = || record.iter().any(|cell| cell.contains("--"));
    record.len() != width && record.get(0).is_some_and(|cell| cell.starts_with('#'))
        || record.iter().all(is_rule) && has_rule()
}

/// The fault of a record in a table with `width` columns, if it has one.
fn check(record: &csv::StringRecord, width: usize) -> Option<Fault> {
    // To CSV such a quote is a character like others, and a separator behind it ends the cell.
    let is_cut = record.len() != width;
    let is_quoted = |cell: &&str| {
        let text = cell.trim();
        cell.starts_with(' ') && text.starts_with('"') && (is_cut || text.len() > 1 && text.ends_with('"'))
    };
    if let Some(cell) = record.iter().find(is_quoted) {
        let found = format!("a space before it ({})", quoted(cell));
        return Some(bad_row_or("remove the space", "a quote directly behind the separator", found));
    }
    is_cut.then(|| bad_row(format!("{width} fields"), record.len().to_string()))
}

/// The most frequent of the usual delimiters in the header; spaces if it has none.
fn delimiter(header: &[u8]) -> u8 {
    let count = |d: &u8| header.iter().filter(|b| *b == d).count();
    // The last of equally frequent ones wins.
    let most = [b'|', b';', b'\t', b','].into_iter().max_by_key(count).filter(|most| count(most) > 0);
    most.unwrap_or(if header.trim_ascii().contains(&b' ') { b' ' } else { b',' })
}

fn broken(path: &Path, error: csv::Error, line: u64) -> Error {
    let csv::ErrorKind::Utf8 { err, .. } = error.kind() else {
        return Error::io(path, "read")(error.into());
    };
    let hint = "convert the table (iconv -f UTF-16 -t UTF-8, or -f LATIN1)";
    let found = format!("another byte in field {}", err.field() + 1);
    bad_row_or(hint, "text in UTF-8", found).at(path, RowNumber::Line(line)).into()
}

/// Opens a text whose lines are rows of one column, `line`.
pub fn open_lines(path: &Path, text: Box<dyn BufRead>, preset: Preset) -> Table {
    let file = path.to_owned();
    let rows = (1..).zip(text.lines()).map(move |(number, line)| {
        let line = line.map_err(Error::io(&file, "read"))?;
        Ok(Row { number: RowNumber::Line(number), cells: vec![Cell::Text(line)] })
    });
    Table { columns: vec!["line".to_owned()], preset, rows: Box::new(rows) }
}
