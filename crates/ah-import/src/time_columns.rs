//! The columns of times: what the flags and their names say that their numbers are.

use ah_model::Error;
use ah_model::shown::{listed, quoted};
use indexmap::IndexSet;

use crate::column::Column;
use crate::named::{self, Named};
use crate::params::ImportParams;
use crate::quantity::Quantity;
use crate::times::TimeColumn;
use crate::words;

/// What is expected where nothing says what the numbers are.
pub const UNITS: &str = "the unit of the times (ps, ns, us, ms, s, min, h, or a number of one, as 0.4ns for the cycles of 2.5 GHz), or \
                         --higher-is-better for rates";

/// The columns with what their numbers are, and in a wide table with the names of the choices.
///
/// # Errors
/// A question, where the names say something that the flags do not answer.
pub fn of(
    times: Vec<Column>,
    params: &ImportParams,
    rows_have_units: bool,
) -> Result<Vec<TimeColumn>, Error> {
    let quantities = quantities(params, &times, rows_have_units)?;
    let choices = choice_names(&times, &quantities, params);
    let times = times.into_iter().zip(quantities).zip(choices);
    Ok(times.map(|((column, named), choice)| TimeColumn { column, choice, named }).collect())
}

/// Whether a column of this name has units: `time_unit`, `Unit`, `scoreUnit`.
pub fn names_units(column: &str) -> bool {
    let last = words::words(column).pop().map(str::to_lowercase).unwrap_or_default();
    last.ends_with("unit") || last == "units"
}

/// The quantity of each column, by the flags or the names of the columns. In a wide table the names are those of choices:
/// they say it only where each has a unit.
///
/// # Errors
/// A question, where the names say something that the flags do not answer.
fn quantities(
    params: &ImportParams,
    times: &[Column],
    rows_have_units: bool,
) -> Result<Vec<Option<Quantity>>, Error> {
    let named: Vec<Named> = times.iter().map(|column| named::of(&column.name)).collect();
    let columns_that = |are: fn(&Named) -> bool| -> Vec<&String> {
        times.iter().zip(&named).filter(|(_, named)| are(named)).map(|(column, _)| &column.name).collect()
    };
    let of_rates = columns_that(|named| matches!(named, Ok(Some(Quantity::Rate(_)))));
    let of_times = columns_that(|named| matches!(named, Ok(Some(Quantity::Time(_)))));
    let with_units = columns_that(|named| matches!(named, Ok(Some(_))));
    let unit = |expected: &str, found: String| Err(Error::parameter("unit", expected, found));
    if let Some(unit_of_all) = params.unit {
        let mut others = named.iter().flatten().flatten();
        let first = others.next();
        if others.any(|named| Some(named) != first) && !rows_have_units {
            let found = format!("{unit_of_all}, and columns {}", listed(with_units));
            return unit("to be left out, as the columns name units of their own", found);
        }
        return Ok(vec![Some(Quantity::Time(unit_of_all)); times.len()]);
    }
    for (Column { name, .. }, named) in times.iter().zip(&named).filter(|_| !params.wide) {
        if let Some(word) = words::spread(name) {
            let expected = "a column of times (or --unit, which says that these are times)";
            let found = format!("{}, and {word} says how far times differ", quoted(name));
            return Err(Error::parameter("time", expected, found));
        }
        if let Err(part) = named
            && !params.higher_is_better
            && !rows_have_units
        {
            let found = format!("column {}, and {} is no unit that import knows", quoted(name), quoted(part));
            return unit(UNITS, found);
        }
    }
    let are_named = with_units.len() == times.len() && (of_rates.is_empty() || of_times.is_empty());
    // Names of choices in a table whose rows or flags say what its numbers are.
    let are_choices = params.wide && (rows_have_units || params.higher_is_better && !are_named);
    if with_units.is_empty() || are_choices || rows_have_units && !are_named {
        return Ok(vec![None; times.len()]);
    }
    let rates = |expected: &str, found: String| Err(Error::parameter("higher_is_better", expected, found));
    // `gemm_s` of a wide table may be a choice in single precision, or a time in seconds.
    let is_bare_s = |name: &&String| name.ends_with('s') && words::words(name).last() == Some(&"s");
    let may_be_single = params.wide && of_times.iter().any(is_bare_s);
    match (are_named, params.higher_is_better) {
        (true, false) if !of_rates.is_empty() => rates(
            "to be given, as the name of the column says that its numbers are rates (or --unit, which says that they are times)",
            format!("none, and column {}", listed(of_rates)),
        ),
        (true, true) if !of_times.is_empty() => rates("a column of rates", listed(of_times)),
        (true, _) if !may_be_single => Ok(named.into_iter().map(Result::unwrap_or_default).collect()),
        _ => unit(UNITS, format!("none, and columns {}", listed(with_units))),
    }
}

/// The names of the choices of a wide table: those of the columns without their units, where they stay distinct.
fn choice_names(times: &[Column], quantities: &[Option<Quantity>], params: &ImportParams) -> Vec<String> {
    let says_unit = params.unit.is_none() && quantities.iter().all(Option::is_some);
    let stem = |column: &Column| {
        let stem = named::without_unit(&column.name).filter(|stem| !stem.is_empty())?;
        (says_unit || column.name.ends_with([')', ']'])).then(|| stem.to_owned())
    };
    let stems: Option<IndexSet<String>> = times.iter().map(stem).collect();
    let distinct = stems.filter(|stems| stems.len() == times.len());
    let names = || times.iter().map(|column| column.name.clone()).collect();
    distinct.map_or_else(names, Vec::from_iter)
}
