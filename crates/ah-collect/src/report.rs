//! `ah-collect report`: the facts of a log, what it covers, and how well its times repeat.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ah_model::{ChoiceId, Value};
use ah_types::log::{Collection, Log};
use ah_types::{Optimization, SingleChoice, median};

/// The most winners to show.
const SHOWN: usize = 10;

/// The times of one input, by choice.
type Times = BTreeMap<ChoiceId, Vec<f64>>;

/// Returns the facts of a log, one in each line. The fallback is that of `optimization`.
pub fn facts(log: &Log, optimization: &Optimization) -> Vec<String> {
    let (rows, inputs, choices) = (log.samples.len(), log.inputs.len(), log.choices.len());
    let mut facts = vec![format!("{}: {inputs} inputs, {choices} choices, {rows} rows", log.metadata.name)];
    let failures = log.samples.iter().filter(|sample| sample.feedback.is_infinite()).count();
    if failures > 0 {
        facts.push(format!("failed: {failures} rows"));
    }
    facts.extend(log.metadata.collection.as_ref().into_iter().flat_map(origin));
    facts.extend((0..log.schema.len()).map(|slot| coverage(log, slot)));
    let times = times(log);
    facts.extend(winners(log, optimization, &times));
    facts.extend(noise(&times));
    facts.push(flips(&times));
    facts
}

/// Device, seed and timing policy, as far as the log has them.
fn origin(collection: &Collection) -> Vec<String> {
    let Collection { device, timing, seed, tool, .. } = collection;
    let device = device.as_ref().map(|device| format!("device: {device}"));
    let tool = (!tool.is_empty()).then(|| format!("seed: {seed}; tool: {tool}"));
    let policy = timing.as_ref().and_then(|timing| serde_json::to_string(timing).ok());
    let policy = policy.map(|policy| format!("policy: {policy}"));
    device.into_iter().chain(tool).chain(policy).collect()
}

/// The values of one feature.
fn coverage(log: &Log, slot: usize) -> String {
    let mut values: Vec<&Value> = log.inputs.iter().map(|input| &input.values[slot]).collect();
    values.sort_by(|a, b| match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.total_cmp(b),
        _ => a.to_string().cmp(&b.to_string()),
    });
    values.dedup_by(|a, b| a.to_string() == b.to_string());
    let text = |value: Option<&&Value>| value.map(ToString::to_string).unwrap_or_default();
    let (least, greatest) = (text(values.first()), text(values.last()));
    format!("{}: {} values, {least} to {greatest}", log.schema.features()[slot].name, values.len())
}

/// The times of each input.
fn times(log: &Log) -> Vec<Times> {
    let mut times = vec![Times::new(); log.inputs.len()];
    for sample in &log.samples {
        times[sample.input as usize].entry(sample.choice).or_default().push(sample.feedback);
    }
    times
}

/// The choices with a finite median of these times, each behind its median, fastest first.
fn ranked<'t>(times: impl Iterator<Item = (&'t ChoiceId, &'t [f64])>) -> Vec<(f64, ChoiceId)> {
    let medians = times.filter_map(|(choice, times)| Some((median(times)?, *choice)));
    let mut ranked: Vec<_> = medians.filter(|(ms, _)| ms.is_finite()).collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    ranked
}

fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Which choices win, and what always taking one choice loses: geometric means of the slowdown against the fastest choice.
fn winners(log: &Log, optimization: &Optimization, times: &[Times]) -> Vec<String> {
    let mut wins = vec![0; log.choices.len()];
    // By input: the logarithm of each choice's slowdown.
    let mut slowdowns: Vec<BTreeMap<ChoiceId, f64>> = Vec::new();
    for times in times {
        let ranked = ranked(times.iter().map(|(choice, times)| (choice, &times[..])));
        let Some(&(best_ms, winner)) = ranked.first() else { continue };
        wins[winner.index()] += 1;
        slowdowns.push(ranked.into_iter().map(|(ms, choice)| (choice, (ms / best_ms).ln())).collect());
    }
    // Unknown unless every input has its time.
    let always = |single: SingleChoice, what: &str| {
        let slowdown = |slowdowns: &BTreeMap<ChoiceId, f64>| {
            slowdowns.get(&single.taken(|choice| slowdowns.contains_key(&choice))).copied()
        };
        let total: Option<f64> = slowdowns.iter().map(slowdown).sum();
        let loss = 100.0 * (total? * share(1, slowdowns.len())).exp_m1();
        let name = single.name(&log.choices);
        Some(format!("always {name} ({what}): {loss:.2} % slower than the best choice"))
    };
    let fallback = optimization.fallback_among(&log.choices).and_then(|name| log.choice_id(name));
    let fallback = fallback.and_then(|first| always(SingleChoice { first, second: None }, "fallback"));
    let fallback = fallback.unwrap_or_else(|| {
        "always the fallback: unknown, because there is none or it was not measured on every input".to_owned()
    });
    let inputs =
        slowdowns.iter().map(|of_input| (1.0, of_input.iter().map(|(choice, loss)| (*choice, *loss))));
    let best = SingleChoice::best(log.choices.len(), &inputs, |_| true);
    let best = best.and_then(|best| always(best, "best single choice"));
    [shares_of_wins(log, wins), fallback].into_iter().chain(best).collect()
}

