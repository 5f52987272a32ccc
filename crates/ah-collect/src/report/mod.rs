//! `ah-collect report`: the facts of a log, what it covers, and how well its times repeat.

mod repeats;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use ah_model::{ChoiceId, Value};
use ah_types::log::{Collection, Log};
use ah_types::{Optimization, SingleChoice};

use repeats::{Repeats, ranked, share, times};

/// The facts of a log.
#[derive(Debug)]
pub struct LogReport {
    name: String,
    rows: usize,
    inputs: usize,
    failures: usize,
    features: Vec<FeatureCoverage>,
    choices: Vec<String>,
    /// By choice: the inputs that it wins.
    wins: Vec<usize>,
    repeats: Repeats,
    /// The fallback, and the geometric mean of its slowdown against the oracle.
    always_fallback: Option<(String, f64)>,
    /// The best single choice, `A` or `A, else B`, and the geometric mean of its slowdown against the oracle; `None` if neither
    /// has a time on some input.
    best_single: Option<(String, f64)>,
    /// Device, timing policy and seed; PyTorch's logs have none.
    collection: Option<Collection>,
}

#[derive(Debug)]
struct FeatureCoverage {
    name: String,
    distinct: usize,
    least: String,
    greatest: String,
}

impl LogReport {
    /// The facts of a log. The fallback is the one of `optimization`.
    pub fn of(log: &Log, optimization: &Optimization) -> Self {
        let (mut wins, mut slowdowns) = (vec![0; log.choices.len()], Vec::new());
        for times in times(log) {
            let ranked = ranked(times.iter().map(|(choice, times)| (choice, &times[..])));
            let Some(&(best_ms, winner)) = ranked.first() else { continue };
            wins[winner as usize] += 1;
            let losses = ranked.into_iter().map(|(ms, choice)| (ChoiceId(choice), (ms / best_ms).ln()));
            slowdowns.push(losses.collect::<BTreeMap<_, _>>());
        }
        // The loss of always taking it is unknown unless every input has its time.
        let always = |single: SingleChoice| {
            let of = |times: &BTreeMap<ChoiceId, f64>| {
                times.get(&single.taken(|choice| times.contains_key(&choice))).copied()
            };
            let total: Option<f64> = slowdowns.iter().map(of).sum();
            Some((single.name(&log.choices), (total? * share(1, slowdowns.len())).exp()))
        };
        let inputs = slowdowns.iter().map(|times| (1.0, times.iter().map(|(choice, loss)| (*choice, *loss))));
        let best = SingleChoice::best(log.choices.len(), &inputs, |_| true);
        let fallback = optimization.fallback_among(&log.choices).and_then(|name| log.choice_id(name));
        Self {
            name: log.metadata.name.clone(),
            rows: log.samples.len(),
            inputs: log.inputs.len(),
            failures: log.samples.iter().filter(|s| s.feedback.is_infinite()).count(),
            features: (0..log.schema.len()).map(|slot| coverage(log, slot)).collect(),
            always_fallback: fallback.and_then(|first| always(SingleChoice { first, second: None })),
            best_single: best.and_then(always),
            choices: log.choices.clone(),
            wins,
            repeats: Repeats::of(log),
            collection: log.metadata.collection.clone(),
        }
    }
}

fn coverage(log: &Log, slot: usize) -> FeatureCoverage {
    let mut values: Vec<&Value> = log.inputs.iter().map(|input| &input.values[slot]).collect();
    values.sort_by(|a, b| match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.total_cmp(b),
        _ => a.to_string().cmp(&b.to_string()),
    });
    values.dedup_by(|a, b| a.to_string() == b.to_string());
    let text = |value: Option<&&Value>| value.map(ToString::to_string).unwrap_or_default();
    FeatureCoverage {
        name: log.schema.features()[slot].name.clone(),
        distinct: values.len(),
        least: text(values.first()),
        greatest: text(values.last()),
    }
}

