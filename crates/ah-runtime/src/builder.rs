//! Setting up a decision point. Everything is checked here, once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ah_types::expr::{self, ParseError, TypeError};
use ah_types::feature::DuplicateFeature;
use ah_types::timing::TimingPolicy;
use ah_types::{
    Derived, DerivedError, Device, Feature, Features, ModelError, Optimization, OptimizationError, Schema,
};

use crate::auto_heuristic::{AutoHeuristic, Mode, Parts, Precondition};
use crate::env::Environment;
use crate::heuristic::Heuristic;
use crate::loaded_model::LoadedModel;

/// Sets up an [`AutoHeuristic`]; see [`AutoHeuristic::builder`].
#[must_use = "a builder does nothing until `build`"]
pub struct Builder {
    name: String,
    choices: Vec<String>,
    fallback: Option<String>,
    features: Vec<Feature>,
    derived: Vec<Derived>,
    precondition: Option<PreconditionSource>,
    always_included: Vec<String>,
    heuristics: Vec<Arc<dyn Heuristic>>,
    models: Vec<PathBuf>,
    device: Option<Device>,
    environment: Option<Environment>,
    mode: Mode,
    log: Option<PathBuf>,
    timing: TimingPolicy,
}

enum PreconditionSource {
    Expression(String),
    Function(crate::auto_heuristic::PreconditionFn),
}

