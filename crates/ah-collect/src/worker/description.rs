//! What a worker describes: its choices and features, checked.

use std::collections::HashSet;

use ah_measure::protocol::{Description, shorten};
use ah_model::Feature;
use ah_types::{Optimization, TimingPolicy};
use serde_json::json;

/// More choices than this are a mistake.
pub const MOST_CHOICES: usize = 10_000;

/// Where the optimization of a worker comes from.
#[derive(Clone, Debug)]
pub enum Named {
    /// The worker describes it, perhaps but for its name.
    ByWorker(Option<String>),
    /// It is known already.
    Optimization(Box<Optimization>),
}

/// The optimization that is described.
///
/// # Errors
/// The first mistake: expected and found.
pub(super) fn optimization(described: &Description, named: Named) -> Result<Optimization, String> {
    check(described)?;
    check_timing(&described.timing)?;
    let mut optimization = match named {
        Named::Optimization(optimization) => {
            expect_features(&optimization, &described.features)?;
            *optimization
        }
        Named::ByWorker(name) => {
            let name = name.as_deref().or(described.name.as_deref());
            named_optimization(described, name.ok_or("it has no name; give --name NAME")?)?
        }
    };
    // What the optimization states wins over what the worker measured.
    let stated = std::mem::take(&mut optimization.feature_ms);
    optimization.feature_ms = described.feature_ms.clone().into_iter().chain(stated).collect();
    Ok(optimization)
}

/// A field that differs between the descriptions of two processes of one worker. Times that it measures may differ.
pub fn difference(before: &Description, now: &Description) -> Option<String> {
    let [before, now] = [before, now].map(|description| json!(description));
    let keys = [&before, &now].into_iter().filter_map(|description| description.as_object());
    let mut keys = keys
        .flat_map(|fields| fields.keys())
        .filter(|key| !["feature_ms", "decision_ns"].contains(&key.as_str()));
    keys.find(|key| before[*key] != now[*key]).map(|key| {
        let [before, now] = [&before, &now].map(|fields| shorten(&fields[key].to_string()));
        format!("another value of {key:?}: {now}, before {before}")
    })
}

/// Checks the choices and the times that a worker describes.
fn check(described: &Description) -> Result<(), String> {
    let Description { choices, fallback, eligible, features, feature_ms, decision_ns, .. } = described;
    check_choices(choices.iter())?;
    if let Some(choice) = choices.iter().find(|choice| !is_name(choice)) {
        return Err(format!("the choice {choice:?}: expected a name of one line"));
    }
    for (name, ms) in feature_ms {
        if !features.iter().any(|feature| feature.name == *name) {
            return Err(format!("feature_ms: {name:?} is none of the features"));
        }
        if !(ms.is_finite() && *ms >= 0.0) {
            return Err(format!("feature_ms: expected milliseconds of {name:?}, found {ms}"));
        }
    }
    if let Some((language, ns)) = decision_ns.iter().find(|(_, ns)| !(ns.is_finite() && **ns > 0.0)) {
        return Err(format!("decision_ns: expected nanoseconds in {language:?}, found {ns}"));
    }
    let known: HashSet<&String> = choices.iter().collect();
    match fallback.iter().chain(eligible.keys()).find(|name| !known.contains(name)) {
        Some(unknown) => Err(format!("{unknown:?}, of fallback or eligible, is none of the choices")),
        None => Ok(()),
    }
}

/// Checks that there are several choices, and each once.
pub fn check_choices<'a>(mut choices: impl ExactSizeIterator<Item = &'a String>) -> Result<(), String> {
    if !(2..=MOST_CHOICES).contains(&choices.len()) {
        return Err(format!("expected 2 to {MOST_CHOICES} choices, found {}", choices.len()));
    }
    let mut seen = HashSet::new();
    let twice = choices.find(|choice| !seen.insert(*choice));
    twice.map_or(Ok(()), |choice| Err(format!("the choice {choice:?} is there twice")))
}

fn is_name(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains(char::is_control)
}

/// The optimization that a worker describes, under this name.
fn named_optimization(described: &Description, name: &str) -> Result<Optimization, String> {
    if described.features.is_empty() {
        return Err("expected at least one feature".to_owned());
    }
    for Feature { name, .. } in &described.features {
        if !is_name(name) {
            return Err(format!("the feature {name:?}: expected a name of one line"));
        }
        if ["choice", "feedback"].contains(&name.as_str()) {
            return Err(format!("the feature {name:?}: a log has a column of this name; rename it"));
        }
    }
    Ok(Optimization {
        description: described.description.clone(),
        features: described.features.clone(),
        fallback: described.fallback.clone(),
        eligible: described.eligible.clone(),
        ..Optimization::new(name)
    })
}

/// Checks that an optimization has the features of the worker.
fn expect_features(optimization: &Optimization, found: &[Feature]) -> Result<(), String> {
    let kinds = |features: &[Feature]| {
        features.iter().map(|f| format!("{} ({})", f.name, f.kind)).collect::<Vec<_>>().join(", ")
    };
    let ours = kinds(&optimization.features);
    let theirs = kinds(found);
    if ours == theirs {
        return Ok(());
    }
    Err(format!("expected the features of {:?}, {ours}, found {theirs}", optimization.name))
}

/// Checks the timing policy that a worker describes.
fn check_timing(policy: &TimingPolicy) -> Result<(), String> {
    let fields = [
        ("repetitions", "1 to 1000", (1..=1000).contains(&policy.repetitions)),
        ("max_samples", "1 to 10000", (1..=10_000).contains(&policy.max_samples)),
        ("warmup_runs", "at most 1000", policy.warmup_runs <= 1000),
        ("budget_ms", "a number above 0", policy.budget_ms > 0.0 && policy.budget_ms.is_finite()),
        ("min_sample_ms", "at least 0", policy.min_sample_ms >= 0.0),
        ("target_relative_error", "at least 0", policy.target_relative_error >= 0.0),
        // Below 1, the fastest choice would stop early.
        ("early_stop_ratio", "at least 1", policy.early_stop_ratio >= 1.0),
    ];
    if let Some((field, expected, _)) = fields.into_iter().find(|(_, _, is_valid)| !is_valid) {
        let found = &json!(policy)[field];
        return Err(format!("timing: {field}: expected {expected}, found {found}"));
    }
    Ok(())
}
