//! The few lines that end a training or an evaluation.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ah_model::shown::cut;
use ah_model::{Objective, Promise};
use ah_types::Optimization;
use serde_json::{Value, json};

use super::{loss, percent, sizes};
use crate::bootstrap::Range;
use crate::data::{LEAST_MS, Shared, Spread};
use crate::judge::{Advice, BaselineComparison, DeviceReport, Gain, Reason, Verdict};
use crate::params::SplitBy;
use crate::promise::NewGroups;
use crate::promise::calibrate::default_inputs;
use crate::train::{NoPromise, TrainedModel};

/// The loss of fewer judged inputs is a range: of 434, other draws of the same inputs lost 0.2 to 4.7 points more.
const PRECISE: usize = 300;
/// A loss that errs upward by a greater share of itself, and by this many percent points at least, is called so.
const UPWARD: [f64; 2] = [0.2, 0.002];
/// Where nothing was measured twice, a greater loss gets a note: noise may be a part of it.
const MUCH: f64 = 1.02;

/// The most characters of a choice's name: those of Triton's configurations of a product have 40 to 48.
const NAME: usize = 48;
/// The greatest over the least time of a choice on an input, on one of 20: more points to a feature that no log has. On the published
/// logs it is 1.00 to 1.12.
const HIDDEN: f64 = 1.25;

/// Returns the summary of a training, a line each: what to do, what it gains, what it loses to the best choices, the promise or
/// why there is none, and the size that is taken.
pub fn trained(trained: &TrainedModel) -> String {
    let (model, comparison) = (&trained.model, &trained.held_out.evaluation.comparison);
    let mut text = verdict(trained);
    text += &figures(model.purpose.objective, "held-out", comparison, trained.on_new_groups.as_ref());
    for DeviceReport { device, never_measured, learned_there } in &trained.held_out.by_device {
        let _ = writeln!(
            text,
            "{device}: loses {} on {} held-out inputs if it had never been measured, {} learned there (always deciding).",
            loss(never_measured.slowdown),
            never_measured.inputs,
            loss(learned_there.slowdown),
        );
    }
    text += &promise_line(trained);
    text += &sizes::taken(trained);
    text
}

/// Returns what to do: a line, or two where more is to be measured.
pub fn verdict(trained: &TrainedModel) -> String {
    let (model, targets) = (&trained.model, &trained.plan.call_site.targets);
    let Verdict { advice, reason, choices, gain } = &trained.verdict;
    let heuristic = &model.heuristic;
    let all = targets.iter().map(|target| target.words()).collect::<Vec<_>>().join(", ");
    let of = all.rsplit_once(", ").map_or(all.clone(), |(others, last)| format!("{others} and {last}"));
    let choice = single(choices);
    let what = match trained.constant() {
        Some(constant) => format!("always {}", name(constant)),
        None => heuristic.clone(),
    };
    let shown = |gain: &Gain| {
        let Gain { over, low, high, inputs, .. } = gain;
        let over = single(&over.split(", else ").map(str::to_owned).collect::<Vec<_>>());
        let inputs = counted(*inputs, "held-out input");
        let digits = if high / low < 1.05 { 3 } else { 2 };
        let [low, high] = [low, high].map(|times| format!("{times:.digits$}"));
        let range = if low == high { low } else { format!("{low} to {high}") };
        format!("{what} is {range} times as fast as always {over} on {inputs}")
    };
    let gained = gain.as_ref().map(shown).unwrap_or_default();
    let until = format!("Until then, always take {choice}.");
    let why = match (advice, reason) {
        (Advice::Take, _) => {
            return format!("Take {heuristic}, which chooses among {} choices {of}.\n", model.choices.len());
        }
        (Advice::MeasureMore, reason) => {
            let (why, advice) = match reason {
                Reason::Noise { repetitions, decided_on } => (
                    format!(
                        "runs of one choice differ by {}, and always {choice} loses only {}",
                        loss(*repetitions),
                        loss(*decided_on)
                    ),
                    "Measure longer, or on an idle machine. ".to_owned(),
                ),
                Reason::TooFewInputs { needed } => (
                    format!(
                        "{} are too few to show that a heuristic pays {of}",
                        counted(inputs(trained), "input")
                    ),
                    format!("Measure at least {needed}. "),
                ),
                Reason::TooFewForPromise => {
                    ("the inputs are too few for the promise".to_owned(), String::new())
                }
                Reason::Untimed => (
                    format!("each input times few of the choices, so nobody knows what {heuristic} gains"),
                    String::new(),
                ),
                Reason::GainIsNotShown { needed: Some(needed) } => {
                    (gained, format!("About {needed} inputs would show it. "))
                }
                _ => (gained, String::new()),
            };
            return format!("Measure more: {why}.\n{advice}{until}\n");
        }
        (Advice::AlwaysTake, Reason::GainIsLittle) => gained,
        (Advice::AlwaysTake, _) => {
            // Without boosters, the first choice that is allowed is the one that a program takes which names what it offers.
            let offered =
                model.tree.leaves().find_map(|(_, leaf)| leaf.ranking.iter().find(|ranked| ranked.allowed));
            let offered = offered.map(|ranked| name(model.choice_name(ranked.choice)));
            match (offered.filter(|offered| *offered != choice), reason) {
                (Some(faster), _) => {
                    return format!(
                        "Always take {choice}: {faster} has no time on some inputs. A program that says where it can run takes it \
                         there (ah-codegen --with ranked), as in these figures.\n"
                    );
                }
                (_, Reason::PromiseUnkept) => {
                    format!("nothing else keeps the promise {of}; --max-risk none learns without one")
                }
                _ => format!("no heuristic pays {of} here"),
            }
        }
    };
    format!("Always take {choice}: {why}.\n")
}

