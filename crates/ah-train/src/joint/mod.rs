//! Many choices: a joint model of inputs and choices (`ah_joint`) learns from the times of all of them.
//!
//! It [completes](complete) sparse tables to learn from, and the times of choices that were added later. The portfolio is chosen from times and estimates. An estimate is no
//! evidence: a leaf ranks only choices that were measured there, and measured times alone judge.

mod estimates;

use ah_joint::MAX_CHOICES_WITHOUT_MODEL;
use ah_model::shown::listed;
use ah_model::{ChoiceId, Error};
use rustc_hash::FxHashSet;

use crate::data::{Dataset, Table};
use crate::learners::{cost_formula, dimensions};
use crate::params::MaxRisk;

use estimates::{completed, timings};

/// The share of missing cells from which on a table is sparse.
const SPARSE: f64 = 0.05;
/// Fewest choices that an input must time on average, so that choices can be compared.
const LEAST_TIMED: f64 = 3.0;

/// Whether a portfolio replaces all choices: there are many, and a missing time means that it was not measured. A choice
/// without fields may be missing because it cannot run.
pub fn is_of_many(table: &Table, inputs: &[u32]) -> bool {
    let is_many = table.choices.len() > MAX_CHOICES_WITHOUT_MODEL;
    is_many && timed_share(table, inputs) >= 1.0 - SPARSE || sparsely_timed(table, inputs).is_some()
}

/// The share of the cells of these inputs that were measured, where a joint model must complete the table: inputs time too
/// few of many choices to compare them.
pub fn sparsely_timed(table: &Table, inputs: &[u32]) -> Option<f64> {
    let has_fields = table.choices.len() > MAX_CHOICES_WITHOUT_MODEL && ah_joint::have_fields(&table.choices);
    Some(timed_share(table, inputs))
        .filter(|timed| has_fields && *timed < 1.0 - SPARSE && is_sampled(table, inputs))
}

/// Whether inputs time choices at random, so that hardly two time the same ones. Where sets of choices recur, the others
/// cannot run there: with estimates for them PyTorch's log of mixed_mm, which has 4 sets on 2,326 inputs, loses 24 instead of 0.6 %
/// under another name. Of our own logs and PyTorch's, mm has the most sets: 112 on 1,046 inputs.
fn is_sampled(table: &Table, inputs: &[u32]) -> bool {
    let timed = |&input: &u32| -> Vec<ChoiceId> {
        table.cells(input).iter().filter(|cell| cell.is_measured()).map(|cell| cell.choice).collect()
    };
    2 * inputs.iter().map(timed).collect::<FxHashSet<_>>().len() > inputs.len()
}

/// The share of the cells of these inputs that were measured.
fn timed_share(table: &Table, inputs: &[u32]) -> f64 {
    let measured = |&input: &u32| table.cells(input).iter().filter(|cell| cell.is_measured()).count();
    let measured: usize = inputs.iter().map(measured).sum();
    measured as f64 / (table.choices.len() * inputs.len()).max(1) as f64
}

/// The table of a log as joint models completed it, to learn from. The measured times stay to judge by.
pub struct Completed {
    /// By the times of the training part.
    pub learning: Table,
    /// By all times, for what ships.
    pub shipping: Table,
    /// The share of the cells that were measured.
    pub timed: f64,
    /// A sentence for the user.
    pub warning: String,
}

/// Completes the table of a sparse log, or the times of choices that were added to a log [later](late). `None`: no table needs it.
///
/// # Errors
/// [`Error::TooLittle`] if inputs time too few choices to compare them.
pub fn complete(dataset: &Dataset, training: &[u32], seed: u64) -> Result<Option<Completed>, Error> {
    let table = &dataset.table;
    let usable = &dataset.usable;
    let is_sparse = dataset.ad_hoc && sparsely_timed(table, usable).is_some();
    let (estimated, warning) = if is_sparse {
        let timed = timings(table, usable).len() as f64 / usable.len().max(1) as f64;
        if timed < LEAST_TIMED {
            return Err(Error::TooLittle(format!(
                "expected at least {LEAST_TIMED} timed choices an input, found {timed:.1} of {} on average (a choice counts \
                 if several inputs time it); time 10 or more choices on each input, and each choice on several inputs",
                table.choices.len()
            )));
        }
        let all = (0..).map(ChoiceId).take(table.choices.len());
        let warning = format!(
            "inputs time {timed:.0} of {} choices on average. Training estimates the other times",
            table.choices.len()
        );
        (all.filter(|choice| !table.is_rare(*choice)).collect(), warning)
    } else {
        let late = if may_promise(dataset) { Vec::new() } else { estimable(dataset, added_later(dataset)) };
        let names = listed(late.iter().map(|choice| &table.choices[choice.index()]));
        let warning =
            format!("less than half of the inputs time {names}. A cost formula estimates its other times");
        (late, warning)
    };
    if estimated.is_empty() {
        return Ok(None);
    }
    // A sparse table times each choice too rarely: on formulas of their own, 640 configurations with 25 times an input lose 13.9
    // instead of 6.9 %.
    let formula = |inputs: &[u32]| if is_sparse { None } else { cost_formula::fit(dataset, inputs, false) };
    let of = |inputs: &[u32]| completed(dataset, inputs, &estimated, formula(inputs).as_ref(), seed);
    let (learning, shipping) = rayon::join(|| of(training), || of(usable));
    Ok(Some(Completed { learning, shipping, timed: timed_share(table, usable), warning }))
}

