//! Setting up a decision point. The builder checks everything, once.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use ah_model::{Device, Error, Feature, Invalid, Schema, expr};
#[cfg(feature = "record")]
use ah_types::{Optimization, TimingPolicy};

use arc_swap::ArcSwap;

use super::auto_heuristic::AutoHeuristic;
use super::binding::{Binding, Bindings, Interface, Misfit};
#[cfg(feature = "record")]
use super::recorder::Recorder;
use crate::environment::Environment;
use crate::heuristics::{Heuristic, LoadedModel};
use crate::names;
use crate::warnings::{Warnings, warn_user};

/// A shorter pin could name another version too.
const SHORTEST_PIN: usize = 8;

/// Whether a decision point consults, collects, or does neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// As [the environment](crate::Environment) sets it; without a variable it consults.
    #[default]
    FromEnvironment,
    /// Consults.
    Consult,
    /// Measures every choice, appends to the log, and takes the fallback.
    #[cfg(feature = "record")]
    Collect,
    /// Takes the fallback.
    Off,
}

/// Sets up an [`AutoHeuristic`]; see [`AutoHeuristic::builder`].
#[must_use = "a builder does nothing until `build`"]
#[derive(Default)]
pub struct AutoHeuristicBuilder {
    name: String,
    choices: Vec<String>,
    fallback: Option<String>,
    features: Vec<Feature>,
    precondition: Option<String>,
    heuristics: Vec<Arc<dyn Heuristic>>,
    models: Vec<PathBuf>,
    pins: Vec<String>,
    device: Option<Device>,
    environment: Option<Environment>,
    role: Role,
    #[cfg(feature = "record")]
    log: Option<PathBuf>,
    #[cfg(feature = "record")]
    timing: Option<TimingPolicy>,
}

impl AutoHeuristic {
    /// Begins the set-up of this optimization's decision point.
    pub fn builder(optimization: &str) -> AutoHeuristicBuilder {
        AutoHeuristicBuilder { name: optimization.to_owned(), ..AutoHeuristicBuilder::default() }
    }
}

