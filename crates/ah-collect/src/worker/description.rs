//! What a worker describes: its choices and features, checked.

use std::collections::{BTreeMap, HashSet};
use std::ops::Deref;

use ah_measure::protocol::Description;
use ah_measure::{Experiment, this_cpu};
use ah_types::{Optimization, TimingPolicy};
use serde_json::Value as Json;

/// More choices than this are a mistake.
const MOST_CHOICES: usize = 10_000;

/// Where the optimization of a worker comes from.
#[derive(Clone, Debug)]
pub enum Named {
    /// The worker describes it.
    #[cfg_attr(not(feature = "kernels"), allow(dead_code))]
    ByWorker,
    /// The worker describes it but for its name.
    #[cfg(feature = "kernels")]
    Name(String),
    /// The worker describes it; this is its name unless the worker has one.
    Unless(String),
    /// It is known already.
    Optimization(Box<Optimization>),
}

/// Returns the experiment that is described.
///
/// # Errors
/// The first mistake: expected and found.
pub(super) fn experiment(description: &Description, named: Named) -> Result<Experiment, String> {
    Described(description).experiment(named)
}

/// Returns what differs between the descriptions of two processes of one worker. Times that it measures may differ.
pub fn difference(before: &Description, now: &Description) -> Option<&'static str> {
    let timeless = |d: &Description| Description {
        feature_ms: BTreeMap::new(),
        decision_ns: BTreeMap::new(),
        ..d.clone()
    };
    [
        (before.choices != now.choices, "other choices"),
        (before.features != now.features, "other features"),
        (before.device != now.device, "another device"),
        (before.name != now.name, "another name"),
        (before.fallback != now.fallback, "another fallback"),
        (before.inputs != now.inputs, "other inputs"),
        (timeless(before) != timeless(now), "other conditions, timing or requests"),
    ]
    .into_iter()
    .find_map(|(differs, what)| differs.then_some(what))
}

struct Described<'d>(&'d Description);

impl Deref for Described<'_> {
    type Target = Description;

    fn deref(&self) -> &Description {
        self.0
    }
}

impl Described<'_> {
    fn experiment(&self, named: Named) -> Result<Experiment, String> {
        self.check_choices()?;
        let mut optimization = match named {
            Named::Optimization(optimization) => self.expect_features_of(*optimization)?,
            #[cfg(feature = "kernels")]
            Named::Name(name) => self.optimization(&name)?,
            Named::Unless(name) => self.optimization(self.name.as_deref().unwrap_or(&name))?,
            Named::ByWorker => {
                self.optimization(self.name.as_deref().ok_or("it has no name; give --name NAME")?)?
            }
        };
        // What the optimization states wins over what the worker measured.
        let stated = std::mem::take(&mut optimization.feature_ms);
        optimization.feature_ms = self.feature_ms.clone().into_iter().chain(stated).collect();
        Ok(Experiment {
            optimization,
            device: self.device.clone().unwrap_or_else(this_cpu),
            choices: self.choices.clone(),
            timing: self.timing()?,
        })
    }

    fn check_choices(&self) -> Result<(), String> {
        if !(2..=MOST_CHOICES).contains(&self.choices.len()) {
            return Err(format!("expected 2 to {MOST_CHOICES} choices, found {}", self.choices.len()));
        }
        let mut seen = HashSet::new();
        for choice in &self.choices {
            if choice.trim().is_empty() || choice.contains(char::is_control) {
                return Err(format!("the choice {choice:?}: expected a name of one line"));
            }
            if !seen.insert(choice) {
                return Err(format!("the choice {choice:?} is there twice"));
            }
        }
        self.check_feature_ms()?;
        let named = self.fallback.iter().chain(self.eligible.keys());
        match named.into_iter().find(|name| !seen.contains(name)) {
            Some(unknown) => Err(format!("{unknown:?}, of fallback or eligible, is none of the choices")),
            None => Ok(()),
        }
    }

    fn check_feature_ms(&self) -> Result<(), String> {
        for (name, ms) in &self.feature_ms {
            if !self.features.iter().any(|feature| feature.name == *name) {
                return Err(format!("feature_ms: {name:?} is none of the features"));
            }
            if !(ms.is_finite() && *ms >= 0.0) {
                return Err(format!("feature_ms: expected milliseconds of {name:?}, found {ms}"));
            }
        }
        match self.decision_ns.iter().find(|(_, ns)| !(ns.is_finite() && **ns > 0.0)) {
            Some((language, ns)) => {
                Err(format!("decision_ns: expected nanoseconds in {language:?}, found {ns}"))
            }
            None => Ok(()),
        }
    }

    fn optimization(&self, name: &str) -> Result<Optimization, String> {
        if self.features.is_empty() {
            return Err("expected at least one feature".to_owned());
        }
        if let Some(feature) =
            self.features.iter().find(|f| f.name.trim().is_empty() || f.name.contains(char::is_control))
        {
            return Err(format!("the feature {:?}: expected a name of one line", feature.name));
        }
        if let Some(feature) =
            self.features.iter().find(|f| ["choice", "feedback"].contains(&f.name.as_str()))
        {
            return Err(format!(
                "the feature {:?}: a log has a column of this name; rename it",
                feature.name
            ));
        }
        let rule = |(name, condition): (&String, &String)| ah_types::ChoiceRule {
            name: name.clone(),
            eligible: Some(condition.clone()),
        };
        Ok(Optimization {
            description: self.description.clone(),
            features: self.features.clone(),
            fallback: self.fallback.clone(),
            choices: self.eligible.iter().map(rule).collect(),
            ..Optimization::new(name)
        })
    }

    /// Returns an optimization that has the features of the worker.
    fn expect_features_of(&self, optimization: Optimization) -> Result<Optimization, String> {
        let kinds = |features: &[ah_types::Feature]| {
            features.iter().map(|f| format!("{} ({})", f.name, f.kind)).collect::<Vec<_>>().join(", ")
        };
        let (ours, theirs) = (kinds(&optimization.features), kinds(&self.features));
        if ours != theirs {
            let name = &optimization.name;
            return Err(format!("expected the features of {name:?}, {ours}, found {theirs}"));
        }
        Ok(optimization)
    }

    /// Returns the default timing policy with the described fields.
    fn timing(&self) -> Result<TimingPolicy, String> {
        let mut policy = serde_json::to_value(TimingPolicy::default()).map_err(|e| e.to_string())?;
        if let Json::Object(fields) = &mut policy {
            fields.extend(self.timing.clone());
        }
        let policy: TimingPolicy = serde_json::from_value(policy).map_err(|e| format!("timing: {e}"))?;
        let is_valid = (1..=1000).contains(&policy.repetitions)
            && (1..=10_000).contains(&policy.max_samples)
            && policy.warmup_runs <= 1000
            && policy.budget_ms > 0.0
            && policy.budget_ms.is_finite();
        if !is_valid {
            return Err(
                "timing: expected 1 to 1000 repetitions, 1 to 10000 samples and a budget above 0".to_owned()
            );
        }
        Ok(policy)
    }
}
