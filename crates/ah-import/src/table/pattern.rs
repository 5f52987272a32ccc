//! `--name-pattern`: columns out of the parts of a name, such as `n` of `BM_sort/64`.

use std::path::Path;

use ah_model::shown::{listed, quoted};
use ah_model::{Error, Fault};
use regex::Regex;

use super::rows::{Row, Table};
use crate::cell::Cell;
use crate::column::is_named;

/// Columns that have the names of benchmarks, where no flag says which one.
const NAMES: [&str; 6] = ["name", "run_name", "Name", "benchmark", "Benchmark", "command"];

/// The regular expression of a pattern with named groups.
///
/// # Errors
/// A pattern that is none, or has no named group.
pub fn parse(pattern: &str) -> Result<Regex, Error> {
    let wrong = |found: String| {
        Error::parameter("name_pattern", "a regular expression with named groups, such as (?<n>\\d+)", found)
    };
    let regex = Regex::new(pattern)
        .map_err(|e| wrong(format!("{} ({})", quoted(pattern), e.to_string().replace('\n', " "))))?;
    if regex.capture_names().flatten().next().is_none() {
        return Err(wrong(quoted(pattern)));
    }
    Ok(regex)
}

/// Adds the columns of a pattern's named groups, by the names in `column`. Rows whose name does not fit are bad ones, or with `skip`
/// no rows.
///
/// # Errors
/// A table without that column, or with a column of a group's name.
pub fn split(
    path: &Path,
    table: Table,
    column: Option<&str>,
    regex: Regex,
    skip: bool,
) -> Result<Table, Error> {
    let mut columns = table.columns;
    let names: Vec<&str> = column.map_or_else(|| NAMES.to_vec(), |column| vec![column]);
    let place = names.iter().find_map(|name| columns.iter().position(|known| is_named(known, name)));
    let Some(place) = place else {
        let found = format!("none; the columns of {} are {}", path.display(), listed(&columns));
        return Err(Error::parameter(
            "name_column",
            format!("the column of the names ({})", listed(names)),
            found,
        ));
    };
    let groups: Vec<String> = regex.capture_names().flatten().map(str::to_owned).collect();
    if let Some(known) = groups.iter().find(|group| columns.contains(group) && !skip) {
        return Err(Error::parameter(
            "name_pattern",
            "groups with other names than those of the columns",
            quoted(known),
        ));
    }
    let name = columns[place].clone();
    columns.extend(groups.iter().cloned());
    let path = path.to_owned();
    let rows = table.rows.filter_map(move |row| {
        let Row { number, mut cells } = match row {
            Ok(row) => row,
            Err(error) => return Some(Err(error)),
        };
        let text = cells[place].as_text().unwrap_or_default();
        let Some(found) = regex.captures(text) else {
            let hint =
                "correct --name-pattern, leave such rows out with --where, or skip them with --skip-bad-rows";
            let fault =
                Fault::new(format!("a name that fits {}", quoted(regex.as_str())), quoted(text), hint);
            return (!skip).then(|| Err(fault.in_column(&name).at(&path, number).into()));
        };
        let parts: Vec<Cell> = groups
            .iter()
            .map(|group| found.name(group).map_or(Cell::Missing(""), |part| part.as_str().into()))
            .collect();
        cells.extend(parts);
        Some(Ok(Row { number, cells }))
    });
    Ok(Table { columns, rows: Box::new(rows), ..table })
}
