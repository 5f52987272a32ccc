//! The form `switch`: one plain function, as people write by hand in a library.
//!
//! Its arguments are the features that it reads, its result is the name of the choice. Nothing stands around it, so it keeps less
//! than a module: it does not decline where a value is undefined or was never seen in training, and it cannot be told
//! which choices are offered.

mod syntax;

use ah_types::{ChoiceId, Leaf, Model, Node, RankedChoice, Test, Tree};

use crate::error::CodegenError;
use crate::lower::{Condition, LoweredModel, condition};
use crate::printing::code::{Binds, Code};
use crate::printing::expression::Printer;
use crate::printing::text::shown;
use crate::simplify::merge;
use syntax::Plain;
pub use syntax::Syntax;

/// Returns the name of a file, and the source of a model of one tree.
///
/// # Errors
/// [`CodegenError::SwitchOfBoosters`]
pub fn source(
    lowered: &LoweredModel<'_>,
    full: &Model,
    syntax: Syntax,
) -> Result<(String, String), CodegenError> {
    let model = lowered.model;
    if !model.boosters.is_empty() {
        return Err(CodegenError::SwitchOfBoosters { boosters: model.boosters.len() });
    }
    let mut plain = Plain::new(lowered, syntax);
    let uses = uses(lowered);
    let base = model.features.base().len();
    let mut locals = Vec::new();
    for (slot, (_, typed)) in (base..).zip(model.features.derived()) {
        let code =
            if lowered.used[slot] { print(lowered, &plain, |p| p.print(typed)) } else { Code::atom("") };
        plain.values.push(if uses[slot] > 1 {
            let name = plain.name(slot).to_owned();
            locals.push((typed.ty(), name.clone(), code.alone()));
            Code::atom(name)
        } else {
            code
        });
    }
    let writer = Writer { lowered, plain: &plain };
    let parameters: Vec<usize> = (0..base).filter(|slot| lowered.used[*slot]).collect();
    let mut body = plain.missing_values(&parameters);
    if let Some(precondition) = &model.precondition {
        let holds = print(lowered, &plain, |p| p.truth(&precondition.typed));
        body.extend(plain.guard(0, &plain.negated(holds), &plain.result(model.fallback)));
    }
    body.extend(locals.iter().map(|(ty, name, value)| plain.local(*ty, name, value)));
    writer.node(0, 0, &mut body);
    let source = plain.function(&comment(full, model), &parameters, &body);
    Ok((format!("{}_switch.{}", plain.function_name(), syntax.ending()), source))
}

/// Returns a printed expression.
fn print<'a>(
    lowered: &'a LoweredModel<'a>,
    plain: &'a Plain<'a>,
    print: impl FnOnce(&mut Printer<'a, Plain<'a>>) -> Code,
) -> Code {
    print(&mut Printer { lowered, dialect: plain, called: Default::default(), shared: None })
}

/// Returns by slot how many tests and derived features read a feature.
fn uses(lowered: &LoweredModel<'_>) -> Vec<usize> {
    let features = &lowered.model.features;
    let mut uses = vec![0; features.all().len()];
    lowered.model.tree.tests().for_each(|test| uses[test.slot()] += 1);
    for (slot, (_, typed)) in (features.base().len()..).zip(features.derived()) {
        if lowered.used[slot] {
            typed.for_each_feature(&mut |input| uses[input.index] += 1);
        }
    }
    uses
}

/// Returns the comment: what the function decides, for which device, and what its size costs.
fn comment(full: &Model, simple: &Model) -> Vec<String> {
    let percent = |slowdown: f64| format!("{:.2} %", (slowdown - 1.0) * 100.0);
    let logs: Vec<String> = full.provenance.logs.iter().map(|log| shown(&log.file)).collect();
    let leaves = simple.tree.leaves().count();
    let mut lines = vec![format!(
        "{}: which choice to take for {}; {leaves} leaves.",
        shown(&full.heuristic),
        shown(&full.optimization)
    )];
    let device = full.device.as_ref().map(|device| format!(" on {}", shown(&device.to_string())));
    if !logs.is_empty() || device.is_some() {
        lines.push(format!("Learned from {}{}.", logs.join(", "), device.unwrap_or_default()));
    }
    let metrics = &full.provenance.metrics;
    let number = |path: &str| metrics.get("held_out").and_then(|held_out| held_out.pointer(path)?.as_f64());
    if let Some(slowdown) = number("/slowdown") {
        let mut line = format!("On held-out inputs it loses {} to the best choice", percent(slowdown));
        if let Some(speedup) = number("/speedup_over_fallback")
            && let Some(fallback) = full.fallback
        {
            line += &format!(
                ", and takes {:.3} of the time of {}",
                1.0 / speedup,
                shown(full.choice_name(fallback))
            );
        }
        lines.push(line + ".");
    }
    lines.extend(compression(full, percent));
    lines.push("It does not decline: give it values as training saw them.".to_owned());
    lines
}

