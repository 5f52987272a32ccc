//! Setting up a MultiKernel.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use ah_model::{Error, Feature, FeatureKind, Scalar};
use arc_swap::ArcSwap;

use super::kernels::MultiKernel;
use super::measure::POLICY;
use super::picker::{Eligibility, Picker};
use super::picks::{self, Head, Table, Treatment};
use super::trial::Timer;
use crate::decide::{AutoHeuristic, AutoHeuristicBuilder};
use crate::environment::Environment;
use crate::find;
use crate::warnings::warn_user;

/// Sets up a [`MultiKernel`]; see [`MultiKernel::builder`].
#[must_use = "a builder does nothing until `build`"]
pub struct MultiKernelBuilder<F> {
    decision: AutoHeuristicBuilder,
    kernels: Vec<(String, String, F)>,
    eligible: BTreeMap<String, Eligibility>,
    exact: Vec<String>,
    max_picks: usize,
    timer: Timer,
    caches: bool,
    appends_to_log: Option<bool>,
}

impl<F> MultiKernel<F> {
    /// Begins the set-up. `decision` has the name and the features and, optionally, the fallback (default: the first
    /// kernel), the device and heuristics. Its choices are the kernels. Its precondition limits the heuristics only:
    /// outside it the kernels are measured.
    pub fn builder(decision: AutoHeuristicBuilder) -> MultiKernelBuilder<F> {
        MultiKernelBuilder {
            decision,
            kernels: Vec::new(),
            eligible: BTreeMap::new(),
            exact: Vec::new(),
            max_picks: 128,
            timer: Box::new(|run| {
                let begin = Instant::now();
                run();
                begin.elapsed().as_secs_f64() * 1e3
            }),
            caches: true,
            appends_to_log: None,
        }
    }
}

impl<F> MultiKernelBuilder<F> {
    /// Adds a kernel. Remembered picks count as long as all versions are the same; use the
    /// [hash of its source](crate::source_hash), or a number that you increase.
    #[allow(clippy::needless_pass_by_value)] // `.kernel("orig", 1, orig)` reads better than with `&1`.
    pub fn kernel(mut self, name: &str, version: impl ToString, function: F) -> Self {
        self.kernels.push((name.to_owned(), version.to_string(), function));
        self
    }