/// Returns the number of inputs that a training learned from and judged.
fn inputs(trained: &TrainedModel) -> usize {
    trained.held_out.train_inputs + trained.held_out.evaluation.judged.len()
}

/// Returns a number with its noun.
fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Returns a single choice in words, which may have a second one.
fn single(choices: &[String]) -> String {
    match choices {
        [first, second] => format!("{}, and {} where {0} has no time", name(first), name(second)),
        _ => choices.iter().map(|choice| name(choice)).collect(),
    }
}

/// Returns the promise, or why there is none.
fn promise_line(trained: &TrainedModel) -> String {
    let held_out = &trained.held_out;
    let fallback = name(&held_out.evaluation.comparison.always_fallback.choice);
    let inputs = inputs(trained);
    let kept = || {
        let Some(promise) = &trained.model.promise else { return String::new() };
        // The training part promises the same, and has fewer inputs, of which `groups` of all count.
        let counted = (held_out.train_inputs * promise.groups as usize / inputs).max(1);
        let needed = (default_inputs(trained.plan.promise)[0] * inputs).div_ceil(counted);
        let is_loose = trained.plan.settings.is_default("max_risk") && promise.target > 0.01;
        let stricter = match is_loose {
            true if needed > inputs => format!("\n1 % needs about {needed} inputs."),
            // It had room for a stricter one.
            true => format!("\nFor less it would take only {fallback}."),
            false => String::new(),
        };
        format!("{}{stricter}\n", promised(promise, &fallback))
    };
    let groups = trained.on_new_groups.as_ref();
    let few = |counted| match counted == inputs {
        true => format!("{inputs} inputs are too few"),
        false => {
            let why = groups.map_or("weights".to_owned(), |groups| groups.shared.words());
            format!("{inputs} inputs count as {counted} ({why}), which are too few")
        }
    };
    // A person measures groups, such as files.
    let measure = |needed: usize| match groups.filter(|groups| groups.shared != Shared::Stretch) {
        Some(NewGroups { groups, .. }) => format!("{needed} ({} groups)", (needed * groups).div_ceil(inputs)),
        None => needed.to_string(),
    };
    match trained.no_promise {
        // The first line says that the fallback alone keeps it.
        None | Some(NoPromise::Unkept) => kept(),
        Some(NoPromise::NotAsked) => {
            "No promise was asked for: it declines only what it does not know.\n".into()
        }
        Some(NoPromise::NoFallback) => "No promise without a fallback (--fallback CHOICE).\n".into(),
        Some(NoPromise::Estimates) => String::from(
            "No promise: the inputs time few of the choices, and a promise must not rest on estimates. Time the kept choices on \
             all inputs.\n",
        ),
        Some(NoPromise::TooFew { inputs: counted, needed, asked: false }) => {
            let always = if trained.constant().is_some() { "; " } else { ". It always decides; " };
            format!("No promise: {}{always}measure about {} for one.\n", few(counted), measure(needed))
        }
        Some(NoPromise::TooFew { inputs: counted, needed, asked: true }) => format!(
            "{} for the promise. Measure about {}, or accept the risk with --max-risk none.\n",
            few(counted),
            measure(needed)
        ),
        Some(NoPromise::OnlyFallback(share)) => {
            let share = percent(share);
            format!("No promise: only {fallback} would keep one (--max-risk {share}%). It always decides.\n")
        }
    }
}

