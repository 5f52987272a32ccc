//! Reads a cell of times.

use ah_model::Fault;
use ah_model::shown::{cut, quoted};

use crate::cell::Cell;
use crate::column::Column;
use crate::error::bad_row;
use crate::number;
use crate::params::ImportParams;
use crate::quantity::Quantity;
use crate::words::is_time;

/// The outcome of timing a choice once: milliseconds, infinite if it failed; `None` if it was not measured.
pub type Timing = Option<f64>;

/// A failure.
pub const FAILED: Timing = Some(f64::INFINITY);

/// A column of times.
#[derive(Clone, Debug)]
pub struct TimeColumn {
    pub column: Column,
    /// In a wide table, the choice.
    pub choice: String,
    /// What a flag, the column's name or the tool says that its numbers are.
    pub named: Option<Quantity>,
}

/// What the times of the rows so far have shown.
#[derive(Debug, Default)]
pub struct SeenTimes {
    /// What the first time is. Rates are in its amount.
    pub first: Option<Quantity>,
    /// Whether a cell names its unit.
    pub has_own_units: bool,
    /// The greatest time and its text.
    pub greatest: (f64, String),
}

impl ImportParams {
    /// Adds the timings in a cell of a column to `timings`. `of_row` is what the row says that its times are.
    pub fn read_times(
        &self,
        column: &TimeColumn,
        cell: &Cell,
        of_row: &Quantity,
        seen: &mut SeenTimes,
        timings: &mut Vec<Timing>,
    ) -> Result<(), Fault> {
        let Cell::List(list) = cell else {
            timings.push(self.time(column, cell, of_row, seen)?);
            return Ok(());
        };
        if list.iter().any(|cell| matches!(cell, Cell::List(_))) {
            let hint = format!(
                "name the place of the times in the list, for example --time {}.0",
                cut(&column.column.name, 60)
            );
            let expected = "a list of times, not one with lists inside";
            return Err(Fault::new(expected, cell.shown(), hint));
        }
        list.iter().try_for_each(|cell| self.read_times(column, cell, of_row, seen, timings))
    }

    fn time(
        &self,
        column: &TimeColumn,
        cell: &Cell,
        of_row: &Quantity,
        seen: &mut SeenTimes,
    ) -> Result<Timing, Fault> {
        let text = cell.as_text().unwrap_or_default();
        if self.is_failed(text) {
            return Ok(FAILED);
        }
        if cell.is_missing() {
            return Ok(self.failed.as_ref().and(FAILED));
        }
        let (number, own) = split_unit(text);
        let own = match own.is_empty() || number.is_empty() || number::read(text, self.decimal).is_some() {
            true => None,
            false => Some(Quantity::of_unit(own).ok_or_else(|| self.fault(cell, of_row))?),
        };
        // A unit leaves `84.5` of `84.5 ± 1.7` too; `inf` is a word.
        let number = if number.is_empty() { text } else { number };
        seen.has_own_units |= own.is_some();
        let quantity = match &own {
            Some(own) => {
                self.agreed(column, own, "leave the flag out, and each time is taken in its own unit")?
            }
            None => of_row,
        };
        if let Some(first) = seen.first.as_ref().filter(|first| !quantity.agrees(first)) {
            let hint = "keep the rows of one kind with --where";
            return Err(Fault::new(format!("{first}, as in the rows before"), quantity.to_string(), hint));
        }
        let x = number::read(number, self.decimal).ok_or_else(|| self.fault(cell, of_row))?;
        let ms = quantity.ms(x, seen.first.as_ref().or(Some(quantity)));
        // An infinite rate has the time 0. A number that is too large in milliseconds is not a failure.
        if !(ms > 0.0 && (ms.is_finite() || x.is_infinite())) {
            return Err(self.fault(cell, quantity));
        }
        if seen.first.is_none() {
            seen.first = Some(quantity.clone());
        }
        if ms.is_finite() && ms > seen.greatest.0 {
            seen.greatest = (ms, text.to_owned());
        }
        Ok(Some(ms))
    }

    /// The quantity that a row or a cell gives its number, where the flags and the name of the column do not contradict.
    pub fn agreed<'q>(
        &self,
        column: &TimeColumn,
        found: &'q Quantity,
        hint: &str,
    ) -> Result<&'q Quantity, Fault> {
        let expected = match (&column.named, found) {
            (Some(Quantity::Time(named)), found) if *found != Quantity::Time(*named) => named.to_string(),
            (Some(Quantity::Rate(_)), Quantity::Time(_)) | (None, Quantity::Time(_))
                if self.higher_is_better =>
            {
                "rates".to_owned()
            }
            _ => return Ok(found),
        };
        Err(Fault::new(
            format!("{expected}, as the flags or the column of times say"),
            found.to_string(),
            hint,
        ))
    }

    /// Whether a text stands for a failure, or is a number that does.
    fn is_failed(&self, text: &str) -> bool {
        let number = || ah_types::number(split_unit(text).0);
        let same = |failed: &String| ah_types::number(failed).is_some_and(|x| number() == Some(x));
        let mut words = self.failed.iter().flatten().filter(|failed| !failed.is_empty());
        words.any(|failed| failed == text || same(failed))
    }

    fn fault(&self, cell: &Cell, quantity: &Quantity) -> Fault {
        let expected = match quantity {
            Quantity::Rate(_) => "a rate above 0, or nothing where it was not measured".to_owned(),
            Quantity::Time(unit) => {
                format!(
                    "a time in {unit} above 0, inf where the choice failed, or nothing where it was not measured"
                )
            }
        };
        let fault = bad_row(expected, cell.shown());
        let text = cell.as_text().unwrap_or_default();
        let number = number::read(text, self.decimal);
        let hint = if Quantity::of_unit(text).is_some() || is_time(text) {
            "remove this row of names or units, and give --unit; below names in another order, split the file"
                .to_owned()
        } else if number::is_localized(text) || number::is_localized(split_unit(text).0) {
            number::hint(split_unit(text).0).to_owned()
        } else if text.starts_with(char::is_alphabetic) || number.is_some() {
            let failed = quoted(&format!("--failed={text}"));
            let rounded = match number {
                Some(0.0) => " (a time that was rounded to 0 is none: write half of the last digit)",
                _ => "",
            };
            format!("give {failed} if the choice failed here{rounded}, or {}", fault.hint)
        } else {
            return fault;
        };
        Fault { hint, ..fault }
    }
}

