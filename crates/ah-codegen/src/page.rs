//! What every target prints: the text around a body, and a body as lines.

use ah_model::expr::Type;
use ah_model::{FeatureKind, LogRecord, Model, Objective};

use crate::body::Step;
use crate::code::Code;
use crate::domain::shortest;
use crate::language::{Language, Outcome};
use crate::names::Names;
use crate::text::shown;

/// Prints a body.
pub struct Lines<'a> {
    language: &'a Language,
    model: &'a Model,
    names: &'a Names,
    lines: Vec<String>,
    /// The features whose names a comment has said.
    said: Vec<usize>,
    has_evidence: bool,
}

impl<'a> Lines<'a> {
    pub fn new(language: &'a Language, model: &'a Model, names: &'a Names) -> Self {
        Self { language, model, names, lines: Vec::new(), said: Vec::new(), has_evidence: false }
    }

    fn result(&self, outcome: Outcome, is_tail: bool) -> String {
        let [decline, choice, ranking] = self.language.results;
        let value = match outcome {
            Outcome::Decline => decline.to_owned(),
            Outcome::Choice(id) => choice.replace('$', &(self.language.choice)(self.model, self.names, id)),
            Outcome::Ranking(number) => ranking.replace('$', &number.to_string()),
        };
        let [before, after] = self.language.returned;
        if is_tail && self.language.has_tail { value } else { format!("{before}{value}{after}") }
    }

    /// Prints steps at this level of indentation; at the `tail` of a function the last one is its result.
    pub fn print(mut self, steps: &[Step], level: usize, tail: bool) -> String {
        self.steps(steps, level, tail);
        self.lines.join("\n")
    }

    fn steps(&mut self, steps: &[Step], level: usize, tail: bool) {
        let indent = "    ".repeat(level);
        for (at, step) in steps.iter().enumerate() {
            match step {
                Step::Let { name, slot, ty, value } => self.assignment(name, *slot, *ty, value, level),
                Step::If { condition, then } => {
                    let [open, then_do, close] = self.language.block;
                    let open = format!("{indent}{open}{}{then_do}", condition.text);
                    if let [Step::Return(outcome, evidence)] = then[..]
                        && self.language.in_one_line
                    {
                        let statement = self.result(outcome, false);
                        self.with_evidence(
                            open.trim_end_matches('{').to_owned() + &statement,
                            outcome,
                            evidence,
                        );
                        continue;
                    }
                    self.lines.push(open);
                    self.steps(then, level + 1, false);
                    if !close.is_empty() {
                        self.lines.push(format!("{indent}{close}"));
                    }
                }
                Step::Return(outcome, evidence) => {
                    let statement = self.result(*outcome, tail && at + 1 == steps.len());
                    self.with_evidence(format!("{indent}{statement}"), *outcome, *evidence);
                }
            }
        }
    }

    fn with_evidence(&mut self, line: String, outcome: Outcome, evidence: Option<crate::body::Evidence>) {
        let gap = if self.language.is_typed { " " } else { "  " };
        let untested = match (&self.model.promise, outcome) {
            (None, _) => "",
            (_, Outcome::Choice(choice)) if Some(choice) != self.model.fallback => {
                "; the promise does not cover it"
            }
            _ => "; the fallback keeps the promise",
        };
        let words = evidence.map(|evidence| evidence.words(!self.has_evidence, untested));
        self.has_evidence |= evidence.is_some_and(|evidence| evidence.timed > 0);
        let comment = words.map(|words| format!("{gap}{}", self.language.commented(&words)));
        self.lines.push(line + &comment.unwrap_or_default());
    }

    fn assignment(&mut self, name: &str, slot: Option<usize>, ty: Type, value: &Code, level: usize) {
        let features = self.model.features.all().features();
        if let Some(slot) = slot
            && slot >= self.model.features.base().len()
            && features[slot].name != name
            && !self.said.contains(&slot)
        {
            self.said.push(slot);
            let comment = self.language.commented(&shown(&features[slot].name));
            self.lines.push(format!("{}{comment}", "    ".repeat(level)));
        }
        self.lines.push("    ".repeat(level) + &(self.language.assign)(name, ty, value));
    }
}

/// Of fewer held-out inputs, the loss is a range, as in the summary of a training.
const PRECISE: f64 = 300.0;

