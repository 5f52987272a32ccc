//! Reads a cell of times.

use ah_model::Fault;
use ah_model::shown::{cut, quoted};

use crate::cell::Cell;
use crate::column::Column;
use crate::error::{bad_row, bad_row_or};
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

/// Reads the cells of a column of times in one row.
pub struct TimeReader<'r> {
    pub params: &'r ImportParams,
    pub column: &'r TimeColumn,
    /// What the row says that its times are.
    pub quantity: Quantity,
    pub seen: &'r mut SeenTimes,
}

impl TimeReader<'_> {
    /// Adds the timings in a cell to `timings`.
    pub fn read(&mut self, cell: &Cell, timings: &mut Vec<Timing>) -> Result<(), Fault> {
        let Cell::List(list) = cell else {
            timings.push(self.time(cell)?);
            return Ok(());
        };
        if list.iter().any(|cell| matches!(cell, Cell::List(_))) {
            let column = cut(&self.column.column.name, 60);
            let hint = format!("name the place of the times in the list, for example --time {column}.0");
            return Err(Fault::new("a list of times, not one with lists inside", cell.shown(), hint));
        }
        list.iter().try_for_each(|cell| self.read(cell, timings))
    }

    fn time(&mut self, cell: &Cell) -> Result<Timing, Fault> {
        let params = self.params;
        let text = cell.as_text().unwrap_or_default();
        if params.is_failed(text) {
            return Ok(FAILED);
        }
        if cell.is_missing() {
            return Ok(params.failed.as_ref().and(FAILED));
        }
        let (number, own) = split_unit(text);
        let has_unit = !own.is_empty() && !number.is_empty() && number::read(text, params.decimal).is_none();
        let of_unit = || Quantity::of_unit(own).ok_or_else(|| params.fault(cell, &self.quantity));
        let own = has_unit.then(of_unit).transpose()?;
        // A unit leaves `84.5` of `84.5 ± 1.7` too; `inf` is a word.
        let number = if number.is_empty() { text } else { number };
        self.seen.has_own_units |= own.is_some();
        if let Some(own) = &own {
            let hint = "leave the flag out, and each time is taken in its own unit";
            params.agrees(self.column, own, hint)?;
        }
        let quantity = own.as_ref().unwrap_or(&self.quantity);
        let first = self.seen.first.as_ref().unwrap_or(quantity);
        if !quantity.agrees(first) {
            let hint = "keep the rows of one kind with --where";
            return Err(Fault::new(format!("{first}, as in the rows before"), quantity.to_string(), hint));
        }
        let x = number::read(number, params.decimal).ok_or_else(|| params.fault(cell, &self.quantity))?;
        let ms = quantity.ms(x, Some(first));
        // An infinite rate has the time 0. A number that is too large in milliseconds is not a failure.
        if !(ms > 0.0 && (ms.is_finite() || x.is_infinite())) {
            return Err(params.fault(cell, quantity));
        }
        if self.seen.first.is_none() {
            self.seen.first = Some(quantity.clone());
        }
        if ms.is_finite() && ms > self.seen.greatest.0 {
            self.seen.greatest = (ms, text.to_owned());
        }
        Ok(Some(ms))
    }
}

impl ImportParams {
    /// Checks that the quantity that a row or a cell gives its number does not contradict the flags or the name of the column.
    pub fn agrees(&self, column: &TimeColumn, found: &Quantity, hint: &str) -> Result<(), Fault> {
        let expected = match (&column.named, found) {
            (Some(Quantity::Time(named)), found) if *found != Quantity::Time(*named) => named.to_string(),
            (Some(Quantity::Rate(_)) | None, Quantity::Time(_)) if self.higher_is_better => {
                "rates".to_owned()
            }
            _ => return Ok(()),
        };
        let expected = format!("{expected}, as the flags or the column of times say");
        Err(Fault::new(expected, found.to_string(), hint))
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
        let found = cell.shown();
        let text = cell.as_text().unwrap_or_default();
        let number = number::read(text, self.decimal);
        if Quantity::of_unit(text).is_some() || is_time(text) {
            let hint = "remove this row of names or units, and give --unit; below names in another order, split the file";
            Fault::new(expected, found, hint)
        } else if number::is_localized(text) || number::is_localized(split_unit(text).0) {
            Fault::new(expected, found, number::hint(split_unit(text).0))
        } else if text.starts_with(char::is_alphabetic) || number.is_some() {
            let failed = quoted(&format!("--failed={text}"));
            let rounded = match number {
                Some(0.0) => " (a time that was rounded to 0 is none: write half of the last digit)",
                _ => "",
            };
            bad_row_or(&format!("give {failed} if the choice failed here{rounded}"), expected, found)
        } else {
            bad_row(expected, found)
        }
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
        let mut timings = Vec::new();
        let seen = &mut SeenTimes::default();
        let mut reader = TimeReader { params: rules, column: &column, quantity, seen };
        reader.read(&Cell::from(text), &mut timings).map_err(|fault| fault.expected)?;
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
