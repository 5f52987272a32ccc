//! The steps that compute the features of an ASlib scenario: what each provides and needs, by `description.txt`, and what it
//! takes, by `feature_costs.arff`.
//!
//! A step becomes a group of features: its own, and those of each step that needs it. A program that uses one of them runs the
//! step once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::arff::Arff;
use super::rows::FeatureTimes;
use crate::error::ImportError;

/// Returns what the features of a scenario with this description take; nothing where it has no costs.
pub fn times(folder: &Path, description: &str) -> Result<FeatureTimes, ImportError> {
    let path = folder.join("feature_costs.arff");
    if !path.exists() {
        return Ok(FeatureTimes::default());
    }
    let ms = mean_milliseconds(&Arff::open(&path)?);
    let mut groups = groups(description);
    groups.retain(|step, _| ms.contains_key(step));
    Ok(FeatureTimes { ms, groups })
}

/// Returns the mean milliseconds of each step over the instances on which it has a cost, in seconds.
fn mean_milliseconds(costs: &Arff) -> BTreeMap<String, f64> {
    let is_step = |name: &&String| !["instance_id", "repetition"].contains(&name.as_str());
    let mean = |at: usize| {
        let known = costs.rows.iter().filter_map(|(_, row)| row[at].as_deref()?.parse::<f64>().ok());
        let seconds: Vec<f64> = known.filter(|seconds| seconds.is_finite() && *seconds >= 0.0).collect();
        (!seconds.is_empty()).then(|| 1e3 * seconds.iter().sum::<f64>() / seconds.len() as f64)
    };
    let steps = costs.columns.iter().enumerate().filter(|(_, name)| is_step(name));
    steps.filter_map(|(at, name)| Some((name.clone(), mean(at)?))).collect()
}

/// One step of a description.
#[derive(Default)]
struct Step {
    provides: Vec<String>,
    requires: Vec<String>,
}

/// Returns the features for which each step runs.
fn groups(description: &str) -> BTreeMap<String, Vec<String>> {
    let steps = steps(description);
    let mut groups: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, step) in &steps {
        // The step itself, and all that must run before it.
        let (mut needed, mut open) = (BTreeSet::new(), vec![name]);
        while let Some(name) = open.pop() {
            if needed.insert(name) {
                open.extend(steps.get(name).iter().flat_map(|step| &step.requires));
            }
        }
        for needed in needed {
            groups.entry(needed.clone()).or_default().extend(step.provides.iter().cloned());
        }
    }
    groups.into_iter().map(|(name, features)| (name, Vec::from_iter(features))).collect()
}

/// Reads the section `feature_steps` of a description, which is YAML: by step, lists of features under `provides` and of steps
/// under `requires`.
fn steps(description: &str) -> BTreeMap<String, Step> {
    let text = |text: &str| text.trim().trim_matches(['\'', '"']).to_owned();
    let mut steps: BTreeMap<String, Step> = BTreeMap::new();
    let (mut name, mut is_provided) = (String::new(), true);
    let lines = description.lines().skip_while(|line| !line.starts_with("feature_steps:")).skip(1);
    // The next section is not indented.
    for line in lines.take_while(|line| line.starts_with([' ', '\t']) || line.trim().is_empty()) {
        let line = line.trim();
        if let Some(item) = line.strip_prefix("- ") {
            let step = steps.entry(name.clone()).or_default();
            let list = if is_provided { &mut step.provides } else { &mut step.requires };
            list.push(text(item));
        } else if let Some((key, rest)) = line.split_once(':') {
            match key {
                "provides" | "requires" => {
                    is_provided = key == "provides";
                    let step = steps.entry(name.clone()).or_default();
                    let list = if is_provided { &mut step.provides } else { &mut step.requires };
                    let items = rest.trim().trim_matches(['[', ']']).split(',').map(text);
                    list.extend(items.filter(|item| !item.is_empty() && item != "null"));
                }
                _ => name = text(key),
            }
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_runs_for_its_own_features_and_for_those_of_steps_that_need_it() {
        let description = "default_steps:\n- Pre\nfeature_steps:\n  Pre:\n    provides:\n    - n\n  'Walk':\n    provides:\n    \
                           - 'a:b'\n    - c\n    requires:\n    - Basic\n  Basic:\n    provides: [m]\n    requires: Pre\n\
                           features_cutoff_time: 1\n  other:\n";
        let groups = groups(description);
        let expected = [
            ("Basic", vec!["a:b", "c", "m"]),
            ("Pre", vec!["a:b", "c", "m", "n"]),
            ("Walk", vec!["a:b", "c"]),
        ];
        let groups: Vec<(&str, Vec<&str>)> = groups
            .iter()
            .map(|(name, features)| (name.as_str(), features.iter().map(String::as_str).collect()))
            .collect();
        assert_eq!(groups, expected);
    }
}
