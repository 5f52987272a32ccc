//! What a worker describes: its choices and features, checked.

use std::collections::HashSet;

use ah_measure::{Runner, Subject, this_cpu};
use ah_types::{Optimization, TimingPolicy};
use serde_json::Value as Json;

use super::protocol::{Description, VERSION};

/// More choices than this are a mistake.
const MOST_CHOICES: usize = 10_000;

/// Where the optimization of a worker comes from.
#[derive(Clone, Debug)]
pub enum Named {
    /// The worker describes it.
    ByWorker,
    /// The worker describes it but for its name.
    #[cfg(feature = "kernels")]
    Name(String),
    /// It is known already.
    Optimization(Box<Optimization>),
}

impl Description {
    /// Describes a runner of this process. Its optimization may name choices of other devices; they are left out.
    pub(super) fn of(runner: &dyn Runner) -> Self {
        let Subject { optimization, device, choices, timing } = runner.subject().clone();
        let is_here = |name: &String| choices.contains(name);
        let fallback = optimization.fallback.iter().filter(|name| is_here(name)).cloned().collect();
        let eligible = optimization.eligible().into_iter().filter(|(name, _)| is_here(name)).collect();
        Self {
            protocol: VERSION,
            name: Some(optimization.name.clone()),
            description: optimization.description.clone(),
            choices,
            eligible,
            features: optimization.features,
            feature_ms: optimization.training.feature_ms,
            fallback,
            inputs: Default::default(),
            device: Some(device),
            timing: serde_json::to_value(timing)
                .ok()
                .and_then(|t| t.as_object().cloned())
                .unwrap_or_default(),
            can: ["draw", "accept", "label", "check", "release"]
                .into_iter()
                .chain((runner.look_ahead() > 0).then_some("compile"))
                .map(str::to_owned)
                .collect(),
            batch: 1,
            simulated: runner.is_simulated(),
        }
    }

    /// Returns the subject that is described.
    pub(super) fn subject(&self, named: Named) -> Result<Subject, String> {
        self.check_choices()?;
        let mut optimization = match named {
            Named::Optimization(optimization) => self.expect_features_of(*optimization)?,
            #[cfg(feature = "kernels")]
            Named::Name(name) => self.optimization(&name)?,
            Named::ByWorker => {
                self.optimization(self.name.as_deref().ok_or("it has no name; give --name NAME")?)?
            }
        };
        // What the optimization states wins over what the worker measured.
        let stated = std::mem::take(&mut optimization.training.feature_ms);
        optimization.training.feature_ms = self.feature_ms.clone().into_iter().chain(stated).collect();
        Ok(Subject {
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
        let named = self.fallback.iter().chain(self.eligible.keys());
        match named.into_iter().find(|name| !seen.contains(name)) {
            Some(unknown) => Err(format!("{unknown:?}, of fallback or eligible, is none of the choices")),
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