/// Returns the evidence behind a training's figures: what it was judged on, and what its promise rests on.
pub fn evidence(trained: &TrainedModel) -> String {
    let held_out = &trained.held_out;
    let what = match trained.plan.test_split {
        SplitBy::Input | SplitBy::Device | SplitBy::Groups => "inputs",
        SplitBy::Dims => "dimensions",
    };
    let mut text = format!(
        "Held-out {what}: learned from {} inputs, judged on {} others.\n",
        held_out.train_inputs, held_out.evaluation.comparison.model.inputs,
    );
    if let Some(by_input) = &held_out.by_input {
        let _ = writeln!(
            text,
            "With single inputs held out, always deciding: loses {}.",
            loss(by_input.slowdown)
        );
    }
    if let Some(portfolio) = &trained.portfolio {
        let _ = writeln!(
            text,
            "Keeps {} of {} choices (`--max-choices`); the best of them loses {} on the training part.",
            portfolio.choices.len(),
            held_out.evaluation.table.choices.len(),
            loss(portfolio.slowdown),
        );
    }
    if let Some(promise) = &trained.model.promise {
        text += &promise_evidence(promise, trained);
    }
    text
}

/// Returns the promise, the evidence for it, and its limits.
fn promise_evidence(p: &Promise, trained: &TrainedModel) -> String {
    let model = &trained.model;
    let fallback = model.fallback.map_or("the fallback", |f| model.choice_name(f));
    format!(
        "Promise (a cross-validated estimate): with {} % confidence, at most {} % of inputs drawn like the {} calibration inputs ({} shapes) are more than {} % and {} ns slower than {fallback}.\n\
         {} of the {} calibration inputs broke it, {} of them beyond noise (medians of {} runs, {}).\n\
         The promise does not cover other shapes, devices or drivers. {:.1} % of the held-out inputs are outside \
         the training range of their leaf.\n",
        percent(p.confidence),
        percent(p.target),
        p.inputs,
        p.groups,
        percent(p.limit - 1.0),
        LEAST_MS * 1e6,
        p.violations,
        p.inputs,
        p.clear,
        p.runs,
        p.mode,
        trained.held_out.evaluation.comparison.model.outside * 100.0,
    )
}

/// Returns the figures of a training, for programs.
pub fn json(trained: &TrainedModel) -> Value {
    let (model, held_out) = (&trained.model, &trained.held_out);
    json!({
        "heuristic": model.heuristic,
        "optimization": model.optimization,
        "objective": model.purpose.objective,
        "fallback": model.fallback.map(|fallback| model.choice_name(fallback)),
        "inputs": held_out.train_inputs + held_out.evaluation.comparison.model.inputs,
        "leaves": model.leaf_count(),
        "parameters": model.provenance.parameters,
        "metrics": model.provenance.metrics,
        "promise": model.promise,
        "sizes": trained.ladder,
        "seconds": trained.duration.as_secs_f64(),
        "warnings": trained.warnings,
        "notes": training_notes(trained, true),
        "constant": trained.constant(),
        "on_new_groups": trained.on_new_groups,
        "verdict": trained.verdict,
        "summary": self::trained(trained),
    })
}

