//! A mistake in a TOML file, with its place.

use std::ops::Range;

/// A mistake in a TOML file.
#[derive(Debug)]
pub(in crate::custom) struct Mistake {
    /// The first byte of the value, if known.
    at: Option<usize>,
    message: String,
}

impl Mistake {
    /// A mistake in the value at these bytes.
    pub(super) fn at(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { at: Some(span.start), message: message.into() }
    }

    /// A mistake in the table as a whole.
    pub(super) fn anywhere(message: impl Into<String>) -> Self {
        Self { at: None, message: message.into() }
    }

    /// The message with its line in `text`.
    pub(in crate::custom) fn shown(&self, text: &str) -> String {
        let line =
            |at: usize| text.as_bytes()[..at.min(text.len())].iter().filter(|b| **b == b'\n').count() + 1;
        match self.at {
            Some(at) => format!("line {}: {}", line(at), self.message),
            None => self.message.clone(),
        }
    }
}
