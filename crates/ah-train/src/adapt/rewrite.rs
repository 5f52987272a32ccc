//! The corrected model.

use std::collections::BTreeMap;

use ah_types::{ChoiceId, Leaf, Model, Node, RankedChoice};

use super::corrected::{CorrectedChoice, Risk, choices};
use super::correction::Correction;
use super::transfer::{NewInput, Transfer};
use crate::tree::leaves::{by_evidence, rounded};
use crate::tree::risk::margin;

/// New inputs that must lack a choice that the old leaves would expect there, before a program that does not list its
/// choices is no longer expected to offer it.
const ABSENT: usize = 3;
/// New inputs, in a leaf or in the nearest node above, that show whether a choice is expected: a single one often measured a
/// choice that half of the inputs offer. On convolutions of another type (500 inputs), 1, 3, 10 and 30 lose 2.2, 2.4, 2.6 and
/// 3.5 % without names, and 5.9 % where no choice becomes expected.
const ENOUGH: usize = 10;

/// Returns the model with corrected scores and these new inputs as further evidence; choices with a risk ratio above
/// `threshold` are not allowed.
pub fn rewrite(
    transfer: &Transfer<'_>,
    correction: &Correction,
    inputs: &[usize],
    risk: Risk,
    threshold: f64,
) -> Model {
    let mut model = transfer.model.clone();
    let is_boosted = !model.boosters.is_empty();
    model.margin = margin(threshold).filter(|_| is_boosted);
    let absent = absent(transfer, inputs);
    let members = Members::new(transfer, inputs);
    for (id, leaf) in transfer.model.tree.leaves() {
        let mut new = with_members(transfer, leaf, members.of(id as u32), members.around(id as u32));
        let ranked = |corrected: CorrectedChoice| {
            let mut ranked = new.ranked(corrected.choice).cloned()?;
            ranked.score = rounded(corrected.score, 5);
            ranked.allowed = corrected.ratio <= threshold;
            ranked.expected &= !absent[ranked.choice.index()];
            Some(ranked)
        };
        let corrected = choices(transfer, correction, risk, (id as u32, leaf));
        let mut ranking: Vec<RankedChoice> = corrected.into_iter().filter_map(ranked).collect();
        ranking.sort_by(|a, b| a.score.total_cmp(&b.score).then(a.choice.cmp(&b.choice)));
        new.ranking = ranking;
        if is_boosted {
            by_evidence(&mut new);
        }
        model.tree.nodes[id] = Node::Leaf(new);
    }
    model
}

/// The new inputs below each node of the tree.
struct Members<'a> {
    transfer: &'a Transfer<'a>,
    by_node: BTreeMap<u32, Vec<&'a NewInput>>,
}

impl<'a> Members<'a> {
    fn new(transfer: &'a Transfer<'a>, inputs: &[usize]) -> Self {
        let mut by_node: BTreeMap<u32, Vec<&NewInput>> = BTreeMap::new();
        for input in inputs.iter().map(|&at| &transfer.inputs[at]) {
            let mut at = input.reached.as_ref().map(|reached| reached.leaf);
            while let Some(node) = at {
                by_node.entry(node).or_default().push(input);
                at = transfer.parent(node);
            }
        }
        Self { transfer, by_node }
    }

    fn of(&self, node: u32) -> &[&'a NewInput] {
        self.by_node.get(&node).map_or(&[], |members| members)
    }

    /// Returns the inputs of the node, or of the nearest node above with [enough](ENOUGH) of them.
    fn around(&self, mut node: u32) -> &[&'a NewInput] {
        while self.of(node).len() < ENOUGH
            && let Some(parent) = self.transfer.parent(node)
        {
            node = parent;
        }
        self.of(node)
    }
}

/// Returns true if nearly all (99 %) of the inputs on which a choice can run measured it.
fn is_offered(model: &Model, choice: ChoiceId, inputs: &[&NewInput]) -> bool {
    let can_run = inputs.iter().filter(|input| model.is_eligible(choice, &*input.values));
    let (count, measured) = can_run
        .fold((0, 0), |(count, measured), input| (count + 1, measured + usize::from(input.measures(choice))));
    measured * 100 >= count * 99
}