/// Returns the advice and the exceptions of a training.
pub fn training_notes(trained: &TrainedModel, all: bool) -> Vec<String> {
    let comparison = &trained.held_out.evaluation.comparison;
    let mut notes = notes(comparison);
    let is_asked = trained.constant().is_none();
    notes.extend(trained.plan.call_site.note().filter(|_| is_asked));
    notes.extend(learned_conditions(&trained.learned_eligible).filter(|_| all));
    notes.extend(price(trained));
    notes.extend(without_fallback(trained));
    notes.extend(not_offered(trained));
    notes.extend(noise(trained));
    notes
}

/// Returns what a costly promise costs.
fn price(trained: &TrainedModel) -> Option<String> {
    let (saved, always) = (trained.cost_of_promise()? * 100.0, &trained.held_out.always);
    let failed = match always.failed {
        0 => String::new(),
        failed => format!(", but takes a choice that fails on {failed} of {} inputs", always.inputs),
    };
    Some(format!("the promise is costly: --max-risk none saves {saved:.0} % more{failed}"))
}

/// Returns a sentence where the fallback lacks times: where they are missing because it was slow, the promise would be better than it
/// looks, and where what is taken is slow, worse.
fn without_fallback(trained: &TrainedModel) -> Option<String> {
    let (model, table) = (&trained.model, &trained.held_out.evaluation.table);
    let fallback = model.promise.as_ref().and(model.fallback)?;
    let choice = table.choice_id(model.choice_name(fallback))?;
    let lacking =
        (0..table.inputs.len() as u32).filter(|&input| table.usable(input, choice).is_none()).count();
    (lacking > 0).then(|| {
        format!(
            "{} has no time on {lacking} of {} inputs, and a promise needs both times: it does not cover inputs like these. Time it \
             there, or write inf if it fails",
            name(model.choice_name(fallback)),
            table.inputs.len()
        )
    })
}

/// Returns a sentence where a choice without a time weakens the promise: a choice that was too slow to be timed must not look like
/// one that was not offered.
fn not_offered(trained: &TrainedModel) -> Option<String> {
    let (model, table) = (&trained.model, &trained.held_out.evaluation.table);
    // A built-in optimization says where its choices can run; a log that has only its name in common does not.
    let is_built_in = !trained.is_ad_hoc && Optimization::built_in(&model.optimization).is_ok();
    if model.promise.is_none() || table.timed.is_some() || is_built_in {
        return None;
    }
    let without = |name: &str| {
        let has_condition = model.choice_id(name).is_some_and(|choice| model.eligible.contains_key(&choice));
        let is_fallback = model.fallback.is_some_and(|fallback| model.choice_name(fallback) == name);
        let choice = table.choice_id(name).filter(|_| !has_condition && !is_fallback)?;
        let count =
            (0..table.inputs.len() as u32).filter(|&input| table.cell(input, choice).is_none()).count();
        (count > 0).then_some(count)
    };
    let choices = model.choices.iter().filter_map(|choice| Some((without(choice)?, choice)));
    let (count, choice) = choices.max_by_key(|(count, _)| *count)?;
    Some(format!(
        "{} has no time on {count} of {} inputs. There it counts as not offered, also in the promise; if it was too slow to finish, \
         write inf",
        name(choice),
        table.inputs.len()
    ))
}

/// Returns sentences where the runs of a choice on an input differ much.
fn noise(trained: &TrainedModel) -> Vec<String> {
    let evaluation = &trained.held_out.evaluation;
    let spread = evaluation.table.spread(evaluation.judged.iter().map(|judged| judged.input));
    let Some(Spread { median, p95, .. }) = spread else { return Vec::new() };
    let single = &evaluation.comparison.best_single;
    let hidden = (p95 > HIDDEN).then(|| {
        format!(
            "5 % of the measurements repeat worse than {} (median {}). If nothing disturbed them, a feature that distinguishes these \
             runs is missing; the promise counts medians",
            loss(p95),
            loss(median)
        )
    });
    // Where one choice always wins, nothing is decided. The verdict says it of a heuristic.
    let is_said = matches!(trained.verdict.reason, Reason::Noise { .. });
    let larger = (!is_said && single.metrics.slowdown > 1.001 && median > single.metrics.slowdown).then(|| {
        format!(
            "runs of one choice on one input differ by {} in the median, and always {} loses only {}: the noise of this log is larger \
             than what is decided on. Measure longer, or on an idle machine",
            loss(median),
            name(&single.choice),
            loss(single.metrics.slowdown)
        )
    });
    hidden.into_iter().chain(larger).collect()
}

