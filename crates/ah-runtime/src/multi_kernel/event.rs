//! Events of a MultiKernel and their reasons, for `explain` and the `log` crate.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Mutex;

use crate::sync::lock;

/// Why no remembered pick served a call.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // The text shows the fields.
pub enum Miss {
    /// Nothing is remembered yet.
    First,
    /// A guard of the nearest pick, for example `512 < n <= 1024`, does not hold for the value found.
    Guard { guard: String, found: String },
    /// The remembered kernel does not support this input.
    NotEligible { kernel: String },
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::First => f.write_str("nothing is remembered yet"),
            Self::Guard { guard, found } => write!(f, "the guard {guard} fails for {found}"),
            Self::NotEligible { kernel } => write!(f, "{kernel} does not support this input"),
        }
    }
}

/// An event off the hot path.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // The text shows the fields.
pub enum Event {
    /// The kernels were measured.
    Measured {
        miss: Miss,
        context: String,
        /// The kernel that won, and its milliseconds; `None` if all failed.
        winner: Option<(String, f64)>,
    },
    /// A dimension got its second value and is dynamic from now on.
    Dynamic { feature: String, first: f64, second: f64 },
    /// A kernel failed while it was measured.
    Failed { kernel: String, reason: String, context: String },
    /// The limit of remembered picks is reached; nothing more is measured.
    Limit { picks: usize, miss: Miss },
    /// The recording has no pick, and a program that looks up measures nothing.
    NotRecorded { miss: Miss, context: String },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Measured { miss, context, winner: Some((kernel, ms)) } => {
                let ms = Milliseconds(*ms);
                write!(f, "measured [{context}] because {miss}: {kernel} wins with {ms}")
            }
            Self::Measured { miss, context, winner: None } => {
                write!(f, "measured [{context}] because {miss}: every kernel failed")
            }
            Self::Dynamic { feature, first, second } => {
                write!(f, "{feature} is dynamic from now on: it was {first} and is {second}")
            }
            Self::Failed { kernel, reason, context } => {
                write!(f, "{kernel} failed for [{context}]: {reason}")
            }
            Self::Limit { picks, miss } => write!(
                f,
                "{picks} picks are remembered, so no more are measured: raise `max_picks`, make a dimension \
                 dynamic, or learn a heuristic from the log; {miss}"
            ),
            Self::NotRecorded { miss, context } => {
                write!(f, "the recording has no pick for [{context}], so the fallback runs; {miss}")
            }
        }
    }
}

/// A time with four significant digits, for people.
pub(super) struct Milliseconds(pub(super) f64);

impl fmt::Display for Milliseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = (3.0 - self.0.abs().log10().floor()).clamp(0.0, 9.0) as usize;
        let text = format!("{:.digits$}", self.0);
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        write!(f, "{text} ms")
    }
}

/// The last events.
#[derive(Debug, Default)]
pub(super) struct Events(Mutex<VecDeque<Event>>);

impl Events {
    const KEPT: usize = 64;

    pub(super) fn add(&self, name: &str, event: Event) {
        match event {
            Event::Failed { .. } | Event::Limit { .. } => log::warn!("{name}: {event}"),
            _ => log::info!("{name}: {event}"),
        }
        let mut events = lock(&self.0);
        if events.len() == Self::KEPT {
            events.pop_front();
        }
        events.push_back(event);
    }

    pub(super) fn all(&self) -> Vec<Event> {
        lock(&self.0).iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Milliseconds;

    #[test]
    fn times_have_four_digits() {
        let texts = [0.000_012_345, 0.5, 1.23456, 1234.56, 98765.4, 0.0, f64::INFINITY]
            .map(|ms| Milliseconds(ms).to_string());
        assert_eq!(texts, ["0.00001234 ms", "0.5 ms", "1.235 ms", "1235 ms", "98765 ms", "0 ms", "inf ms"]);
    }
}
