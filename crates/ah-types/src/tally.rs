//! Faults that repeat: counted, with the first of each kind.

use std::fmt;

use ah_model::Fault;

/// The most kinds that are counted by themselves.
const KINDS: usize = 5;

/// Faults by kind. Faults of one kind are in one column, where the same was expected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    count: u64,
    /// The first fault of each kind and their number, in the order in which kinds first occur.
    kinds: Vec<(Fault, u64)>,
}

impl Tally {
    /// Counts a fault.
    pub fn add(&mut self, fault: &Fault) {
        self.count += 1;
        let is_alike = |known: &Fault| (&known.column, &known.expected) == (&fault.column, &fault.expected);
        if let Some((_, count)) = self.kinds.iter_mut().find(|(known, _)| is_alike(known)) {
            *count += 1;
        } else if self.kinds.len() < KINDS {
            self.kinds.push((fault.clone(), 1));
        }
    }

    /// The number of faults.
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// The first fault of each kind, with the number of those like it.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (first, count)) in self.kinds.iter().enumerate() {
            write!(f, "{}{first}", if at == 0 { "" } else { "; " })?;
            if *count > 1 {
                write!(f, " ({count} such rows)")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_counted() {
        let mut tally = Tally::default();
        let fault = |expected: &str, found: &str| Fault::new(expected, found, "fix it");
        for (expected, found) in [("a", "1"), ("b", "1"), ("a", "2")] {
            tally.add(&fault(expected, found));
        }
        assert_eq!(tally.count(), 3);
        let [a, b] = ["a", "b"].map(|expected| fault(expected, "1"));
        assert_eq!(tally.to_string(), format!("{a} (2 such rows); {b}"));
        for kind in 0..10 {
            tally.add(&fault(&kind.to_string(), "1"));
        }
        assert_eq!((tally.count(), tally.kinds.len()), (13, KINDS));
    }
}
