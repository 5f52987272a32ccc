//! What a log holds, and how well its times repeat (`--describe`).

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use ah_types::{Log, Optimization, median};

/// A gap between winner and second above which the winner should be the same in every repeat.
const CLEAR_GAP: f64 = 1.03;

/// What a log holds.
#[derive(Clone, Debug)]
pub struct Facts {
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
    /// The fallback and the geometric-mean slowdown against the oracle of always taking it.
    pub always_fallback: Option<(String, f64)>,
    /// The choice that is best on the whole, and its geometric-mean slowdown against the oracle,
    /// among the choices that are measured on every input.
    pub best_single: Option<(String, f64)>,
    /// Where, how and with which seed: absent in PyTorch's logs.
    pub collection: Option<ah_types::log::Collection>,
}

/// Median feedback by choice, for each input.
type Medians = Vec<BTreeMap<u32, f64>>;

fn medians(log: &Log) -> Medians {
    let mut samples: Vec<BTreeMap<u32, Vec<f64>>> = vec![BTreeMap::new(); log.inputs.len()];
    for sample in &log.samples {
        samples[sample.input as usize].entry(sample.choice.0).or_default().push(sample.feedback);
    }
    let of_input = |choices: BTreeMap<u32, Vec<f64>>| {
        choices.into_iter().filter_map(|(choice, times)| Some((choice, median(&times)?))).collect()
    };
    samples.into_iter().map(of_input).collect()
}

/// The winner, its time, and the second's time, of the choices that did not fail.
fn podium(medians: &BTreeMap<u32, f64>) -> Option<(u32, f64, f64)> {
    let mut times: Vec<_> =
        medians.iter().filter(|(_, ms)| ms.is_finite()).map(|(c, ms)| (*ms, *c)).collect();
    times.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (best, winner) = *times.first()?;
    Some((winner, best, times.get(1).map_or(f64::INFINITY, |t| t.0)))
}

#[allow(clippy::cast_precision_loss)] // Counts are far below 2^53.
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

impl Facts {
    /// The facts of a log; the fallback is that of `optimization`, where it is known.
    #[must_use]
    pub fn of(log: &Log, optimization: Option<&Optimization>) -> Self {
        let medians = medians(log);
        let mut wins: BTreeMap<u32, usize> = BTreeMap::new();
        let mut costs: BTreeMap<u32, (f64, usize)> = BTreeMap::new();
        let mut usable = 0;
        for input in &medians {
            let Some((winner, best, _)) = podium(input) else { continue };
            usable += 1;
            *wins.entry(winner).or_default() += 1;
            for (choice, ms) in input.iter().filter(|(_, ms)| ms.is_finite()) {
                let (sum, count) = costs.entry(*choice).or_default();
                *sum += (ms / best).ln();
                *count += 1;
            }
        }
        let name = |choice: u32| log.choices[choice as usize].clone();
        let slowdown = |choice: u32| {
            let (sum, count) = *costs.get(&choice)?;
            // What always taking it costs is not known where it was not measured.
            (count == usable).then(|| (sum * share(1, count)).exp())
        };
        let single = (0..u32::try_from(log.choices.len()).unwrap_or(u32::MAX))
            .filter_map(|c| Some((c, slowdown(c)?)))
            .min_by(|a, b| a.1.total_cmp(&b.1));
        let fallback =
            optimization.and_then(|o| o.fallback_among(&log.choices)).and_then(|f| log.choice_id(f));
        let mut wins: Vec<_> = wins.into_iter().map(|(choice, n)| (name(choice), n)).collect();
        wins.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Self {
            name: log.metadata.name.clone(),
            inputs: log.inputs.len(),
            choices: log.choices.len(),
            rows: log.samples.len(),
            failures: log.samples.iter().filter(|s| s.feedback.is_infinite()).count(),
            wins,
            always_fallback: fallback.and_then(|id| Some((name(id.0), slowdown(id.0)?))),
            best_single: single.map(|(choice, slowdown)| (name(choice), slowdown)),
            collection: log.metadata.collection.clone(),
        }
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} inputs, {} choices, {} rows", self.name, self.inputs, self.choices, self.rows)?;
        if self.failures > 0 {
            writeln!(f, "failed: {} rows", self.failures)?;
        }
        if let Some(c) = &self.collection {
            writeln!(f, "device: {}", c.device)?;
            writeln!(f, "seed: {}; tool: {}", c.seed, c.tool)?;
            writeln!(f, "policy: {}", serde_json::to_string(&c.timing).unwrap_or_default())?;
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
            Some((name, slowdown)) => write!(f, "\nalways the fallback {name}: {slowdown:.4} of the oracle")?,
            None => write!(
                f,
                "\nalways the fallback: unknown (none is known, or it was not measured on every input)"
            )?,
        }
        if let Some((name, slowdown)) = &self.best_single {
            write!(f, "\nbest single choice {name}: {slowdown:.4} of the oracle")?;
        }
        Ok(())
    }
}