    /// Restricts a kernel to inputs for whose values `supports` returns true. It is called before every run, with the values in the
    /// order of the features.
    ///
    /// ```
    /// # use ah_runtime::{AutoHeuristic, MultiKernel};
    /// type Sum = fn(&[f32]) -> f32;
    /// fn forward(x: &[f32]) -> f32 { x.iter().sum() }
    /// fn in_pairs(x: &[f32]) -> f32 { x.chunks_exact(2).map(|pair| pair[0] + pair[1]).sum() }
    ///
    /// # fn main() -> Result<(), ah_runtime::Error> {
    /// let sum = MultiKernel::<Sum>::builder(AutoHeuristic::builder("sum").numerical("length"))
    ///     .kernel("forward", "1", forward) // the fallback supports every input
    ///     .kernel("in_pairs", "1", in_pairs)
    ///     .eligible("in_pairs", |values| values[0].number().is_some_and(|length| length % 2.0 == 0.0))
    ///     # .no_cache()
    ///     .build()?;
    /// assert_eq!(sum.run(&[3.into()], |kernel| kernel(&[1.0, 2.0, 4.0])), 7.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn eligible(
        mut self,
        kernel: &str,
        supports: impl Fn(&[Scalar<'_>]) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.eligible.insert(kernel.to_owned(), Box::new(supports));
        self
    }

    /// Measures each value of a numerical feature. Default: numbers between two powers of two share a pick.
    pub fn exact(mut self, feature: &str) -> Self {
        self.exact.push(feature.to_owned());
        self
    }

    /// Limits the remembered picks. Default: 128. Beyond the limit the heuristic or the fallback decides.
    pub fn max_picks(mut self, picks: usize) -> Self {
        self.max_picks = picks;
        self
    }

    /// Sets the timer. It must call its argument exactly once and return milliseconds. On a GPU: record an event on
    /// the stream before and after, and wait for the second. Default: the monotonic clock.
    pub fn timer(mut self, timer: impl Fn(&mut dyn FnMut()) -> f64 + Send + Sync + 'static) -> Self {
        self.timer = Box::new(timer);
        self
    }

    /// Turns the picks on disk off.
    pub fn no_cache(mut self) -> Self {
        self.caches = false;
        self
    }

    /// Sets whether measurements are appended to the decision point's log, for the next heuristic. Default: only if
    /// `AUTOHEURISTIC_COLLECT` lists its name.
    pub fn append_to_log(mut self, append: bool) -> Self {
        self.appends_to_log = Some(append);
        self
    }

    /// Checks everything and reads the picks on disk.
    ///
    /// # Errors
    /// [`Error`] names what does not fit. An unusable cache is only a warning.
    pub fn build(self) -> Result<MultiKernel<F>, Error> {
        let environment = self.decision.environment_or_current();
        let names: Vec<String> = self.kernels.iter().map(|(name, ..)| name.clone()).collect();
        let decision = self.decision.choices(names.iter().cloned()).timing(POLICY).build()?;
        let name = decision.name().to_owned();

        let eligible = eligibility(&decision, self.eligible)?;
        let treatments = treatments(&decision, &self.exact)?;
        // A decision point that is not enabled runs the fallback.
        let off = (!decision.is_enabled()).then(|| decision.fallback_index());
        let forced = environment.forced_kernel(&name).filter(|&kernel| {
            let exists = kernel < names.len();
            if !exists {
                warn_user(&format!(
                    "{name}: AUTOHEURISTIC_FORCE_KERNEL names kernel {kernel}, expected 0 to {}; ignored",
                    names.len() - 1
                ));
            }
            exists
        });
        let (versions, functions): (Vec<String>, Vec<F>) =
            self.kernels.into_iter().map(|(_, version, function)| (version, function)).unzip();
        let head = Head::new(&decision, &versions);
        let file = if self.caches { cache_file(&environment, &decision, &head) } else { None };
        // The generation first: heuristics that register in between make the table stale.
        let mut table = Table::new(treatments, find::generation(), decision.has_heuristics());
        match file.as_deref().map_or(Ok(Vec::new()), |file| picks::read(file, &head)) {
            Ok(found) => {
                for pick in found {
                    if table.len() < self.max_picks {
                        table.insert(pick);
                    }
                }
            }
            Err(error) => log::warn!("{name}: {error}; ignored"),
        }
        let picker = Picker {
            eligible,
            table: ArcSwap::from_pointee(table),
            changing: Mutex::default(),
            claimed: Mutex::default(),
            events: Mutex::default(),
            timer: self.timer,
            forced: forced.or(off),
            max_picks: self.max_picks,
            limit_reported: AtomicBool::new(false),
            appends_to_log: self.appends_to_log.unwrap_or_else(|| decision.collects()),
            file,
            writing: Mutex::default(),
            head,
            decision,
        };
        Ok(MultiKernel { functions, picker })
    }
}

/// Each kernel's check of its inputs, by position.
fn eligibility(
    decision: &AutoHeuristic,
    mut given: BTreeMap<String, Eligibility>,
) -> Result<Vec<Option<Eligibility>>, Error> {
    let name = decision.name();
    let kernels = decision.choices();
    let eligible: Vec<Option<Eligibility>> = kernels.iter().map(|kernel| given.remove(kernel)).collect();
    if let Some(kernel) = given.keys().next() {
        let known = kernels.join(", ");
        return Err(Error::Usage(format!("{name}: no kernel {kernel:?}; expected one of {known}")));
    }
    let fallback = decision.fallback_index();
    if eligible[fallback].is_some() {
        return Err(Error::Usage(format!(
            "{name}: the fallback {:?} has an eligibility check; choose a fallback that supports every input",
            kernels[fallback]
        )));
    }
    Ok(eligible)
}

/// How each feature is keyed, by slot.
fn treatments(decision: &AutoHeuristic, exact: &[String]) -> Result<Box<[Treatment]>, Error> {
    let schema = decision.features();
    let is_number =
        |name: &String| schema.get(name).is_some_and(|feature| feature.kind == FeatureKind::Numerical);
    if let Some(other) = exact.iter().find(|name| !is_number(name)) {
        let name = decision.name();
        return Err(Error::Usage(format!("{name}: {other:?} is not a numerical feature")));
    }
    let treatment = |feature: &Feature| match feature.kind {
        FeatureKind::Categorical => Treatment::Category,
        FeatureKind::Numerical if exact.contains(&feature.name) => Treatment::Exact,
        FeatureKind::Numerical => Treatment::Bucket,
    };
    Ok(schema.features().iter().map(treatment).collect())
}

/// The file of the picks on this device; `None` if there is no folder for it.
fn cache_file(environment: &Environment, decision: &AutoHeuristic, head: &Head) -> Option<PathBuf> {
    let folder = environment.picks_folder(decision.device());
    if folder.is_none() && environment.picks.is_none() {
        log::info!(
            "{}: no folder for the picks: set AUTOHEURISTIC_CACHE_DIR, or every start measures again",
            decision.name()
        );
    }
    Some(folder?.join(head.file_name()))
}