/// The choices that win, most frequent first.
fn shares_of_wins(log: &Log, wins: Vec<usize>) -> String {
    let mut winners: Vec<_> = log.choices.iter().zip(wins).filter(|(_, wins)| *wins > 0).collect();
    winners.sort_by_key(|(name, wins)| (Reverse(*wins), *name));
    let shown = winners.iter().take(SHOWN);
    let shown = shown.map(|(name, wins)| format!("{name} {:.1} %", 100.0 * share(*wins, log.inputs.len())));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match winners.len().saturating_sub(SHOWN) {
        0 => format!("wins: {shown}"),
        more => format!("wins: {shown}, and {more} more choices"),
    }
}

/// How far the times of a choice on an input differ: the greatest against the least. Equal times are copies of one measurement.
fn noise(inputs: &[Times]) -> Option<String> {
    let mut spreads = Vec::new();
    for times in inputs.iter().flat_map(BTreeMap::values) {
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = times.iter().copied().fold(0.0, f64::max);
        if greatest.is_finite() && greatest > least {
            spreads.push(100.0 * (greatest / least - 1.0));
        }
    }
    spreads.sort_unstable_by(f64::total_cmp);
    let last = spreads.len().checked_sub(1)?;
    let at = |share: f64| spreads[(last as f64 * share).round() as usize];
    Some(format!(
        "noise: the times of one choice on one input differ by {:.2} % in the median, {:.2} % in the worst twentieth ({} compared)",
        at(0.5),
        at(0.95),
        spreads.len()
    ))
}

/// How often the halves of the repetitions have different winners, and what taking the first half's winner loses by the times of
/// the second.
fn flips(inputs: &[Times]) -> String {
    let (mut compared, mut changed, mut loss) = (0, 0, 0.0);
    for times in inputs {
        let halves = times.iter().map(|(choice, times)| (choice, times.split_at(times.len() / 2)));
        let halves: Vec<_> = halves.filter(|(_, (first, _))| !first.is_empty()).collect();
        let first = ranked(halves.iter().map(|(choice, (first, _))| (*choice, *first)));
        let second = ranked(halves.iter().map(|(choice, (_, second))| (*choice, *second)));
        let (&[(_, before), _, ..], &[(best_ms, after), ..]) = (&first[..], &second[..]) else { continue };
        compared += 1;
        changed += usize::from(before != after);
        let again = second.iter().find(|(_, choice)| *choice == before);
        loss += again.map_or(0.0, |(ms, _)| (ms / best_ms).ln());
    }
    if compared == 0 {
        return "one time for each choice and input, so nothing shows how often winners change".to_owned();
    }
    format!(
        "flips: the halves of the repetitions have different winners on {:.1} % of {compared} inputs; taking the other half's \
         winner loses {:.2} %",
        100.0 * share(changed, compared),
        100.0 * (loss * share(1, compared)).exp_m1()
    )
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
        let expected = [
            "x: 3 inputs, 3 choices, 8 rows",
            "failed: 1 rows",
            "size: 3 values, 1 to 3",
            "wins: b 66.7 %, a 33.3 %",
            // The cube root of 4.
            "always a (fallback): 58.74 % slower than the best choice",
            // c where it has a time, else a: 1, 2 and 1.5.
            "always c, else a (best single choice): 44.22 % slower than the best choice",
            "one time for each choice and input, so nothing shows how often winners change",
        ];
        assert_eq!(facts(&log, &optimization), expected);
    }

    #[test]
    fn the_halves_of_the_repetitions_are_compared() {
        // Size 2's winner changes within 3 %; on size 3, b has one time, so nothing can change.
        let log = log(
            "1,a,1\n1,b,2\n2,a,1.00\n2,b,1.01\n3,a,1\n3,b,9\n2,b,1\n2,a,1.02\n1,b,2.1\n1,a,1.1\n3,a,1.5\n",
        );
        let times = times(&log);
        let noise = noise(&times).unwrap();
        assert!(
            noise.contains(" 5.00 % in the median, 50.00 %") && noise.contains("(5 compared)"),
            "{noise}"
        );
        let flips = flips(&times);
        assert!(flips.contains("different winners on 50.0 % of 2 inputs"), "{flips}");
        // The square root of 1.02.
        assert!(flips.ends_with("loses 1.00 %"), "{flips}");
    }
}
