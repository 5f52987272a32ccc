//! Reads a cell of times.

use super::error::Fault;
use super::params::Unit;
use super::table::Cell;

/// The outcome of timing a choice once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Timing {
    /// Milliseconds.
    Measured(f64),
    /// The choice failed.
    Failed,
    /// It was not measured.
    NotMeasured,
}

/// The rules for reading a table's times.
#[derive(Clone, Debug, Default)]
pub struct TimeRules {
    pub unit: Unit,
    pub higher_is_better: bool,
    /// Whether a missing time means that the choice failed.
    pub missing_is_failed: bool,
    /// Texts that mean that the choice failed.
    pub failed: Vec<String>,
}

impl TimeRules {
    /// Adds the timings in a cell of `column` to `timings`.
    pub fn read(&self, column: &str, cell: &Cell<'_>, timings: &mut Vec<Timing>) -> Result<(), Fault> {
        if let Cell::List(list) = cell {
            return list.iter().try_for_each(|cell| self.read(column, cell, timings));
        }
        let timing = self.timing(cell).ok_or_else(|| Fault::new(column, self.expected(), cell.shown()))?;
        timings.push(timing);
        Ok(())
    }

    fn timing(&self, cell: &Cell<'_>) -> Option<Timing> {
        let text = match cell {
            Cell::Missing => return Some(self.missing()),
            Cell::Untyped(text) => text,
            Cell::Name(text) => &**text,
            _ => "",
        };
        if !text.is_empty() && self.failed.iter().any(|failed| failed == text) {
            return Some(Timing::Failed);
        }
        // Python's word for a time that was not taken.
        if text == "None" {
            return Some(self.missing());
        }
        self.of(cell.as_number()?)
    }

    fn missing(&self) -> Timing {
        if self.missing_is_failed { Timing::Failed } else { Timing::NotMeasured }
    }

    fn of(&self, x: f64) -> Option<Timing> {
        let ms = match (self.higher_is_better, self.unit) {
            // An infinite rate becomes 0, which the check below refuses.
            (true, _) => 1000.0 / x,
            (false, _) if x == f64::INFINITY => return Some(Timing::Failed),
            // Divides, because 1000 is exact in f64 and 0.001 is not.
            (false, Unit::Ns) => x / 1e6,
            (false, Unit::Us) => x / 1e3,
            (false, Unit::Ms) => x,
            (false, Unit::S) => x * 1e3,
        };
        (ms > 0.0 && ms.is_finite()).then_some(Timing::Measured(ms))
    }

    fn expected(&self) -> String {
        if self.higher_is_better {
            return "a rate above 0, or nothing where it was not measured".to_owned();
        }
        let unit = match self.unit {
            Unit::Ns => "nanoseconds",
            Unit::Us => "microseconds",
            Unit::Ms => "milliseconds",
            Unit::S => "seconds",
        };
        format!("a time in {unit} above 0, inf where the choice failed, or nothing where it was not measured")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rules: &TimeRules, text: &str) -> Result<Timing, String> {
        let mut timings = Vec::new();
        rules.read("ms", &Cell::untyped(text), &mut timings).map_err(|fault| fault.to_string())?;
        Ok(timings[0])
    }

    #[test]
    fn a_time_is_converted_by_one_division() {
        let rules = |unit| TimeRules { unit, ..TimeRules::default() };
        for (unit, text) in
            [(Unit::Ns, "18500"), (Unit::Us, "18.5"), (Unit::Ms, "0.0185"), (Unit::S, "1.85e-5")]
        {
            assert_eq!(read(&rules(unit), text), Ok(Timing::Measured(0.0185)), "{unit:?}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        let rules = TimeRules::default();
        for text in ["0", "-1", "-inf", "fast", "1.5ms", "0,5", "-0.0"] {
            let error = read(&rules, text).unwrap_err();
            assert!(error.starts_with("column \"ms\": expected a time in milliseconds above 0"), "{error}");
            assert!(error.contains(&format!("found {text:?}")), "{error}");
        }
        let tiny = TimeRules { unit: Unit::Ns, ..TimeRules::default() };
        assert!(read(&tiny, "1e-323").is_err(), "no time is left of it in milliseconds");
    }

    #[test]
    fn missing_and_failed_times() {
        let rules = TimeRules::default();
        for text in ["", "NaN", "None", "null"] {
            assert_eq!(read(&rules, text), Ok(Timing::NotMeasured), "{text:?}");
        }
        assert_eq!(read(&rules, "inf"), Ok(Timing::Failed));
        let failed = TimeRules { missing_is_failed: true, failed: vec!["OOM".to_owned()], ..rules };
        for text in ["", "NaN", "OOM", "Infinity"] {
            assert_eq!(read(&failed, text), Ok(Timing::Failed), "{text:?}");
        }
    }

    #[test]
    fn of_two_rates_the_higher_is_the_shorter_time() {
        let rules = TimeRules { higher_is_better: true, ..TimeRules::default() };
        assert_eq!(read(&rules, "500"), Ok(Timing::Measured(2.0)));
        assert_eq!(read(&rules, "1000"), Ok(Timing::Measured(1.0)));
        for text in ["0", "inf", "-3"] {
            assert!(read(&rules, text).unwrap_err().contains("a rate above 0"), "{text}");
        }
    }
}