/// Returns a sentence about the best model among the sizes that were tried, if that is not this one.
fn compression(full: &Model, percent: impl Fn(f64) -> String) -> Option<String> {
    let sizes = full.provenance.metrics.get("sizes")?;
    let rungs = sizes.get("rungs")?.as_array()?;
    let chosen = usize::try_from(sizes.get("chosen")?.as_u64()?).ok()?;
    let slowdown = |rung: &serde_json::Value| rung.get("slowdown").and_then(serde_json::Value::as_f64);
    let (at, best) =
        rungs.iter().enumerate().filter(|(_, rung)| slowdown(rung).is_some()).min_by(|(_, a), (_, b)| {
            slowdown(a).partial_cmp(&slowdown(b)).unwrap_or(std::cmp::Ordering::Equal)
        })?;
    let (this, least) = (slowdown(rungs.get(chosen)?)?, slowdown(best)?);
    if at == chosen {
        return Some("No larger model was better in cross-validation.".to_owned());
    }
    let count = |key: &str| best.get(key).and_then(serde_json::Value::as_u64).unwrap_or(0);
    let boosted = match count("boosted_trees") {
        0 => String::new(),
        trees => format!(" and {trees} boosted trees"),
    };
    Some(format!(
        "The price of its size, in cross-validation: it loses {}, {} leaves{boosted} lose {}.",
        percent(this),
        count("leaves"),
        percent(least)
    ))
}

/// Returns the tree where sibling leaves are one if a function that does not decline tries the same choices in both.
pub fn merged(model: &Model) -> Tree {
    merge(&model.tree, &|a, b| (tried(model, a) == tried(model, b)).then(|| a.clone()))
}

/// Returns the choices that a leaf tries in turn where they can run, and the one that it takes where none of these can. Declining is the
/// fallback here. The order is that of the ranking: the allowed choices, the fallback, and where that cannot run either, the others.
fn tried(model: &Model, leaf: &Leaf) -> (Vec<ChoiceId>, Option<ChoiceId>) {
    if leaf.ranking.iter().all(|ranked| !model.eligible.contains_key(&ranked.choice)) {
        let pick = leaf.choose(model.fallback).map(|ranked| ranked.choice);
        return (Vec::new(), pick.or(model.fallback));
    }
    let default = |ranked: &&RankedChoice| ranked.expected || Some(ranked.choice) == model.fallback;
    let (allowed, others): (Vec<&RankedChoice>, Vec<&RankedChoice>) =
        leaf.ranking.iter().filter(default).partition(|ranked| ranked.allowed);
    let choices =
        |ranked: Vec<&RankedChoice>| ranked.into_iter().map(|ranked| ranked.choice).collect::<Vec<_>>();
    let mut conditional = Vec::new();
    for choice in choices(allowed).into_iter().chain(model.fallback).chain(choices(others)) {
        if !model.eligible.contains_key(&choice) {
            return (conditional, Some(choice));
        }
        if !conditional.contains(&choice) {
            conditional.push(choice);
        }
    }
    (conditional, model.fallback)
}

/// Writes the tree as statements.
struct Writer<'a> {
    lowered: &'a LoweredModel<'a>,
    plain: &'a Plain<'a>,
}

