//! The first line of a summary: what to do.

use super::words::{inputs, name, single};
use crate::judge::{Advice, FEW_INPUTS, Gain, Reason, Verdict};
use crate::report::loss;
use crate::train::TrainedModel;

/// The advice: a line, or two where more is to be measured.
pub fn verdict(trained: &TrainedModel) -> String {
    let model = &trained.model;
    let targets = &trained.model.purpose.targets;
    let Verdict { advice, reason, choices, gain } = &trained.verdict;
    let heuristic = &model.heuristic;
    let all = targets.iter().map(|target| target.words()).collect::<Vec<_>>().join(", ");
    let of = all.rsplit_once(", ").map_or(all.clone(), |(others, last)| format!("{others} and {last}"));
    let choice = single(choices);
    let what = match trained.constant() {
        Some(constant) => format!("always {}", name(constant)),
        None => heuristic.clone(),
    };
    let range = |low: String, high: String| if low == high { low } else { format!("{low} to {high}") };
    let shown = |gain: &Gain| {
        let Gain { over, low, high, inputs, .. } = gain;
        let over = single(over);
        let is_held_out = *inputs <= trained.held_out.evaluation.judged.len();
        let inputs = counted(*inputs, if is_held_out { "held-out input" } else { "cross-validated input" });
        // A range from nearly 0 to more than 1 is none.
        if *low < 0.1 && *high >= 1.0 {
            return format!("{inputs} do not show whether {what} is faster than always {over}");
        }
        if *high < 0.1 {
            let [least, most] = [high, low].map(|times| format!("{:.0}", 1.0 / times));
            return format!("{what} takes {} times as long as always {over} on {inputs}", range(least, most));
        }
        let digits = if high / low < 1.05 { 3 } else { 2 };
        let [low, high] = [low, high].map(|times| format!("{times:.digits$}"));
        format!("{what} is {} times as fast as always {over} on {inputs}", range(low, high))
    };
    let gained = gain.as_ref().map(shown).unwrap_or_default();
    let until = format!("Until then, always take {choice}.");
    let why = match (advice, reason) {
        (Advice::Take, reason) => {
            let is_by_folds = *reason == Reason::GainIsCrossValidated;
            let why = if is_by_folds { format!(": {gained}") } else { String::new() };
            return format!(
                "Take {heuristic}, which chooses among {} choices {of}{why}.\n",
                model.choices.len()
            );
        }
        (Advice::MeasureMore, reason) => {
            let (why, advice) = match reason {
                Reason::Noise { repetitions, decided_on } => (
                    format!(
                        "runs of one choice differ by {}, and always {choice} loses only {}",
                        loss(*repetitions),
                        loss(*decided_on)
                    ),
                    "Measure longer, or on an idle machine; more inputs do not show it. ".to_owned(),
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
                    format!("the inputs lack times of the choices, so nobody knows what {heuristic} gains"),
                    format!("Time all choices on {FEW_INPUTS} inputs. "),
                ),
                Reason::GainIsNotShown { needed, gain: least } => {
                    let is_found = gain.as_ref().is_some_and(|gain| gain.times == *least);
                    let share = (least - 1.0) * 100.0;
                    let digits = if share < 10.0 { 1 } else { 0 };
                    let advice = match needed {
                        Some(needed) if is_found => format!("About {needed} inputs would show it. "),
                        Some(needed) => format!(
                            "About {needed} inputs would show a gain of {share:.digits$} %, half the most that there may be. "
                        ),
                        None if share < 0.05 => "These inputs show no gain. ".to_owned(),
                        None => format!(
                            "The gain is at most {share:.digits$} %, too small for more inputs to show. "
                        ),
                    };
                    (gained, advice)
                }
                _ => (gained, String::new()),
            };
            return format!("Measure more: {why}.\n{advice}{until}\n");
        }
        (Advice::AlwaysTake, Reason::GainIsLittle) => gained,
        (Advice::AlwaysTake, _) => {
            // The first choice that is allowed is the one that a program takes which names what it offers.
            let firsts =
                model.tree.leaves().filter_map(|(_, leaf)| leaf.ranking.iter().find(|ranked| ranked.allowed));
            let mut offered = firsts.map(|ranked| name(model.choice_name(ranked.choice)));
            match (offered.find(|offered| *offered != choice), reason) {
                (Some(faster), _) => {
                    return format!(
                        "Always take {choice}: {faster} has no time on some inputs. A program that says where it can run takes it \
                         there (ah-codegen --with ranked).\n"
                    );
                }
                (_, Reason::PromiseUnkept) => {
                    format!("nothing else keeps the promise {of}; --max-risk none learns without one")
                }
                // In another target one may pay.
                _ => match trained.plan.call_site.slowest().filter(|_| targets.len() > 1) {
                    Some(slowest) => format!("no heuristic pays {}, the slowest target", slowest.words()),
                    None => format!("no heuristic pays {of} here"),
                },
            }
        }
    };
    format!("Always take {choice}: {why}.\n")
}

/// A number with its noun.
fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
