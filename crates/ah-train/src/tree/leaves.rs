//! The leaves of a model: the ranking of the choices, and for each the evidence of training.

use ah_model::math::{exp, ln};
use std::collections::BTreeMap;

use ah_model::{ChoiceId, Leaf, Precondition, RankedChoice, Tree};

use super::cover;
use super::fitted::{FittedEnsemble, members};
use crate::data::threshold::rounded;
use crate::data::{FitRows, Table};

/// The tree of a model, with leaves made from `rows`: the rows that `fitted` was learned from.
pub fn tree(
    fitted: &FittedEnsemble,
    table: &Table,
    rows: &FitRows<'_>,
    fallback: ChoiceId,
    policy: &RankingPolicy,
) -> Tree {
    let (rankable, last) = rankable(table, rows.inputs, fallback, policy, fitted.reorders());
    let evidence = fitted.members(rows);
    let own = members(&fitted.tree, rows, 1);
    rows.columns.in_model(&fitted.tree, |at| {
        let mut ranking = fitted.scores.ranking(at);
        ranking.retain(|(choice, _)| rankable[choice.index()]);
        if let Some(end) = ranking.iter().position(|(choice, _)| Some(*choice) == last) {
            ranking.truncate(end + 1);
        }
        if policy.at_least > 0 {
            let parents = &evidence[fitted.tree.nodes[at].parent as usize];
            cover::spread(&mut ranking, policy.at_least, table, &evidence[at], parents);
            // The program's own choice is worth a measurement too.
            let late = ranking.iter().skip(policy.at_least).position(|(choice, _)| *choice == fallback);
            if let Some(behind) = late.filter(|_| policy.at_least > 1) {
                cover::move_up(&mut ranking, policy.at_least + behind, policy.at_least - 1);
            }
        }
        let mut leaf = leaf(table, &evidence[at], &own[at], &ranking, fallback, &policy.eligible);
        if fitted.reorders() {
            // Here the scores are the same everywhere: the evidence says more.
            leaf.ranking.sort_by(|a, b| a.slowdown.total_cmp(&b.slowdown));
        }
        leaf
    })
}

/// Which choices a leaf ranks.
#[derive(Clone, Debug, Default)]
pub struct RankingPolicy {
    /// For `--ranking K`: the number of choices that the program measures, the fallback among them; 0: it takes the first.
    pub at_least: usize,
    /// Where choices can run at all; choices without an entry can everywhere.
    pub eligible: BTreeMap<ChoiceId, Precondition>,
}

/// Whether, by choice, training measured it on enough inputs; and the choice that ends a ranking: the fallback, where
/// every input can run it. A choice behind it is never taken.
fn rankable(
    table: &Table,
    inputs: &[u32],
    fallback: ChoiceId,
    policy: &RankingPolicy,
    reorders: bool,
) -> (Vec<bool>, Option<ChoiceId>) {
    let mut rankable = vec![false; table.choices.len()];
    for cell in inputs.iter().flat_map(|&input| table.cells(input)) {
        rankable[cell.choice.index()] = !table.is_rare(cell.choice);
    }
    let always = inputs.iter().all(|&input| table.usable(input, fallback).is_some());
    // Boosters and a formula change the order; a program that measures the first K offered choices goes on behind the fallback.
    (rankable, (always && !reorders && policy.at_least == 0).then_some(fallback))
}

/// The evidence for one choice in a leaf.
#[derive(Clone, Copy, Default)]
struct ChoiceStatistics {
    wins: f64,
    measured: u64,
    usable: u64,
    log_slowdown: f64,
    worst: f64,
    worst_over_fallback: f64,
}

/// A leaf with the evidence of `members`. A choice is expected by `own`: the evidence may come from inputs beyond the
/// leaf, on which other choices are offered.
fn leaf(
    table: &Table,
    members: &[u32],
    own: &[u32],
    ranking: &[(ChoiceId, f64)],
    fallback: ChoiceId,
    eligible: &BTreeMap<ChoiceId, Precondition>,
) -> Leaf {
    let mut statistics = vec![ChoiceStatistics::default(); table.choices.len()];
    for &input in members {
        let cells = table.cells(input);
        let best = table.inputs[input as usize].best;
        let winners = cells.iter().filter(|cell| cell.time == best).count() as f64;
        let fallback = table.cell(input, fallback).map_or(f64::NAN, |c| c.time);
        let values = table.values(input);
        let can_run = |choice| eligible.get(&choice).is_none_or(|condition| condition.holds(values));
        // An estimate is no evidence, and neither is a time where the choice is never taken.
        for cell in cells.iter().filter(|cell| cell.is_measured() && can_run(cell.choice)) {
            let s = &mut statistics[cell.choice.index()];
            s.measured += 1;
            let log_slowdown = if cell.time.is_finite() { ln(cell.time / best) } else { f64::INFINITY };
            s.worst = s.worst.max(log_slowdown);
            // Against an unknown or failed fallback the choice may be slower by any factor.
            let over = cell.time / fallback;
            s.worst_over_fallback =
                s.worst_over_fallback.max(if over.is_nan() { f64::INFINITY } else { over });
            if log_slowdown.is_finite() {
                s.usable += 1;
                s.log_slowdown += log_slowdown;
                s.wins += if cell.time == best { 1.0 / winners } else { 0.0 };
            }
        }
    }
    let timed = table.count_timed(own);
    let ranked = |&(choice, score): &(ChoiceId, f64)| {
        let s = &statistics[choice.index()];
        let offered = eligible.get(&choice).map_or(own.len(), |condition| {
            let values = |input: u32| table.values(input);
            own.iter().filter(|&&input| condition.holds(values(input))).count()
        });
        let timed = timed[choice.index()];
        let slowdown = if s.usable > 0 { exp(s.log_slowdown / s.usable as f64) } else { f64::INFINITY };
        RankedChoice {
            choice,
            score: rounded(score, 5),
            probability: if members.is_empty() { 0.0 } else { rounded(s.wins / members.len() as f64, 4) },
            measured: s.measured,
            expected: s.measured > 0 && timed > 0 && timed * 100 >= offered * 99,
            slowdown: rounded(slowdown, 4),
            worst: rounded(exp(s.worst), 4),
            worst_over_fallback: rounded(s.worst_over_fallback, 4),
            allowed: true,
        }
    };
    Leaf {
        samples: members.len() as u64,
        // Only estimates have no measurement among the members.
        ranking: ranking.iter().map(ranked).filter(|ranked| ranked.measured > 0).collect(),
    }
}
