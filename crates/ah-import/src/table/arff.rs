//! ARFF, the text format of Weka: names and types of columns, then a row a line.

use std::io::{BufRead, BufReader};
use std::path::Path;

use ah_types::artefact::open_file;

use crate::error::{Fault, ImportError, RowNumber, io_error};

/// A file in ARFF.
pub struct Arff {
    pub columns: Vec<String>,
    /// The line of each row, and a text a column; `None` where it is missing.
    pub rows: Vec<(u64, Vec<Option<String>>)>,
}

impl Arff {
    /// Opens a file and reads it.
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        let file = open_file(path).map_err(io_error(path, "read"))?;
        Self::read(path, BufReader::new(file))
    }

    /// Reads a text; `path` is for messages.
    pub fn read(path: &Path, text: impl BufRead) -> Result<Self, ImportError> {
        let (mut columns, mut rows, mut is_data) = (Vec::new(), Vec::new(), false);
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.map_err(io_error(path, "read"))?;
            let line = line.trim();
            if line.is_empty() || line.starts_with('%') {
                continue;
            }
            if !is_data {
                let (keyword, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
                match keyword.to_ascii_lowercase().as_str() {
                    "@attribute" => {
                        columns.extend(cells(rest, char::is_whitespace).into_iter().next().flatten());
                    }
                    "@data" => is_data = true,
                    _ => {}
                }
                continue;
            }
            let row = cells(line, |c| c == ',');
            if row.len() != columns.len() {
                let fault = Fault::new("", format!("{} fields", columns.len()), row.len().to_string());
                return Err(fault.at(path, RowNumber::Line(number)));
            }
            rows.push((number, row));
        }
        match is_data {
            true => Ok(Self { columns, rows }),
            false => Err(ImportError::unreadable(path, "ARFF with a line @data", "none")),
        }
    }

    /// Returns the place of a column.
    pub fn column(&self, path: &Path, name: &str) -> Result<usize, ImportError> {
        self.columns.iter().position(|column| column == name).ok_or_else(|| {
            ImportError::unreadable(path, &format!("a column {name}"), format!("{:?}", self.columns))
        })
    }
}

/// Splits a line where `separates` is true outside of quotes; `?` is a missing value.
fn cells(line: &str, separates: impl Fn(char) -> bool) -> Vec<Option<String>> {
    let (mut cells, mut cell, mut quote, mut quoted) = (Vec::new(), String::new(), None, false);
    let mut chars = line.chars();
    let finished = |cell: &mut String, quoted: &mut bool| {
        let text = std::mem::take(cell);
        let text = if std::mem::take(quoted) { text } else { text.trim().to_owned() };
        Some(text).filter(|text| text != "?")
    };
    while let Some(c) = chars.next() {
        match quote {
            Some(_) if c == '\\' => cell.extend(chars.next()),
            Some(end) if c == end => quote = None,
            Some(_) => cell.push(c),
            None if (c == '\'' || c == '"') && cell.trim().is_empty() => {
                (quote, quoted) = (Some(c), true);
                cell.clear();
            }
            None if separates(c) => cells.push(finished(&mut cell, &mut quoted)),
            // What follows a quoted text up to the next separator is space.
            None if quoted => {}
            None => cell.push(c),
        }
    }
    cells.push(finished(&mut cell, &mut quoted));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Arff, ImportError> {
        Arff::read(Path::new("a.arff"), text.as_bytes())
    }

    #[test]
    fn names_and_values_may_be_quoted() {
        let text = "% a comment\n@RELATION x\n@ATTRIBUTE 'a b' NUMERIC\n@attribute c {ok , 'not ok'}\n@DATA\n1, 'it\\'s, x'\n?,ok\n";
        let arff = read(text).unwrap();
        assert_eq!(arff.columns, ["a b", "c"]);
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(arff.rows, [(6, vec![text("1"), text("it's, x")]), (7, vec![None, text("ok")])]);
    }

    #[test]
    fn mistakes_have_a_place() {
        let error = read("@attribute a numeric\n@data\n1\n1,2\n").err().unwrap().to_string();
        assert!(error.contains("a.arff:4") && error.contains("expected 1 fields, found 2"), "{error}");
        assert!(read("a,b\n1,2\n").err().unwrap().to_string().contains("@data"));
    }
}