/// How well times repeat, from two logs of the same inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Noise {
    /// Inputs that both logs hold.
    pub inputs: usize,
    /// Pairs of medians, one a choice and input, that were compared.
    pub pairs: usize,
    /// The median of |a − b| / min(a, b).
    pub median_deviation: f64,
    /// Its 95th percentile.
    pub p95_deviation: f64,
    /// The share of inputs whose winner differs.
    pub winner_changes: f64,
    /// Inputs on which the first log's winner is ahead by more than 3 %.
    pub clear: usize,
    /// The share of those whose winner differs.
    pub clear_winner_changes: f64,
}

impl Noise {
    /// Compares two logs input by input; `None` where they share no input.
    #[must_use]
    pub fn between(first: &Log, second: &Log) -> Option<Self> {
        let by_text: HashMap<&str, usize> =
            second.inputs.iter().enumerate().map(|(i, x)| (&*x.text, i)).collect();
        let (ours, theirs) = (medians(first), medians(second));
        let mut deviations = Vec::new();
        let (mut inputs, mut changes, mut clear, mut clear_changes) = (0, 0, 0, 0);
        for (input, a) in first.inputs.iter().zip(&ours) {
            let Some(b) = by_text.get(&*input.text).map(|i| &theirs[*i]) else { continue };
            for (choice, x) in a {
                let other = second.choice_id(&first.choices[*choice as usize]);
                let y = other.and_then(|id| b.get(&id.0)).filter(|y| y.is_finite() && x.is_finite());
                deviations.extend(y.map(|y| (x - y).abs() / x.min(*y)));
            }
            let (Some(p), Some(q)) = (podium(a), podium(b)) else { continue };
            inputs += 1;
            let changed = first.choices[p.0 as usize] != second.choices[q.0 as usize];
            changes += usize::from(changed);
            if p.2 / p.1 > CLEAR_GAP {
                clear += 1;
                clear_changes += usize::from(changed);
            }
        }
        deviations.sort_by(f64::total_cmp);
        let at = |quantile: usize| {
            deviations.get((deviations.len() * quantile / 100).min(deviations.len().max(1) - 1))
        };
        Some(Self {
            inputs,
            pairs: deviations.len(),
            median_deviation: *at(50)?,
            p95_deviation: *at(95)?,
            winner_changes: share(changes, inputs),
            clear,
            clear_winner_changes: share(clear_changes, clear),
        })
    }
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |x: f64| 100.0 * x;
        write!(
            f,
            "repeat: {} inputs in both; median relative deviation {:.2} %, 95th percentile {:.2} %; \
             the winner changes on {:.1} % of the inputs, and on {:.1} % of the {} whose gap exceeds 3 %",
            self.inputs,
            percent(self.median_deviation),
            percent(self.p95_deviation),
            percent(self.winner_changes),
            percent(self.clear_winner_changes),
            self.clear
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(rows: &str) -> Log {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.txt");
        let head =
            r#"{"name":"x","device_capa":[0,0],"numerical_features":["size"],"categorical_features":[]}"#;
        std::fs::write(&path, format!("{head}\nsize,choice,feedback\n{rows}")).unwrap();
        ah_types::log::read(&[path]).unwrap()
    }

    #[test]
    fn wins_and_what_single_choices_lose() {
        let optimization = Optimization::from_toml(
            "name = \"x\"\nfallback = [\"a\"]\n[[feature]]\nname = \"size\"\nkind = \"numerical\"",
        )
        .unwrap();
        // a loses 2 on size 2 and 2 on size 3; b loses 4 on size 1; c is not measured on size 1.
        let log = log("1,a,1\n1,b,4\n2,a,2\n2,b,1\n2,c,inf\n3,a,2\n3,b,1\n3,c,1.5\n");
        let facts = Facts::of(&log, Some(&optimization));
        assert_eq!(facts.wins, [("b".to_owned(), 2), ("a".to_owned(), 1)]);
        assert_eq!((facts.inputs, facts.failures), (3, 1));
        let (name, loss) = facts.always_fallback.clone().unwrap();
        assert_eq!(name, "a");
        assert!((loss - 4_f64.powf(1.0 / 3.0)).abs() < 1e-12, "{loss}");
        let (_, best) = facts.best_single.clone().unwrap();
        assert!((best - 4_f64.powf(1.0 / 3.0)).abs() < 1e-12, "{best}");
        assert!(facts.to_string().contains("wins: b 66.7 %, a 33.3 %"), "{facts}");
    }

    #[test]
    fn repeats_are_compared_by_name() {
        let first = log("1,a,1\n1,b,2\n2,a,1.00\n2,b,1.01\n3,a,1\n");
        // The other order gives other ids; size 2's winner changes within 3 %; size 3 is missing.
        let second = log("2,b,1\n2,a,1.02\n1,b,2\n1,a,1.1\n");
        let noise = Noise::between(&first, &second).unwrap();
        assert_eq!((noise.inputs, noise.pairs, noise.clear), (2, 4, 1));
        assert_eq!((noise.winner_changes, noise.clear_winner_changes), (0.5, 0.0));
        assert!((noise.p95_deviation - 0.1).abs() < 1e-9, "{noise:?}");
        assert_eq!(Noise::between(&first, &log("9,a,1\n")), None);
    }
}