/// The description of the model in a file, a sentence a line.
pub fn about(model: &Model, is_constant: bool, escaped: fn(&str) -> String) -> Vec<String> {
    let percent = |share: f64| format!("{} %", (share * 1e4).round() / 1e2);
    let fallback = model.fallback.map(|choice| shown(model.choice_name(choice)));
    let mut lines = Vec::new();
    let device = model.device.as_ref().map(|device| shown(&device.to_string()));
    let boosters = model.boosters.len();
    let leaves = model.tree.leaves().count();
    let correction =
        if boosters == 0 { String::new() } else { format!(" and {boosters} small ones that correct it") };
    let trees = format!("a tree of {leaves} leaves{correction}");
    let formula = "a cost formula for each choice";
    let size = match boosters {
        _ if is_constant => "one choice everywhere".to_owned(),
        _ if model.costs.is_none() => trees,
        0 if leaves == 1 => formula.to_owned(),
        0 => format!("{formula} and {trees} with its factors"),
        _ => format!("{formula}, {trees}"),
    };
    lines.push(format!(
        "{} for {}: {size}, learned on {}.",
        shown(&model.heuristic),
        shown(&model.optimization),
        device.as_deref().unwrap_or("devices that the model does not name")
    ));
    let metric = |of: &str, key: &str| model.provenance.metrics.get(of)?.get(key);
    let number = |of, key| metric(of, key)?.as_f64();
    let text = |of, key| metric(of, key)?.as_str().map(shown);
    let held_out = |key| number("held_out", key);
    if let (Some(inputs), Some(slowdown), Some(worst)) =
        (held_out("inputs"), held_out("slowdown"), held_out("worst"))
    {
        let mut line = format!("On {inputs} held-out inputs: ");
        // The training part alone may have another best choice, which the held-out inputs were judged against.
        let judged = text("always_fallback", "choice").or_else(|| fallback.clone());
        if let (Some(speedup), Some(fallback)) = (held_out("speedup_over_fallback"), judged) {
            line += &format!("{speedup:.2} times as fast as always {fallback}, ");
        }
        // Of few inputs the loss is a range.
        let is_range = inputs < PRECISE && model.purpose.objective == Objective::default();
        let loss = match (number("held_out_range", "low"), number("held_out_range", "high")) {
            (Some(low), Some(high)) if is_range => format!(
                "{:.1} to {} ({} here)",
                (low - 1.0) * 100.0,
                percent(((high - 1.0) * 1e3).round() / 1e3),
                percent(slowdown - 1.0)
            ),
            _ => percent(slowdown - 1.0),
        };
        lines.push(format!("{line}{loss} slower than the best choice ({worst:.2} times at worst)."));
        if let Some(ranked) = held_out("ranked_slowdown").filter(|ranked| slowdown - ranked >= 0.002) {
            lines.push(format!(
                "A program that names what it offers (`choose_among`) is only {} slower than the best choice.",
                percent(ranked - 1.0)
            ));
        }
    }
    let on_new_groups = ["mean", "low", "high"].map(|key| number("on_new_groups", key));
    if let (Some(on), [Some(mean), Some(low), Some(high)]) = (text("on_new_groups", "on"), on_new_groups) {
        let [mean, low, high] = [mean, low, high].map(|slowdown| percent(slowdown - 1.0));
        lines.push(format!("On {on}: {mean} slower than the best choice ({low} to {high})."));
    }
    if let (Some(promise), Some(fallback)) = (&model.promise, &fallback) {
        lines.push(format!(
            "Promise: at most {} of inputs like these take more than {} times as long as {fallback} ({} confidence, {}).",
            percent(promise.target), promise.limit, percent(promise.confidence), shown(&promise.mode.to_string())
        ));
    }
    if model.purpose.objective != Objective::default() {
        lines.push("It was learned for the least total time.".to_owned());
    }
    if let Some(precondition) = &model.precondition {
        lines.push(format!("Precondition: {}.", shown(&shortest(model, precondition))));
    }
    let file = |name: &str, hash: &String| {
        format!("{} (BLAKE3 {}…)", shown(name), shown(hash.get(..16).unwrap_or(hash)))
    };
    for source in &model.provenance.sources {
        lines.push(format!("Its choices were measured from {}.", file(&source.file, &source.blake3)));
    }
    let log = |log: &LogRecord| format!("{} rows of {}", log.rows, file(&log.file, &log.blake3));
    let logs: Vec<String> = model.provenance.logs.iter().map(log).collect();
    if !logs.is_empty() {
        let tool = shown(&model.provenance.tool);
        lines.push(format!("Learned by {tool}, seed {}, from {}.", model.provenance.seed, logs.join(", ")));
    }
    lines.iter().map(|line| escaped(line)).collect()
}

/// The first words of every generated file.
pub fn mark() -> String {
    format!(
        "@generated by ah-codegen {}: generate it again instead of editing it.",
        env!("CARGO_PKG_VERSION")
    )
}

/// Values separated by commas, several a line.
pub fn wrapped(values: impl IntoIterator<Item = String>, indent: &str) -> String {
    let mut text = String::new();
    let mut line = String::new();
    for value in values {
        if !line.is_empty() && line.len() + value.len() > 92 {
            text += &format!("{indent}{}\n", line.trim_end());
            line.clear();
        }
        line += &format!("{value}, ");
    }
    if line.is_empty() { text } else { text + &format!("{indent}{}\n", line.trim_end()) }
}

/// The description of a logged feature: its name where that is not the identifier, meaning, unit, and categories.
pub fn described(model: &Model, slot: usize, names: &Names, language: &Language) -> String {
    let [_, escaped, quoted] = language.documented;
    let feature = &model.features.base().features()[slot];
    let mut text = feature.description.as_deref().map(escaped).unwrap_or_default();
    if let Some(unit) = &feature.unit {
        text += &format!(" ({})", escaped(unit));
    }
    if model.missing.contains(&slot) {
        text += " NaN where it is missing.";
    }
    let known = &model.categories[slot];
    if feature.kind == FeatureKind::Categorical && known.len() <= 6 && !known.is_empty() {
        text += &format!(" One of {}.", known.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "));
    }
    let name = if feature.name == names.feature(slot) { String::new() } else { quoted(&feature.name) };
    [name.as_str(), text.trim()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
}
