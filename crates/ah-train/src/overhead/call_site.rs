//! How a program asks: for which targets, on which kind of device, and what its features and its decisions take.

use ah_model::{Device, Feature, FeatureKind, Features, Model, Purpose, Target};
use ah_types::log::Metadata;

use super::added::Overhead;
use super::decision_time::{self, Arguments, VisitedParts};
use super::footprint::Footprint;

/// How a program asks a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallSite {
    /// The targets, whose slowest one counts, and what the log and people say about the times of features and decisions.
    pub purpose: Purpose,
    /// The slots of the logged features of a known time, with the milliseconds, the most expensive first.
    pub feature_ms: Vec<(usize, f64)>,
    /// What a call passes, and the names of the features of an unknown time.
    arguments: Arguments,
    untimed: Vec<String>,
    /// True if the heuristic tests the range of each feature that it reads before it decides.
    pub tests_range: bool,
    /// True if nothing says whether the device runs while the host decides: the log names no device, and nobody named the target.
    is_guess: bool,
    /// The imported rates of a log whose times are of an amount: nobody knows how long a decision is beside a run, so none is counted.
    pub rates: Option<String>,
}

impl CallSite {
    /// How a program asks a model of this purpose with these features. A log with this metadata knows better whether the device
    /// runs while the host decides.
    pub fn new(mut purpose: Purpose, features: &Features, metadata: &Metadata) -> Self {
        let is_gpu = is_gpu(metadata);
        let logged = features.base();
        purpose.overlaps = is_gpu.unwrap_or(purpose.overlaps);
        purpose.feature_ms.retain(|name, _| logged.slot(name).is_some());
        let ms = |feature: &Feature| purpose.feature_ms.get(&feature.name).copied();
        let slots = logged.features().iter().enumerate();
        let mut feature_ms: Vec<(usize, f64)> =
            slots.filter_map(|(slot, feature)| Some((slot, ms(feature)?))).collect();
        feature_ms.sort_by(|a, b| b.1.total_cmp(&a.1));
        let untimed: Vec<&Feature> =
            logged.features().iter().filter(|feature| ms(feature).is_none()).collect();
        let is_category = |feature: &&&Feature| feature.kind == FeatureKind::Categorical;
        let categories = untimed.iter().filter(is_category).count() as f64;
        let arguments =
            Arguments { all: logged.len() as f64, numbers: untimed.len() as f64 - categories, categories };
        Self {
            feature_ms,
            arguments,
            untimed: untimed.iter().map(|feature| feature.name.clone()).collect(),
            tests_range: false,
            is_guess: purpose.overlaps && is_gpu.is_none(),
            rates: metadata.rates().map(str::to_owned),
            purpose,
        }
    }

    /// How a program asks a finished model. What a log with this metadata says counts before what the training knew.
    pub fn of_model(model: &Model, metadata: &Metadata) -> Self {
        let mut purpose = model.purpose.clone();
        if let Some(collection) = &metadata.collection {
            purpose.feature_ms.extend(collection.feature_ms.clone());
            purpose.decision_ns.extend(collection.decision_ns.clone());
        }
        Self { tests_range: model.precondition.is_some(), ..Self::new(purpose, &model.features, metadata) }
    }

    /// The time that a path of these parts through a model adds to a run: its share of the decision.
    pub fn overhead(&self, used: &Footprint, parts: &VisitedParts) -> Overhead {
        let needed = self.feature_ms.iter().filter(|(slot, _)| used.logged.contains(slot));
        // A program that keeps its answer for good computes the features once.
        let counts = self.is_awaited() && self.rates.is_none();
        let features_ms: f64 = needed.map(|(_, ms)| ms).filter(|_| counts).sum();
        let decides = parts.splits > 0.0 || parts.rows > 0.0;
        let range_tests = if self.tests_range && decides { 2.0 * used.logged.len() as f64 } else { 0.0 };
        let parts = &VisitedParts { splits: parts.splits + range_tests, ..*parts };
        let features_ms = features_ms / self.purpose.runs_per_decision.unwrap_or(1.0);
        Overhead { ms: features_ms + self.decision_ms(parts), overlaps: self.purpose.overlaps }
    }

    /// The milliseconds of a run for reading the features of an unknown time in the slowest target.
    pub fn reading_ms(&self) -> f64 {
        let one = VisitedParts { splits: 1.0, ..VisitedParts::default() };
        let arguments = Arguments { numbers: 0.0, categories: 0.0, ..self.arguments };
        self.decision_ms(&one) - Self { arguments, ..self.clone() }.decision_ms(&one)
    }

