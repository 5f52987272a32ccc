//! Reads a cell of times.

use ah_model::Fault;
use ah_model::shown::quoted;

use crate::cell::{Cell, DECIMAL_COMMA, has_decimal_comma};
use crate::error::bad_row;
use crate::params::Unit;

/// The outcome of timing a choice once: milliseconds, infinite if it failed; `None` if it was not measured.
pub type Timing = Option<f64>;

const FAILED: Timing = Some(f64::INFINITY);

/// The rules for reading a table's times.
#[derive(Clone, Debug, Default)]
pub struct TimeRules {
    /// What a flag, the column's name or the tool says.
    pub unit: Option<Unit>,
    pub higher_is_better: bool,
    /// Whether a missing time means that the choice failed.
    pub missing_is_failed: bool,
    /// Texts that mean that the choice failed.
    pub failed: Vec<String>,
}

impl TimeRules {
    /// Adds the timings in a cell of `column` to `timings`.
    pub fn read(
        &self,
        column: &str,
        cell: &Cell,
        unit: Unit,
        timings: &mut Vec<Timing>,
    ) -> Result<(), Fault> {
        if let Cell::List(list) = cell {
            return list.iter().try_for_each(|cell| self.read(column, cell, unit, timings));
        }
        let missing = if self.missing_is_failed { FAILED } else { None };
        timings.push(match (cell, cell.as_text()) {
            (_, Some(text)) if self.failed.iter().any(|failed| failed == text) => FAILED,
            (Cell::Missing, _) => missing,
            _ => Some(self.ms(cell, unit).ok_or_else(|| self.fault(cell, unit).in_column(column))?),
        });
        Ok(())
    }

    fn ms(&self, cell: &Cell, unit: Unit) -> Option<f64> {
        let x = ah_types::number(cell.as_text()?)?;
        let ms = match (self.higher_is_better, unit) {
            // An infinite rate becomes 0, which the check below refuses.
            (true, _) => 1000.0 / x,
            // Divides, because 1000 is exact in f64 and 0.001 is not.
            (false, Unit::Ns) => x / 1e6,
            (false, Unit::Us) => x / 1e3,
            (false, Unit::Ms) => x,
            // A product would show that decimals are not exact: 1e-9 s is 1.0000000000000002e-6 ms.
            (false, Unit::S) => format!("{x}e3").parse().unwrap_or(x),
        };
        // A number that is too large in milliseconds is not a failure.
        (ms > 0.0 && (ms.is_finite() || x.is_infinite())).then_some(ms)
    }

    fn fault(&self, cell: &Cell, unit: Unit) -> Fault {
        let expected = match self.higher_is_better {
            true => "a rate above 0, or nothing where it was not measured".to_owned(),
            false => {
                format!(
                    "a time in {unit} above 0, inf where the choice failed, or nothing where it was not measured"
                )
            }
        };
        let mut fault = bad_row(expected, cell.shown());
        match cell.as_text() {
            Some(text) if has_decimal_comma(text) => fault.hint = DECIMAL_COMMA.to_owned(),
            Some(text) if text.starts_with(char::is_alphabetic) => {
                let failed = quoted(&format!("--failed={text}"));
                fault.hint = format!("give {failed} if the choice failed here, or {}", fault.hint);
            }
            _ => {}
        }
        fault
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rules: &TimeRules, text: &str) -> Result<Timing, String> {
        let mut timings = Vec::new();
        let unit = rules.unit.unwrap_or_default();
        rules.read("ms", &Cell::from(text), unit, &mut timings).map_err(|fault| fault.expected)?;
        Ok(timings[0])
    }

    #[test]
    fn a_time_is_above_0_and_converted_by_one_division() {
        for (unit, text) in
            [(Unit::Ns, "18500"), (Unit::Us, "18.5"), (Unit::Ms, "0.0185"), (Unit::S, "1.85e-5")]
        {
            assert_eq!(
                read(&TimeRules { unit: Some(unit), ..TimeRules::default() }, text),
                Ok(Some(0.0185)),
                "{unit:?}"
            );
        }
        let seconds = TimeRules { unit: Some(Unit::S), ..TimeRules::default() };
        assert_eq!([read(&seconds, "1e-9"), read(&seconds, "inf")], [Ok(Some(1e-6)), Ok(FAILED)]);
        assert!(read(&seconds, "1e306").is_err(), "too large in milliseconds");
        let rules = TimeRules::default();
        for text in ["0", "-1", "-inf", "fast", "1.5ms", "0,5", "-0.0", "1e400"] {
            assert!(read(&rules, text).unwrap_err().starts_with("a time in milliseconds above 0"), "{text}");
        }
        let tiny = TimeRules { unit: Some(Unit::Ns), ..TimeRules::default() };
        assert!(read(&tiny, "1e-323").is_err(), "no time is left of it in milliseconds");
        for text in ["", "NaN", "None", "null"] {
            assert_eq!(read(&rules, text), Ok(None), "{text:?}");
        }
        let failed = TimeRules { missing_is_failed: true, failed: vec!["OOM".to_owned()], ..rules };
        for text in ["", "NaN", "OOM", "Infinity"] {
            assert_eq!(read(&failed, text), Ok(FAILED), "{text:?}");
        }
        let rate = TimeRules { higher_is_better: true, ..TimeRules::default() };
        assert_eq!(read(&rate, "500"), Ok(Some(2.0)));
        for text in ["0", "inf", "-3"] {
            assert!(read(&rate, text).unwrap_err().contains("a rate above 0"), "{text}");
        }
    }
}
