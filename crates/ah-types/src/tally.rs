//! Messages that repeat: counted, with the first of each kind.

use std::fmt;

/// The most kinds that are told apart.
const KINDS: usize = 5;

/// Messages by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    count: u64,
    /// (kind, the first message, the number of messages), in the order in which kinds first occur.
    kinds: Vec<(String, String, u64)>,
}

impl Tally {
    /// Counts a message. `message` is called for the first one of its kind.
    pub fn add(&mut self, kind: &str, message: impl FnOnce() -> String) {
        self.count += 1;
        if let Some((_, _, count)) = self.kinds.iter_mut().find(|(known, ..)| known == kind) {
            *count += 1;
        } else if self.kinds.len() < KINDS {
            self.kinds.push((kind.to_owned(), message(), 1));
        }
    }

    /// Returns the number of messages.
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// The first message of each kind, with the number of those like it.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (_, first, count)) in self.kinds.iter().enumerate() {
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
        for (kind, message) in [("a", "a1"), ("b", "b1"), ("a", "a2")] {
            tally.add(kind, || message.to_owned());
        }
        assert_eq!(tally.count(), 3);
        assert_eq!(tally.to_string(), "a1 (2 such rows); b1");
        for kind in 0..10 {
            tally.add(&kind.to_string(), || kind.to_string());
        }
        assert_eq!((tally.count(), tally.kinds.len()), (13, KINDS));
    }
}