/// Returns the conditions that were learned from where choices have times.
fn learned_conditions(learned: &BTreeMap<String, String>) -> Option<String> {
    let (choice, condition) = learned.iter().next()?;
    let others = match learned.len() - 1 {
        0 => String::new(),
        others => format!(" ({others} other choices have such conditions, see `eligible` in the model)"),
    };
    Some(format!(
        "{} is taken only where {}: it has no time elsewhere{others}. Declare where a choice can run with `eligible`",
        name(choice),
        condition
    ))
}

/// Returns the summary of an evaluation of a model that was learned for this objective.
pub fn evaluated(objective: Objective, name: &str, comparison: &BaselineComparison) -> String {
    format!("{name}: {}", figures(objective, "logged", comparison, None))
}

/// Advice and exceptions: sentences that appear only if a figure is unusual.
pub fn notes(comparison: &BaselineComparison) -> Vec<String> {
    let model = &comparison.model;
    let mut notes = Vec::new();
    // Where few choices have times, the figure would be the fallback's.
    let is_known = model.plain_untimed * 2 <= model.inputs;
    if is_known && (model.plain_slowdown - model.slowdown).abs() >= 0.002 {
        notes.push(format!(
            "a program that does not name its choices loses {} to the best choice instead (`choose`, not \
             `choose_among`, and only what 99 % of a leaf's inputs measured). On {} of {} inputs what it takes has no time; there \
             the fallback's time counts, else the slowest",
            loss(model.plain_slowdown),
            model.plain_untimed,
            model.inputs
        ));
    }
    notes.extend(upward(comparison));
    if model.failed > 0 {
        notes.push(format!(
            "on {} of {} inputs the choice that it takes failed. They count as slower than {}, and its time counts there, \
             else the slowest. Give the choice an `eligible` condition, or measure more inputs like these",
            model.failed,
            model.inputs,
            name(&comparison.always_fallback.choice),
        ));
    }
    notes
}

/// Returns that a loss errs upward, where it may do so by much: it compares with the best of noisy times.
fn upward(comparison: &BaselineComparison) -> Option<String> {
    let measured = match comparison.objective {
        Objective::Geomean => comparison.model.slowdown,
        Objective::Total => comparison.model.total,
    };
    let [share, points] = UPWARD;
    match comparison.slowdown_by_halves {
        Some(crossed) if measured - crossed > (share * (measured - 1.0)).max(points) => Some(format!(
            "the loss errs upward: the best of noisy times is too good. Where one half of the runs names the best choice and the other \
             half times it, {} are lost instead of {}",
            loss(crossed.max(1.0)),
            loss(measured)
        )),
        None if measured > MUCH => Some(
            "each choice has one time for each input, so the loss errs upward by as much as times are noisy: the best of noisy times is \
             too good. Repetitions, in rows of their own, would show by how much"
                .to_owned(),
        ),
        _ => None,
    }
}

/// Returns why the figures are not known, where the inputs have times of few choices.
pub(super) fn unknown(comparison: &BaselineComparison) -> Option<String> {
    comparison.timed.map(|share| {
        format!(
            "What it loses is not known: the log times {:.0} % of the choices on each input. Judge it on inputs that time all: \
             ah-train evaluate MODEL LOG.",
            share * 100.0
        )
    })
}