impl AutoHeuristicBuilder {
    /// Sets the choices, in the order of [`Answer::index`](crate::Answer::index).
    pub fn choices(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.choices = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the choice to take without a heuristic, or when it is unsure. Default: the first choice.
    pub fn fallback(mut self, name: &str) -> Self {
        self.fallback = Some(name.to_owned());
        self
    }

    /// Adds a numerical feature. The calls' order is the order of the values.
    pub fn numerical(self, name: &str) -> Self {
        self.feature(Feature::numerical(name))
    }

    /// Adds a categorical feature.
    pub fn categorical(self, name: &str) -> Self {
        self.feature(Feature::categorical(name))
    }

    /// Adds a feature.
    pub fn feature(mut self, feature: Feature) -> Self {
        self.features.push(feature);
        self
    }

    /// Sets a truth value over the features. If it does not hold, the answer is the fallback.
    pub fn precondition(mut self, expression: &str) -> Self {
        self.precondition = Some(expression.to_owned());
        self
    }

    /// Adds a heuristic for this decision point; it comes before registered ones. It must fit: [`build`](Self::build) refuses one
    /// that could never decide here. If it was learned on another device, the answer is the fallback, with a warning.
    pub fn heuristic(mut self, heuristic: impl Heuristic + 'static) -> Self {
        self.heuristics.push(Arc::new(heuristic));
        self
    }

    /// Adds a model file, as [`heuristic`](Self::heuristic) adds a heuristic.
    pub fn model(mut self, path: impl AsRef<Path>) -> Self {
        self.models.push(path.as_ref().to_owned());
        self
    }

    /// Lets only a heuristic of this [version](Heuristic::version) decide; its first 8 characters are enough, fewer are an error. With
    /// another one the answer is the fallback, and a warning names both versions. All processes of a program that
    /// decides alike everywhere pin the same version.
    pub fn pin(mut self, version: &str) -> Self {
        self.pins.push(version.to_owned());
        self
    }

    /// Sets the device that the kernels run on. Default: this processor.
    pub fn device(mut self, device: Device) -> Self {
        self.device = Some(device);
        self
    }

    /// Sets the role, whatever the environment sets.
    pub fn role(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    /// Replaces the process's environment, for tests and embedding.
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = Some(environment);
        self
    }

    pub(crate) fn environment_or_current(&self) -> Environment {
        self.environment.clone().unwrap_or_else(|| Environment::current().clone())
    }

    /// Checks everything and finds the heuristics.
    ///
    /// # Errors
    /// [`Error`] names what does not fit: of the settings, or of a heuristic that was given with them. Such a heuristic has another
    /// fallback, a feature that the decision point lacks or has with another kind, or none of its choices.
    pub fn build(self) -> Result<AutoHeuristic, Error> {
        let environment = self.environment_or_current();
        let name = self.name;
        if self.choices.is_empty() {
            return Err(Error::Usage(format!("{name}: expected one or more choices, found none")));
        }
        Error::require_distinct("choices", "name", &self.choices, String::clone)
            .map_err(|e| Error::Usage(format!("{name}: {e}")))?;
        let fallback = self.fallback.unwrap_or_else(|| self.choices[0].clone());
        let Some(fallback) = self.choices.iter().position(|choice| *choice == fallback) else {
            let choices = self.choices.join(", ");
            return Err(Error::Usage(format!(
                "{name}: the fallback {fallback:?} is not among the choices {choices}"
            )));
        };
        let features = Schema::new(self.features)?;
        let precondition = |text: String| expr::parse(&text)?.resolve_bool(&features);
        let precondition = self.precondition.map(precondition).transpose();
        let precondition = precondition.map_err(|e: Invalid| Error::Invalid(format!("precondition: {e}")))?;
        if let Some(pin) = self.pins.iter().find(|pin| pin.len() < SHORTEST_PIN) {
            return Err(Error::Usage(format!(
                "{name}: expected {SHORTEST_PIN} or more characters of a version as the pin, found {pin:?}"
            )));
        }
        let mut heuristics = self.heuristics;
        for path in &self.models {
            heuristics.push(Arc::new(LoadedModel::read(path)?));
        }
        if let Some(other) = heuristics.iter().find(|h| h.optimization() != name) {
            let heuristic = other.name();
            let optimization = other.optimization();
            return Err(Error::Usage(format!(
                "{name}: the heuristic {heuristic:?} decides {optimization:?}; give it to that decision point"
            )));
        }
        let device = self.device.unwrap_or_else(|| this_cpu().clone());
        let interface =
            Interface { name, choices: self.choices, fallback, features, pins: self.pins, device };
        let name = &interface.name;
        for given in &heuristics {
            match Binding::new(given.clone(), &interface) {
                Ok(_) | Err(Misfit::Device(_)) => {}
                Err(misfit) => {
                    let heuristic = given.name();
                    return Err(Error::Usage(format!("{name}: cannot decide with {heuristic}: {misfit}")));
                }
            }
        }
        names::add(name, &environment);
        let is_listed = environment.consult.as_ref().is_none_or(|names| names.contains(name));
        let (consults, collects) = match self.role {
            Role::FromEnvironment => (is_listed, is_recorded(name, &environment)),
            Role::Consult => (true, false),
            #[cfg(feature = "record")]
            Role::Collect => (false, true),
            Role::Off => (false, false),
        };
        #[cfg(feature = "record")]
        let recorder = Recorder {
            path: self.log.or_else(|| environment.log_file(name, &interface.device)),
            timing: self.timing,
            log: std::sync::Mutex::default(),
        };
        let auto_heuristic = AutoHeuristic {
            interface,
            precondition,
            heuristics,
            consults,
            collects,
            #[cfg(feature = "record")]
            recorder,
            environment,
            warnings: Warnings::default(),
            bindings: ArcSwap::from_pointee(Bindings::default()),
        };
        auto_heuristic.bind();
        Ok(auto_heuristic)
    }
}

#[cfg(feature = "record")]
impl AutoHeuristicBuilder {
    /// Takes the features and, unless one is set, the fallback from an optimization's description. Its derived features and
    /// preconditions are part of the heuristics learned with it.
    ///
    /// Call [`choices`](Self::choices) first: the fallback is the first of the description's list that is a choice.
    pub fn optimization(mut self, optimization: &Optimization) -> Self {
        self.features.extend(optimization.features.iter().cloned());
        if self.fallback.is_none() {
            self.fallback = optimization.fallback_among(&self.choices).map(str::to_owned);
        }
        self
    }

    /// Sets the log's file, whatever the environment sets.
    pub fn log(mut self, path: impl AsRef<Path>) -> Self {
        self.log = Some(path.as_ref().to_owned());
        self
    }

    /// Sets the timing policy for the log's metadata, if the program's clock follows one. Default: none.
    pub fn timing(mut self, policy: TimingPolicy) -> Self {
        self.timing = Some(policy);
        self
    }
}

/// Whether the environment asks for the log of this optimization, which a program without the feature `record` does not write.
fn is_recorded(name: &String, environment: &Environment) -> bool {
    let is_asked = environment.collect.contains(name);
    if is_asked && !cfg!(feature = "record") {
        warn_user(&format!(
            "{name}: AUTOHEURISTIC_COLLECT has no effect, because the program is built without the feature `record` of ah-runtime"
        ));
    }
    is_asked && cfg!(feature = "record")
}

/// This processor, detected once.
fn this_cpu() -> &'static Device {
    static CPU: OnceLock<Device> = OnceLock::new();
    CPU.get_or_init(ah_model::this_cpu)
}