/// Returns, by choice, whether the new inputs never measured it although their leaves would expect it.
fn absent(transfer: &Transfer<'_>, inputs: &[usize]) -> Vec<bool> {
    let choices = transfer.model.choices.len();
    let (mut expected, mut found) = (vec![0; choices], vec![false; choices]);
    for input in inputs.iter().map(|&at| &transfer.inputs[at]) {
        input.cells.iter().for_each(|cell| found[cell.choice.index()] = true);
        let leaf = input.reached.as_ref().and_then(|r| transfer.model.tree.leaf(r.leaf as usize));
        for ranked in leaf.into_iter().flat_map(|leaf| &leaf.ranking).filter(|ranked| ranked.expected) {
            expected[ranked.choice.index()] += 1;
        }
    }
    expected.iter().zip(&found).map(|(&expected, found)| expected >= ABSENT && !found).collect()
}

/// Returns a leaf with its new inputs as further evidence: its old ranking, with the choices that only they measured. A
/// choice that was not expected there becomes expected by the inputs `around`. Without new inputs in the leaf it does not: its
/// old inputs know better what can run there than new inputs elsewhere.
fn with_members(transfer: &Transfer<'_>, leaf: &Leaf, members: &[&NewInput], around: &[&NewInput]) -> Leaf {
    let mut new = leaf.clone();
    new.samples += members.len() as u64;
    for (slot, range) in new.ranges.iter_mut().enumerate() {
        let Some((least, greatest)) = range else { continue };
        for value in
            members.iter().filter_map(|input| input.values[slot].as_scalar().number()).filter(|v| !v.is_nan())
        {
            *least = least.min(value);
            *greatest = greatest.max(value);
        }
    }
    let mut measured: BTreeMap<ChoiceId, Vec<(f64, f64, bool)>> = BTreeMap::new();
    for input in members {
        let base = transfer.table.usable(input.row, transfer.table_fallback).map(|cell| cell.log_slowdown);
        for cell in &input.cells {
            let over = base.map_or(f64::INFINITY, |base| (cell.log_slowdown - base).exp());
            let wins = transfer.table.cell(input.row, cell.in_table).is_some_and(|cell| cell.ties_winner);
            measured.entry(cell.choice).or_default().push((cell.log_slowdown, over, wins));
        }
    }
    for (choice, times) in measured {
        let at = new.ranking.iter().position(|ranked| ranked.choice == choice).unwrap_or_else(|| {
            new.ranking.push(RankedChoice { choice, slowdown: 1.0, ..RankedChoice::default() });
            new.ranking.len() - 1
        });
        add(&mut new.ranking[at], &times, leaf.samples, members.len() as u64);
    }
    for ranked in &mut new.ranking {
        let is_offered = |inputs| is_offered(&transfer.model, ranked.choice, inputs);
        let becomes_expected = !members.is_empty() && is_offered(around);
        ranked.expected = (ranked.expected || becomes_expected) && is_offered(members);
        if !members.iter().any(|input| input.measures(ranked.choice)) {
            let share = leaf.samples as f64 / new.samples.max(1) as f64;
            ranked.probability = rounded(ranked.probability * share, 4);
        }
    }
    new
}

/// Adds the new (log slowdown, time over the fallback's, wins) to the evidence for a choice.
fn add(ranked: &mut RankedChoice, times: &[(f64, f64, bool)], old: u64, new: u64) {
    let count = times.len() as f64;
    let was = ranked.measured as f64;
    let sum = times.iter().map(|t| t.0).sum::<f64>();
    let worst = |old: f64, f: fn(&(f64, f64, bool)) -> f64| times.iter().map(f).fold(old, f64::max);
    ranked.slowdown = rounded(((ranked.slowdown.ln() * was + sum) / (was + count)).exp(), 4);
    ranked.worst = rounded(worst(ranked.worst, |t| t.0.exp()), 4);
    ranked.worst_over_fallback = rounded(worst(ranked.worst_over_fallback, |t| t.1), 4);
    let wins = times.iter().filter(|t| t.2).count() as f64;
    ranked.probability = rounded((ranked.probability * old as f64 + wins) / (old + new) as f64, 4);
    ranked.measured += times.len() as u64;
}