impl fmt::Display for LogReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, inputs, choices, rows, failures, .. } = self;
        writeln!(f, "{name}: {inputs} inputs, {} choices, {rows} rows", choices.len())?;
        if *failures > 0 {
            writeln!(f, "failed: {failures} rows")?;
        }
        if let Some(c) = &self.collection {
            if let Some(device) = &c.device {
                writeln!(f, "device: {device}")?;
            }
            if !c.tool.is_empty() {
                writeln!(f, "seed: {}; tool: {}", c.seed, c.tool)?;
            }
            if let Some(timing) = &c.timing {
                writeln!(f, "policy: {}", serde_json::to_string(timing).unwrap_or_default())?;
            }
        }
        for FeatureCoverage { name, distinct, least, greatest } in &self.features {
            writeln!(f, "{name}: {distinct} values, {least} to {greatest}")?;
        }
        let mut winners: Vec<_> = choices.iter().zip(&self.wins).filter(|(_, wins)| **wins > 0).collect();
        winners.sort_by_key(|(name, wins)| (Reverse(**wins), *name));
        let won = winners.iter().take(10);
        let won = won.map(|(name, wins)| format!("{name} {:.1} %", 100.0 * share(**wins, *inputs)));
        write!(f, "wins: {}", won.collect::<Vec<_>>().join(", "))?;
        if winners.len() > 10 {
            write!(f, ", and {} more choices", winners.len() - 10)?;
        }
        match &self.always_fallback {
            Some((name, slowdown)) => {
                let loss = 100.0 * (slowdown - 1.0);
                write!(f, "\nalways {name} (fallback): {loss:.2} % slower than the best choice")?;
            }
            None => f.write_str(
                "\nalways the fallback: unknown, because there is none or it was not measured on every input",
            )?,
        }
        if let Some((name, slowdown)) = &self.best_single {
            let loss = 100.0 * (slowdown - 1.0);
            write!(f, "\nalways {name} (best single choice): {loss:.2} % slower than the best choice")?;
        }
        write!(f, "\n{}", self.repeats)
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
    fn wins_and_losses_of_single_choices() {
        let text = "name = \"x\"\nfallback = [\"a\"]\n[[feature]]\nname = \"size\"\nkind = \"numerical\"";
        let optimization = Optimization::parse(text, "x.toml".as_ref()).unwrap();
        // a loses 2 on size 2 and 2 on size 3; b loses 4 on size 1; c is not measured on size 1.
        let log = log("1,a,1\n1,b,4\n2,a,2\n2,b,1\n2,c,inf\n3,a,2\n3,b,1\n3,c,1.5\n");
        let facts = LogReport::of(&log, &optimization);
        assert_eq!((facts.inputs, facts.failures), (3, 1));
        let (name, loss) = facts.always_fallback.clone().unwrap();
        assert_eq!(name, "a");
        assert!((loss - 4_f64.powf(1.0 / 3.0)).abs() < 1e-12, "{loss}");
        // c where it has a time, else a: 1, 2 and 1.5.
        let (name, best) = facts.best_single.clone().unwrap();
        assert_eq!(name, "c, else a");
        assert!((best - 3_f64.powf(1.0 / 3.0)).abs() < 1e-12, "{best}");
        assert!(facts.to_string().contains("wins: b 66.7 %, a 33.3 %"), "{facts}");
    }

    #[test]
    fn the_halves_of_the_repetitions_are_compared() {
        // Size 2's winner changes within 3 %; on size 3, b has one time, so nothing can change.
        let log = log(
            "1,a,1\n1,b,2\n2,a,1.00\n2,b,1.01\n3,a,1\n3,b,9\n2,b,1\n2,a,1.02\n1,b,2.1\n1,a,1.1\n3,a,1.5\n",
        );
        let Repeats { spreads, flips } = Repeats::of(&log);
        assert_eq!((flips.inputs, spreads[0].cells, flips.clear), (2, 5, 1));
        assert_eq!((flips.changed, flips.clear_changed), (0.5, 0.0));
    }
}