impl Writer<'_> {
    /// Appends the statements of a subtree. Each path ends with a return, so only the smaller child is inside of an `if`.
    fn node(&self, at: usize, level: usize, lines: &mut Vec<String>) {
        let nodes = &self.lowered.model.tree.nodes;
        match &nodes[at] {
            Node::Leaf(leaf) => lines.extend(self.leaf(leaf, level)),
            Node::Split { test, left, right } => {
                let (left, right) = (*left as usize, *right as usize);
                let [goes_left, goes_right] = match self.conditions(test) {
                    Ok(conditions) => conditions,
                    Err(goes_right) => return self.node(if goes_right { right } else { left }, level, lines),
                };
                let left_first = leaves(nodes, left) <= leaves(nodes, right);
                let (condition, first, second) =
                    if left_first { (goes_left, left, right) } else { (goes_right, right, left) };
                let mut inner = Vec::new();
                self.node(first, level + 1, &mut inner);
                let leaf = match &nodes[first] {
                    Node::Leaf(leaf) => Some(leaf),
                    Node::Split { .. } => None,
                };
                // Where it is included, the next condition includes this one.
                if !leaf.is_some_and(|leaf| self.is_included(test, left_first, leaf, second)) {
                    lines.extend(match leaf.and_then(|leaf| self.single(leaf)) {
                        Some(pick) => self.plain.guard(level, &condition, &self.plain.result(pick)),
                        None => self.plain.block(level, &condition, inner),
                    });
                }
                self.node(second, level, lines);
            }
        }
    }

    /// Returns true if the node at `next` tests the same number in the same direction for a leaf with the same choice.
    fn is_included(&self, test: &Test, left_first: bool, leaf: &Leaf, next: usize) -> bool {
        let nodes = &self.lowered.model.tree.nodes;
        let (Test::Numerical { slot, threshold }, Node::Split { test: next, left, right }) =
            (test, &nodes[next])
        else {
            return false;
        };
        let Test::Numerical { slot: other, threshold: wider } = next else { return false };
        let (left, right) = (*left as usize, *right as usize);
        let first = if left_first { left } else { right };
        let same = |other: &Leaf| self.single(other) == self.single(leaf);
        slot == other
            && if left_first { wider >= threshold } else { wider <= threshold }
            && self.single(leaf).is_some()
            && left_first == (leaves(nodes, left) <= leaves(nodes, right))
            && matches!(&nodes[first], Node::Leaf(other) if same(other))
    }

    /// Returns the conditions for the left and the right child, or which way all values take: true is right.
    fn conditions(&self, test: &Test) -> Result<[String; 2], bool> {
        let (condition, right) = condition(self.lowered.model, test);
        let [yes, no] = match condition.ok_or(right)? {
            Condition::AtMost(slot, threshold) => {
                let is_whole = self.lowered.is_whole(slot);
                let threshold = self.plain.threshold(if is_whole { threshold.floor() } else { threshold });
                let value = self.plain.value(slot).above(Binds::Comparison);
                let above = format!("{value} > {threshold}");
                let at_most = if self.lowered.is_missing(slot) {
                    self.plain.negated(Code::new(Binds::Choice, above.clone()))
                } else {
                    format!("{value} <= {threshold}")
                };
                [at_most, above]
            }
            Condition::Holds(slot) => {
                let value = self.plain.value(slot);
                [value.clone().alone(), self.plain.negated(value)]
            }
            Condition::IsIn(slot, categories) => {
                [true, false].map(|equal| self.plain.is_in(slot, &categories, equal).alone())
            }
        };
        Ok(if right { [no, yes] } else { [yes, no] })
    }

    /// Returns the result of a leaf that returns without further conditions.
    fn single(&self, leaf: &Leaf) -> Option<Option<ChoiceId>> {
        let (conditional, last) = tried(self.lowered.model, leaf);
        conditional.is_empty().then_some(last)
    }

    /// Returns the statements of a leaf.
    fn leaf(&self, leaf: &Leaf, level: usize) -> Vec<String> {
        let (model, plain) = (self.lowered.model, self.plain);
        let (conditional, last) = tried(model, leaf);
        let mut lines = Vec::new();
        for choice in conditional {
            let condition = print(self.lowered, plain, |p| p.truth(&model.eligible[&choice].typed)).alone();
            lines.extend(plain.guard(level, &condition, &plain.result(Some(choice))));
        }
        lines.push(plain.returned(level, &plain.result(last)));
        lines
    }
}

fn leaves(nodes: &[Node<Leaf>], at: usize) -> usize {
    match &nodes[at] {
        Node::Leaf(_) => 1,
        Node::Split { left, right, .. } => leaves(nodes, *left as usize) + leaves(nodes, *right as usize),
    }
}
