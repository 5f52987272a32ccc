//! The facts of a log: its wins, and the losses of single choices.

use std::collections::BTreeMap;
use std::fmt;

use ah_types::log::Log;
use ah_types::{ChoiceId, Optimization, SingleChoice};

use super::podium::{Podium, medians, share};

/// The facts of a log.
#[derive(Clone, Debug, serde::Serialize)]
pub struct LogFacts {
    /// The optimization.
    pub name: String,
    /// Distinct inputs.
    pub inputs: usize,
    /// Choices that occur.
    pub choices: usize,
    /// Rows.
    pub rows: usize,
    /// Rows of failed choices.
    pub failures: usize,
    /// How often each choice wins, most often first.
    pub wins: Vec<(String, usize)>,
    /// The fallback, and the geometric mean of its slowdown against the oracle.
    pub always_fallback: Option<(String, f64)>,
    /// The best single choice, `A` or `A, else B`, and the geometric mean of its slowdown against the oracle; `None` if neither
    /// has a time on some input.
    pub best_single: Option<(String, f64)>,
    /// Device, timing policy and seed; PyTorch's logs have none.
    pub collection: Option<ah_types::log::Collection>,
}

impl LogFacts {
    /// Returns the facts of a log. The fallback is the one of `optimization`.
    pub fn of(log: &Log, optimization: &Optimization) -> Self {
        let medians = medians(log);
        let mut wins: BTreeMap<u32, usize> = BTreeMap::new();
        let mut slowdowns = Vec::new();
        for input in &medians {
            let Some(Podium { winner, winner_ms, .. }) = Podium::of(input) else { continue };
            *wins.entry(winner).or_default() += 1;
            let times = input.iter().filter(|(_, ms)| ms.is_finite());
            let times = times.map(|(choice, ms)| (ChoiceId(*choice), (ms / winner_ms).ln()));
            slowdowns.push(times.collect::<BTreeMap<_, _>>());
        }
        let name = |choice: u32| log.choices[choice as usize].clone();
        // The loss of always taking it is unknown unless every input has its time.
        let slowdown = |single: SingleChoice| {
            let of = |times: &BTreeMap<ChoiceId, f64>| {
                times.get(&single.taken(|choice| times.contains_key(&choice))).copied()
            };
            let total: Option<f64> = slowdowns.iter().map(of).sum();
            Some((total? * share(1, slowdowns.len())).exp())
        };
        let inputs = slowdowns.iter().map(|times| (1.0, times.iter().map(|(choice, loss)| (*choice, *loss))));
        let single = SingleChoice::best(log.choices.len(), &inputs, |_| true);
        let fallback = optimization.fallback_among(&log.choices).and_then(|name| log.choice_id(name));
        let mut wins: Vec<_> = wins.into_iter().map(|(choice, n)| (name(choice), n)).collect();
        wins.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Self {
            name: log.metadata.name.clone(),
            inputs: log.inputs.len(),
            choices: log.choices.len(),
            rows: log.samples.len(),
            failures: log.samples.iter().filter(|s| s.feedback.is_infinite()).count(),
            wins,
            always_fallback: fallback
                .and_then(|id| Some((name(id.0), slowdown(SingleChoice { first: id, second: None })?))),
            best_single: single.and_then(|single| Some((single.name(&log.choices), slowdown(single)?))),
            collection: log.metadata.collection.clone(),
        }
    }
}

impl fmt::Display for LogFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} inputs, {} choices, {} rows", self.name, self.inputs, self.choices, self.rows)?;
        if self.failures > 0 {
            writeln!(f, "failed: {} rows", self.failures)?;
        }
        if let Some(c) = &self.collection {
            if let Some(device) = &c.device {
                writeln!(f, "device: {device}")?;
            }
            writeln!(f, "seed: {}; tool: {}", c.seed, c.tool)?;
            if let Some(timing) = &c.timing {
                writeln!(f, "policy: {}", serde_json::to_string(timing).unwrap_or_default())?;
            }
        }
        let wins = self
            .wins
            .iter()
            .take(10)
            .map(|(name, n)| format!("{name} {:.1} %", 100.0 * share(*n, self.inputs)));
        write!(f, "wins: {}", wins.collect::<Vec<_>>().join(", "))?;
        if self.wins.len() > 10 {
            write!(f, ", and {} more choices", self.wins.len() - 10)?;
        }
        match &self.always_fallback {
            Some((name, slowdown)) => {
                write!(f, "\nalways {name} (fallback): {slowdown:.4} times the best time")?;
            }
            None => f.write_str(
                "\nalways the fallback: unknown, because there is none or it was not measured on every input",
            )?,
        }
        if let Some((name, slowdown)) = &self.best_single {
            write!(f, "\nalways {name} (best single choice): {slowdown:.4} times the best time")?;
        }
        Ok(())
    }
}