    /// The milliseconds of a run for its share of a decision in the slowest target.
    fn decision_ms(&self, parts: &VisitedParts) -> f64 {
        let targets = self.purpose.targets.iter().filter(|_| self.rates.is_none());
        let ms = targets.map(|target| self.milliseconds(*target, parts));
        ms.fold(0.0, f64::max) / self.purpose.runs_per_decision.unwrap_or(1.0)
    }

    /// The milliseconds of a decision in a target; 0 where no run waits for it.
    fn milliseconds(&self, target: Target, parts: &VisitedParts) -> f64 {
        decision_time::milliseconds(target, &self.arguments, parts, &self.purpose.decision_ns)
    }

    /// The target in which a small decision takes longest.
    pub fn slowest(&self) -> Option<Target> {
        let one = VisitedParts { splits: 1.0, ..VisitedParts::default() };
        let by_time =
            |a: &Target, b: &Target| self.milliseconds(*a, &one).total_cmp(&self.milliseconds(*b, &one));
        self.purpose.targets.iter().copied().filter(|target| target.asks_each_run()).max_by(by_time)
    }

    /// The milliseconds that a run waits for testing both ends of the range of this number of features.
    pub fn range_tests_ms(&self, features: usize) -> f64 {
        let [one, tests] = [1.0, 1.0 + 2.0 * features as f64]
            .map(|splits| self.decision_ms(&VisitedParts { splits, ..VisitedParts::default() }));
        if self.purpose.overlaps { 0.0 } else { tests - one }
    }

    /// Whether every program that asks says which choices it can run.
    pub fn names_choices(&self) -> bool {
        self.purpose.targets.iter().all(|target| target.names_choices())
    }

    /// Whether no run waits for an answer, or nobody knows how long.
    pub fn is_free(&self) -> bool {
        self.rates.is_some() || self.purpose.overlaps || !self.is_awaited()
    }

    /// Whether some program asks again for each run, and waits for the answer.
    fn is_awaited(&self) -> bool {
        self.purpose.targets.iter().any(|target| target.asks_each_run())
    }

    /// A sentence for the user where the log does not say how long decisions take.
    pub fn note(&self) -> Option<String> {
        if let Some(rates) = &self.rates {
            return Some(format!(
                "the log has {rates} of an unknown amount, so its milliseconds are not those of a run, and what a decision takes is not \
                 counted. Import the times of runs to count it"
            ));
        }
        if self.is_guess && self.is_awaited() {
            return Some(format!(
                "the log names no device: a decision counts as beside a GPU, only where it outlasts the choice. --target {} counts all of \
                 it, --runs-per-decision N its share",
                self.purpose.targets[0].name()
            ));
        }
        let targets = decision_time::by_our_table(&self.purpose.targets, &self.purpose.decision_ns);
        let words: Vec<&str> = targets.iter().map(|target| target.words()).collect();
        let unit = (!words.is_empty()).then(|| {
            format!("the log has no decision_ns, so a table prices decisions {}", words.join(" and "))
        });
        // Who measures in Rust reads fields.
        let features = self.of_features().filter(|_| unit.is_some() || self.reading_ms() > 0.0);
        unit.into_iter().chain(features).reduce(|unit, features| format!("{unit}, and {features}"))
    }

    /// A clause for the user where the log does not say how long its features take.
    fn of_features(&self) -> Option<String> {
        let name = self.untimed.first()?;
        let counted = match self.reading_ms() {
            0.0 => "nothing".to_owned(),
            ms => format!("{:.0} ns", ms * 1e6),
        };
        Some(format!("reading the features counts as {counted} (--feature-ns {name}=20,...)"))
    }
}

/// Whether a GPU runs the choices; `None` if the log does not say. PyTorch's logs have the capability of a GPU and no
/// device; a table names neither.
fn is_gpu(metadata: &Metadata) -> Option<bool> {
    let named = metadata.device().map(|device| matches!(device, Device::Cuda(_)));
    named.or_else(|| (metadata.device_capa != (0, 0)).then_some(true))
}

#[cfg(test)]
mod tests {
    use ah_model::Schema;

    use super::*;

    #[test]
    fn features_cost_where_a_run_waits_for_the_decision() {
        let schema = Schema::new(vec![Feature::numerical("entropy")]).unwrap();
        let features = Features::new(schema, &[]).unwrap();
        let asking = |target: Target| {
            let feature_ms = [("entropy".to_owned(), 2.0)].into();
            let purpose = Purpose { targets: vec![target], feature_ms, ..Purpose::default() };
            let site = CallSite::new(purpose, &features, &Metadata::default());
            let used = Footprint { logged: [0].into(), ..Footprint::default() };
            site.overhead(&used, &VisitedParts { splits: 1.0, ..VisitedParts::default() }).ms
        };
        assert_eq!((asking(Target::Triton), asking(Target::Inductor)), (0.0, 0.0));
        assert!(asking(Target::Rust) > 2.0);
    }
}