/// Splits `1,234.5 ns`, `30.2µs` and `12.3 ± 0.4 ms` into the number and the unit, which is empty if there is none.
pub fn split_unit(text: &str) -> (&str, &str) {
    let (value, spread) = text.split_once('±').or_else(|| text.split_once("+/-")).unwrap_or((text, ""));
    let unit_at = |text: &str| {
        let bytes = text.as_bytes();
        let is_exponent = |at: usize| {
            let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
            matches!(bytes[at], b'e' | b'E')
                && at > 0
                && bytes[at - 1].is_ascii_digit()
                && bytes.get(at + 1 + sign).is_some_and(u8::is_ascii_digit)
        };
        let begins = |(at, c): &(usize, char)| (c.is_alphabetic() || *c == '%') && !is_exponent(*at);
        text.char_indices().find(begins).map_or(text.len(), |(at, _)| at)
    };
    let (number, unit) = value.split_at(unit_at(value));
    let unit = if unit.trim().is_empty() { &spread[unit_at(spread)..] } else { unit };
    (number.trim(), unit.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::Unit;

    fn read_in(unit: Option<Unit>, rules: &ImportParams, text: &str) -> Result<Timing, String> {
        let default = if rules.higher_is_better { Quantity::any_rate() } else { Quantity::Time(Unit::MS) };
        let named = unit.map(Quantity::Time);
        let quantity = named.clone().unwrap_or(default);
        let column =
            Column { index: 0, path: Vec::new(), name: "ms".to_owned(), categorical: false, decimal: None };
        let column = TimeColumn { column, choice: String::new(), named };
        let mut seen = SeenTimes::default();
        let mut timings = Vec::new();
        rules
            .read_times(&column, &Cell::from(text), &quantity, &mut seen, &mut timings)
            .map_err(|fault| fault.expected)?;
        Ok(timings[0])
    }

    fn read(rules: &ImportParams, text: &str) -> Result<Timing, String> {
        read_in(None, rules, text)
    }

    #[test]
    fn a_time_is_above_0_and_converted_by_one_division() {
        for (unit, text) in
            [(Unit::NS, "18500"), (Unit::US, "18.5"), (Unit::MS, "0.0185"), (Unit::S, "1.85e-5")]
        {
            assert_eq!(read_in(Some(unit), &ImportParams::default(), text), Ok(Some(0.0185)), "{unit:?}");
        }
        let seconds = |text| read_in(Some(Unit::S), &ImportParams::default(), text);
        assert_eq!([seconds("1e-9"), seconds("inf")], [Ok(Some(1e-6)), Ok(FAILED)]);
        assert!(seconds("1e306").is_err(), "too large in milliseconds");
        let rules = ImportParams::default();
        for text in ["0", "-1", "-inf", "fast", "1.5 MB", "0,5", "-0.0", "1e400"] {
            assert!(read(&rules, text).unwrap_err().starts_with("a time in milliseconds above 0"), "{text}");
        }
        let tiny = read_in(Some(Unit::NS), &ImportParams::default(), "1e-323");
        assert!(tiny.is_err(), "no time is left of it in milliseconds");
        for text in ["", "NaN", "None", "null"] {
            assert_eq!(read(&rules, text), Ok(None), "{text:?}");
        }
        let failed = ImportParams { failed: Some(vec!["OOM".to_owned()]), ..rules };
        for text in ["", "NaN", "OOM", "Infinity"] {
            assert_eq!(read(&failed, text), Ok(FAILED), "{text:?}");
        }
        for (text, ms) in [
            ("32.5µs", 0.0325),
            ("40.00 μs", 0.04),
            ("1.5 ms", 1.5),
            ("1,234.5 ns", 0.001_234_5),
            ("1e3ns", 0.001),
            ("12.5 ± 0.4 ms", 12.5),
            ("12.5 us ± 3%", 0.0125),
            ("84.5 ± 1.7", 84.5),
            ("84.5 +/- 1.7", 84.5),
            ("2 s", 2000.0),
        ] {
            assert_eq!(read(&ImportParams::default(), text), Ok(Some(ms)), "{text}");
        }
        assert_eq!(
            read(&ImportParams { failed: Some(vec!["1e+20".to_owned()]), ..ImportParams::default() }, "1e20"),
            Ok(FAILED)
        );
        let rate = ImportParams { higher_is_better: true, ..ImportParams::default() };
        assert_eq!(read(&rate, "500"), Ok(Some(2.0)));
        for text in ["0", "inf", "-3"] {
            assert!(read(&rate, text).unwrap_err().contains("a rate above 0"), "{text}");
        }
    }
}