/// Returns the figures of a model on some inputs. Each includes the time of the decisions. Where the log has groups, its inputs give
/// each other away, so the loss on new groups comes first.
fn figures(
    objective: Objective,
    which: &str,
    comparison: &BaselineComparison,
    on_new_groups: Option<&NewGroups>,
) -> String {
    let BaselineComparison { model, always_fallback, best_single, max_slowdown, range, .. } = comparison;
    if let Some(text) = unknown(comparison) {
        return format!("{text}\n");
    }
    let fallback = name(&always_fallback.choice);
    let of_choices: Vec<String> = best_single.choice.split(", else ").map(str::to_owned).collect();
    let single = single(&of_choices);
    let others = model.inputs - model.comparable;
    let without = if others > 0 { format!(", {others} without a time of it") } else { String::new() };
    let asking = match model.slowdown / model.without_asking - 1.0 {
        share if share < 5e-5 => String::new(),
        share => format!(" ({} the decision)", loss(1.0 + share)),
    };
    let mean = format!(
        "{:.3} times as fast as always {fallback} ({} {which} {}{without}).\n",
        model.speedup_over_fallback,
        model.inputs,
        if model.inputs == 1 { "input" } else { "inputs" },
    );
    let total = match more_or_less(model.total_over_fallback) {
        Some(than) => format!("Total time: {than} than always {fallback}.\n"),
        None => format!("Total time: the same as always {fallback}.\n"),
    };
    let (mean, total) = match model.comparable {
        0 => (format!("{fallback} has no time on any {which} input.\n"), String::new()),
        _ => (mean, total),
    };
    // What the model was learned for comes first.
    let (lines, lost, of_single) = match objective {
        Objective::Total => (total + &mean, model.total, best_single.metrics.total),
        Objective::Geomean => (mean + &total, model.slowdown, best_single.metrics.slowdown),
    };
    let lost = loss(lost);
    let (loses, decides) = match on_new_groups {
        Some(new) => (format!("{}; {lost}{asking} on these", of_new_groups(new)), "On these inputs: decides"),
        None if model.inputs >= PRECISE => (format!("Loses {lost}{asking} to the best choice"), "Decides"),
        None => (format!("Loses {} to the best choice, {lost} here{asking}", losses(*range)), "Decides"),
    };
    format!(
        "{lines}{loses} (always {single}: {}).\n\
         {decides} {:.1} %; {:.2} % are > {} % slower than {fallback}; worst {:.2} times the best.\n",
        loss(of_single),
        model.coverage * 100.0,
        model.over_limit * 100.0,
        percent(max_slowdown - 1.0),
        model.worst,
    )
}

/// Returns the range of a slowdown as the time lost.
fn losses(Range { low, high }: Range) -> String {
    let percent = [low, high].map(|slowdown| (slowdown - 1.0) * 100.0);
    let digits = if percent[1] >= 10.0 {
        0
    } else if percent[1] >= 1.0 {
        1
    } else {
        2
    };
    format!("{:.digits$} to {:.digits$} %", percent[0], percent[1])
}

/// Returns what is lost on groups that the log does not have.
fn of_new_groups(NewGroups { shared, groups, mean, low, high }: &NewGroups) -> String {
    let range = losses(Range { low: *low, high: *high });
    let counted = match shared {
        Shared::Columns(_) => "in the log",
        Shared::Nearness => "clusters",
        Shared::Stretch => "stretches of the log",
    };
    let (mean, new) = (loss(*mean), shared.new_ones());
    format!("Loses {range} to the best choice on {new} ({mean} by the {groups} {counted})")
}

/// Returns a ratio of times as what is more or less; `None` if it is the same to two digits.
fn more_or_less(ratio: f64) -> Option<String> {
    let percent = ((ratio - 1.0).abs() * 1e4).round() / 1e2;
    (percent > 0.0).then(|| format!("{percent:.2} % {}", if ratio < 1.0 { "less" } else { "more" }))
}

/// Returns a promise in one sentence.
fn promised(promise: &Promise, fallback: &str) -> String {
    format!(
        "Promise: at most {} % are > {} % (and {} ns) slower than {} ({} % sure).",
        percent(promise.target),
        percent(promise.limit - 1.0),
        LEAST_MS * 1e6,
        name(fallback),
        percent(promise.confidence),
    )
}

/// Returns a choice's name, cut if it is long.
pub(super) fn name(choice: &str) -> String {
    cut(choice, NAME)
}