/// A decision point cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// No choices, or two of one name.
    #[error("{name}: expected one or more choices with distinct names, found {found:?}")]
    Choices {
        /// The decision point.
        name: String,
        /// What was given.
        found: Vec<String>,
    },
    /// No fallback, or one that is not among the choices.
    #[error("{name}: the fallback {fallback:?} is not among the choices {}", choices.join(", "))]
    Fallback {
        /// The decision point.
        name: String,
        /// What was given.
        fallback: String,
        /// The choices.
        choices: Vec<String>,
    },
    /// A choice that is always to be included does not exist.
    #[error("{name}: the choice {choice:?}, which is always to be included, is not among the choices")]
    AlwaysIncluded {
        /// The decision point.
        name: String,
        /// What was given.
        choice: String,
    },
    /// Two features share a name.
    #[error(transparent)]
    Feature(#[from] DuplicateFeature),
    /// A derived feature is malformed.
    #[error(transparent)]
    Derived(#[from] DerivedError),
    /// The precondition is malformed.
    #[error("precondition: {0}")]
    PreconditionSyntax(#[from] ParseError),
    /// The precondition does not fit the features, or is no truth value.
    #[error("precondition: {0}")]
    PreconditionType(#[from] TypeError),
    /// The optimization is malformed.
    #[error(transparent)]
    Optimization(#[from] OptimizationError),
    /// A model file cannot be used.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A heuristic or model was given that decides another optimization.
    #[error("{name}: the heuristic {heuristic:?} decides {optimization:?}; give it to that decision point")]
    OtherOptimization {
        /// The decision point.
        name: String,
        /// The heuristic.
        heuristic: String,
        /// What it decides.
        optimization: String,
    },
}

impl Builder {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            choices: Vec::new(),
            fallback: None,
            features: Vec::new(),
            derived: Vec::new(),
            precondition: None,
            always_included: Vec::new(),
            heuristics: Vec::new(),
            models: Vec::new(),
            device: None,
            environment: None,
            mode: Mode::Environment,
            log: None,
            timing: TimingPolicy::default(),
        }
    }

    /// The choices, by name. Their order is that of [`Answer::index`](crate::Answer::index).
    pub fn choices(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.choices = names.into_iter().map(Into::into).collect();
        self
    }

    /// What the program does without a heuristic, or when it is unsure. Without this call: the first choice.
    pub fn fallback(mut self, name: &str) -> Self {
        self.fallback = Some(name.to_owned());
        self
    }

    /// One more numerical feature of the context. The order of these calls is that of the values.
    pub fn numerical(self, name: &str) -> Self {
        self.feature(Feature::numerical(name))
    }

    /// One more categorical feature of the context.
    pub fn categorical(self, name: &str) -> Self {
        self.feature(Feature::categorical(name))
    }

    /// One more feature of the context.
    pub fn feature(mut self, feature: Feature) -> Self {
        self.features.push(feature);
        self
    }

    /// Takes features, derived features and, unless one is given, the fallback from an optimization's
    /// description. Its preconditions are in the heuristics that were learned with it.
    ///
    /// Call [`choices`](Self::choices) before: the fallback is the first of its list that is among them.
    pub fn optimization(mut self, optimization: &Optimization) -> Self {
        self.features.extend(optimization.features.iter().cloned());
        self.derived.extend(optimization.derived.iter().cloned());
        if self.fallback.is_none() {
            self.fallback = optimization.fallback_among(&self.choices).map(str::to_owned);
        }
        self
    }

    /// A derived feature, for the precondition and for heuristics that want it by this name.
    pub fn derived(mut self, name: &str, expression: &str) -> Self {
        self.derived.push(Derived { name: name.to_owned(), expression: expression.to_owned() });
        self
    }

    /// A truth value over the features (derived ones too); where it does not hold, the fallback is taken.
    pub fn precondition(mut self, expression: &str) -> Self {
        self.precondition = Some(PreconditionSource::Expression(expression.to_owned()));
        self
    }

    /// The precondition as a function of the values by slot.
    pub fn precondition_fn(
        mut self,
        holds: impl Fn(&[ah_types::Scalar<'_>]) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.precondition = Some(PreconditionSource::Function(Box::new(holds)));
        self
    }

    /// A choice that [`AutoHeuristic::top_k`] always includes, for example the vendor's library.
    pub fn always_include(mut self, choice: &str) -> Self {
        self.always_included.push(choice.to_owned());
        self
    }

    /// A heuristic of this decision point's own; it comes before those of the registry.
    pub fn heuristic(mut self, heuristic: impl Heuristic + 'static) -> Self {
        self.heuristics.push(Arc::new(heuristic));
        self
    }

    /// A model file; it comes before the heuristics of the registry.
    pub fn model(mut self, path: impl AsRef<Path>) -> Self {
        self.models.push(path.as_ref().to_owned());
        self
    }

    /// The device that the kernels run on. Without this call: this processor.
    pub fn device(mut self, device: Device) -> Self {
        self.device = Some(device);
        self
    }

    /// Consult or collect whatever the environment says.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The log's file, whatever the environment says.
    pub fn log(mut self, path: impl AsRef<Path>) -> Self {
        self.log = Some(path.as_ref().to_owned());
        self
    }

    /// How the feedback is measured, for the log's metadata.
    pub fn timing(mut self, policy: TimingPolicy) -> Self {
        self.timing = policy;
        self
    }

    /// Another environment than the process's own, for tests and embedding.
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
    /// [`SetupError`] says what does not fit.
    pub fn build(self) -> Result<AutoHeuristic, SetupError> {
        let environment = self.environment_or_current();
        let name = self.name;
        let mut sorted: Vec<&str> = self.choices.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.is_empty() || sorted.len() < self.choices.len() {
            return Err(SetupError::Choices { name, found: self.choices });
        }
        let fallback = self.fallback.unwrap_or_else(|| self.choices[0].clone());
        let position = |choice: &str| self.choices.iter().position(|c| c == choice);
        let Some(fallback) = position(&fallback) else {
            return Err(SetupError::Fallback { name, fallback, choices: self.choices });
        };
        let mut always_included = Vec::new();
        for choice in self.always_included {
            match position(&choice) {
                Some(index) => always_included.push(index),
                None => return Err(SetupError::AlwaysIncluded { name, choice }),
            }
        }
        let features = Features::new(Schema::new(self.features)?, &self.derived)?;
        let precondition = match self.precondition {
            None => None,
            Some(PreconditionSource::Function(holds)) => Some(Precondition::Function(holds)),
            Some(PreconditionSource::Expression(text)) => {
                let parsed = expr::parse(&text)?;
                Some(Precondition::Expression(parsed.resolve(features.all())?.expect_bool(&parsed)?))
            }
        };
        let mut heuristics = self.heuristics;
        for path in &self.models {
            heuristics.push(Arc::new(LoadedModel::read(path)?));
        }
        if let Some(other) = heuristics.iter().find(|h| h.optimization() != name) {
            return Err(SetupError::OtherOptimization {
                name,
                heuristic: other.name().to_owned(),
                optimization: other.optimization().to_owned(),
            });
        }
        Ok(AutoHeuristic::new(Parts {
            name,
            choices: self.choices,
            fallback,
            features,
            precondition,
            always_included,
            heuristics,
            device: self.device.unwrap_or_else(|| crate::this_cpu().clone()),
            mode: self.mode,
            log: self.log,
            timing: self.timing,
            environment,
        }))
    }
}
