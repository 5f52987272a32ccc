//! A mistake in a TOML file, with its place.

use std::ops::Range;

/// A mistake in a TOML file.
#[derive(Debug)]
pub(super) struct Mistake {
    /// The first byte of the value, if known.
    at: Option<usize>,
    message: String,
}

impl Mistake {
    /// Returns a mistake in the value at these bytes.
    pub(super) fn at(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { at: Some(span.start), message: message.into() }
    }

    /// Returns a mistake in the table as a whole.
    pub(super) fn anywhere(message: impl Into<String>) -> Self {
        Self { at: None, message: message.into() }
    }

    /// Returns the message with its line in `text`.
    pub(super) fn shown(&self, text: &str) -> String {
        let line =
            |at: usize| text.as_bytes()[..at.min(text.len())].iter().filter(|b| **b == b'\n').count() + 1;
        match self.at {
            Some(at) => format!("line {}: {}", line(at), self.message),
            None => self.message.clone(),
        }
    }
}

/// Proposes the most similar known name, if one is similar enough.
pub(super) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    // clap proposes a flag from the same similarity on.
    const SIMILAR: f64 = 0.7;
    let scored = known.into_iter().map(|known| (strsim::jaro(name, known), known));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(similarity, _)| *similarity > SIMILAR);
    best.map(|(_, known)| format!("; did you mean {known:?}?")).unwrap_or_default()
}
