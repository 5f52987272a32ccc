//! The corrected model.

use std::collections::BTreeMap;

use ah_types::{ChoiceId, Leaf, Model, Node, Place, RankedChoice, Vote};

use super::corrected::{Risk, choices};
use super::correction::Correction;
use super::evidence::{Evidence, NewInput};
use crate::tree::Boosted;
use crate::tree::leaves::{by_evidence, rounded};

/// New inputs that must lack a choice that the old leaves would expect there, before a program that does not list its
/// choices is no longer expected to offer it.
const ABSENT: usize = 3;

/// Returns the model with corrected scores and the new inputs as further evidence; choices with a price above
/// `threshold` are not allowed.
pub fn rewrite(evidence: &Evidence<'_>, correction: &Correction, risk: Risk, threshold: f64) -> Model {
    let mut model = evidence.model.clone();
    if let Some(boosted) = &mut model.boosted {
        boosted.margin = Boosted::margin(threshold);
    }
    let absent = absent(evidence);
    for (tree, old) in evidence.model.trees.iter().enumerate() {
        let mut members: BTreeMap<usize, Vec<&NewInput>> = BTreeMap::new();
        for input in &evidence.inputs {
            if let Some(reached) = input.reached.get(tree) {
                members.entry(reached.leaf as usize).or_default().push(input);
            }
        }
        for (id, leaf) in old.leaves() {
            let of_leaf = |outside| {
                let mut votes = choices(evidence, correction, risk, (tree, id as u32, leaf), outside);
                votes.iter_mut().for_each(|vote| vote.score = rounded(vote.score, 5));
                votes.sort_by(Vote::order);
                votes.into_iter().map(|vote| vote.place(threshold))
            };
            let members = members.get(&id).map_or(&[][..], |members| members);
            let mut new = with_members(evidence, leaf, members);
            let ranked = |place: Place| {
                let mut ranked = new.ranked(place.choice).cloned()?;
                let is_known = ranked.measured > 0;
                ranked.score = place.score;
                ranked.allowed = is_known && place.allowed;
                ranked.usual &= !absent[place.choice.index()];
                Some(ranked)
            };
            let ranking: Vec<RankedChoice> = of_leaf(false).filter_map(ranked).collect();
            if !leaf.outside.is_empty() {
                let allowed = |choice| ranking.iter().any(|r| r.choice == choice && r.allowed);
                let place = |place: Place| Place { allowed: place.allowed && allowed(place.choice), ..place };
                new.outside = of_leaf(true).map(place).collect();
            }
            new.ranking = ranking;
            if evidence.model.boosted.is_some() {
                by_evidence(&mut new);
            }
            model.trees[tree].nodes[id] = Node::Leaf(new);
        }
    }
    model
}

/// Returns, by choice, whether the new inputs never measured it although their leaves would expect it.
fn absent(evidence: &Evidence<'_>) -> Vec<bool> {
    let choices = evidence.model.choices.len();
    let (mut expected, mut found) = (vec![0; choices], vec![false; choices]);
    for input in &evidence.inputs {
        input.cells.iter().for_each(|cell| found[cell.choice.index()] = true);
        let leaf = input.reached.first().and_then(|r| evidence.model.trees[0].leaf(r.leaf as usize));
        for ranked in leaf.into_iter().flat_map(|leaf| &leaf.ranking).filter(|ranked| ranked.usual) {
            expected[ranked.choice.index()] += 1;
        }
    }
    expected.iter().zip(&found).map(|(&expected, found)| expected >= ABSENT && !found).collect()
}

/// Returns a leaf with the new inputs as further evidence: its old ranking, with the choices that only they measured.
fn with_members(evidence: &Evidence<'_>, leaf: &Leaf, members: &[&NewInput]) -> Leaf {
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
        let base = evidence.table.usable(input.row, evidence.table_fallback).map(|cell| cell.log_slowdown);
        for cell in &input.cells {
            let over = base.map_or(f64::INFINITY, |base| (cell.log_slowdown - base).exp());
            let wins = evidence.table.cell(input.row, cell.in_table).is_some_and(|cell| cell.ties_winner);
            measured.entry(cell.choice).or_default().push((cell.log_slowdown, over, wins));
        }
    }
    for (choice, times) in measured {
        let at = new.ranking.iter().position(|ranked| ranked.choice == choice).unwrap_or_else(|| {
            new.ranking.push(RankedChoice::unmeasured(choice, 0.0));
            new.ranking.len() - 1
        });
        add(&mut new.ranking[at], &times, leaf.samples, members.len() as u64);
    }
    // A choice that the new inputs of the leaf lack is not usual there.
    for ranked in &mut new.ranking {
        let count = members.iter().filter(|m| m.cells.iter().any(|c| c.choice == ranked.choice)).count();
        let is_new = leaf.ranked(ranked.choice).is_none_or(|old| old.measured == 0);
        ranked.usual = (ranked.usual || (is_new && count > 0 && leaf.samples == 0)) && count == members.len();
        if count == 0 {
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
    let is_new = ranked.measured == 0;
    let before = if is_new { 0.0 } else { ranked.slowdown.ln() * was };
    let worst = |old: f64, f: fn(&(f64, f64, bool)) -> f64| {
        times.iter().map(f).fold(if is_new { 0.0 } else { old }, f64::max)
    };
    ranked.slowdown = rounded(((before + sum) / (was + count)).exp(), 4);
    ranked.worst = rounded(worst(ranked.worst, |t| t.0.exp()), 4);
    ranked.worst_over_fallback = rounded(worst(ranked.worst_over_fallback, |t| t.1), 4);
    let wins = times.iter().filter(|t| t.2).count() as f64;
    ranked.probability = rounded((ranked.probability * old as f64 + wins) / (old + new) as f64, 4);
    ranked.measured += times.len() as u64;
}
