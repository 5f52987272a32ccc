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

/// Adds the columns of a pattern's named groups, by the names in `column`. Rows whose name does not fit are bad ones, or with `skip`
/// no rows.
///
/// # Errors
/// A pattern that is no regular expression with named groups; a table without that column, or with a column of a group's name.
pub fn split(
    path: &Path,
    table: Table,
    column: Option<&str>,
    pattern: &str,
    skip: bool,
) -> Result<Table, Error> {
    let wrong = |expected: &str, found: String| Err(Error::parameter("name_pattern", expected, found));
    let expected = "a regular expression with named groups, such as (?<n>\\d+)";
    let regex = match Regex::new(pattern) {
        Ok(regex) => regex,
        Err(e) => {
            return wrong(expected, format!("{} ({})", quoted(pattern), e.to_string().replace('\n', " ")));
        }
    };
    let groups: Vec<String> = regex.capture_names().flatten().map(str::to_owned).collect();
    if groups.is_empty() {
        return wrong(expected, quoted(pattern));
    }
    let mut columns = table.columns;
    let names: Vec<&str> = column.map_or_else(|| NAMES.to_vec(), |column| vec![column]);
    let place = names.iter().find_map(|name| columns.iter().position(|known| is_named(known, name)));
    let Some(place) = place else {
        let found = format!("none; the columns of {} are {}", path.display(), listed(&columns));
        let expected = format!("the column of the names ({})", listed(names));
        return Err(Error::parameter("name_column", expected, found));
    };
    if let Some(known) = groups.iter().find(|group| columns.contains(group) && !skip) {
        return wrong("groups with other names than those of the columns", quoted(known));
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
        let text = |group: &String| found.name(group).map_or("", |part| part.as_str().trim());
        cells.extend(groups.iter().map(|group| Cell::from(text(group))).collect::<Vec<Cell>>());
        Some(Ok(Row { number, cells }))
    });
    Ok(Table { columns, rows: Box::new(rows), ..table })
}