/// Whether a promise is wanted, which must not rest on estimates.
fn may_promise(dataset: &Dataset) -> bool {
    let settings = &dataset.settings;
    dataset.has_fallback() && settings.max_risk != Some(MaxRisk::None) && settings.ranking.is_none()
}

/// The choices that were added to the log later, with the number of inputs that time them: less than half, but nearly all time
/// all others, which are at least as many, and no bounds on the features say where they can run. Where most choices lack times, each may
/// run on some inputs alone: on PyTorch's log of mm (A100), estimates for 14 of its 175 choices lost 7.7 instead of 1.0 %.
fn added_later(dataset: &Dataset) -> Vec<(ChoiceId, usize)> {
    let table = &dataset.table;
    let inputs = &dataset.usable;
    let mut counts = vec![0_usize; table.choices.len()];
    inputs.iter().flat_map(|&input| table.cells(input)).for_each(|cell| counts[cell.choice.index()] += 1);
    let (mut late, others): (Vec<(ChoiceId, usize)>, _) =
        (0..).map(ChoiceId).zip(counts).partition(|(_, count)| 2 * count < inputs.len());
    let missing: usize = others.iter().map(|(_, count)| inputs.len() - count).sum();
    if late.len() > others.len() || missing as f64 > SPARSE * (inputs.len() * others.len()) as f64 {
        return Vec::new();
    }
    late.retain(|(choice, _)| !table.is_rare(*choice) && !dataset.is_bounded(*choice));
    late
}

/// Those choices of [`added_later`] whose other times are estimated: enough inputs time them, and they failed on none, as an estimate knows no
/// failures. None without a cost formula.
fn estimable(dataset: &Dataset, mut late: Vec<(ChoiceId, usize)>) -> Vec<ChoiceId> {
    let table = &dataset.table;
    let inputs = &dataset.usable;
    let fails = |choice| {
        inputs.iter().any(|&input| table.cell(input, choice).is_some_and(|cell| cell.time.is_infinite()))
    };
    late.retain(|(choice, count)| *count >= cost_formula::MIN_TIMES && !fails(*choice));
    if late.is_empty() || dimensions(dataset, inputs).is_empty() {
        return Vec::new();
    }
    late.into_iter().map(|(choice, _)| choice).collect()
}

/// A warning about a choice that was added later and whose other times stay unknown.
pub fn not_estimated(dataset: &Dataset) -> Option<String> {
    let late = added_later(dataset);
    let (choice, count) = late.iter().copied().max_by_key(|(_, count)| *count)?;
    let (why, or) = match may_promise(dataset) && !estimable(dataset, late).is_empty() {
        true => ("a promise must not rest on estimates", ", or accept the risk with --max-risk none"),
        false => ("nothing estimates its other times", ""),
    };
    Some(format!(
        "{count} of {} inputs time {}. It is compared on these alone, and {why}: a program that names no choices hardly takes it. Time \
         it on all inputs{or}",
        dataset.usable.len(),
        dataset.table.choices[choice.index()]
    ))
}

/// A warning about a log that times few of many choices, whose names tell nothing about them.
pub fn without_fields(dataset: &Dataset) -> Option<String> {
    let choices = &dataset.table.choices;
    if !dataset.ad_hoc
        || choices.len() <= MAX_CHOICES_WITHOUT_MODEL
        || ah_joint::have_fields(choices)
        || !is_sampled(&dataset.table, &dataset.usable)
    {
        return None;
    }
    let timed = timed_share(&dataset.table, &dataset.usable);
    (timed < 0.5).then(|| {
        format!(
            "inputs time {:.1} % of {} choices on average, and the names of the choices have no fields. So a choice without a \
             time counts as one that cannot run, and the figures compare with the best of those that were timed. Name choices \
             KEY=VALUE_KEY=VALUE, so that a joint model can estimate the others, or time the same choices on each input",
            timed * 100.0,
            choices.len(),
        )
    })
}
