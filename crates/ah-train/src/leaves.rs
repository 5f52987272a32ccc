//! What leaves say: the ranking of the choices, and for each what training saw of it there.

use ah_types::{ChoiceId, Leaf, Node, Ranked, Tree};

use crate::columns::Columns;
use crate::grown::Grown;
use crate::scores::Scores;
use crate::table::Table;

/// The tree of a model: `tree` with leaves made from `inputs`, the rows that it was learned from.
#[must_use]
pub fn with_leaves(
    tree: &Grown,
    scores: &Scores,
    columns: &Columns,
    table: &Table,
    inputs: &[u32],
    fallback: ChoiceId,
) -> Tree {
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); tree.nodes.len()];
    for &input in inputs {
        members[tree.leaf_of(columns, input) as usize].push(input);
    }
    let known = Known::new(table, inputs, fallback);
    let node = |(id, node): (usize, &crate::grown::GrownNode)| match &node.split {
        Some(split) => Node::Split { test: split.test.clone(), left: split.left, right: split.right },
        None => Node::Leaf(leaf(table, &members[id], &known.ranking(scores, id as u32), fallback)),
    };
    Tree { nodes: tree.nodes.iter().enumerate().map(node).collect() }
}

/// Which choices belong into a ranking.
struct Known {
    /// True for choices that training saw at all.
    measured: Vec<bool>,
    /// The fallback, where every input could run it: what is ranked behind it is never reached.
    last: Option<ChoiceId>,
}

impl Known {
    fn new(table: &Table, inputs: &[u32], fallback: ChoiceId) -> Self {
        let mut measured = vec![false; table.choices.len()];
        let mut always = true;
        for &input in inputs {
            for cell in table.cells(input as usize) {
                measured[cell.choice.index()] = true;
            }
            always &= table.cell(input as usize, fallback).is_some_and(|c| c.time.is_finite());
        }
        Self { measured, last: always.then_some(fallback) }
    }

    fn ranking(&self, scores: &Scores, node: u32) -> Vec<(ChoiceId, f64)> {
        let mut ranking = scores.ranking(node);
        ranking.retain(|(choice, _)| self.measured[choice.index()]);
        if let Some(end) = ranking.iter().position(|(choice, _)| Some(*choice) == self.last) {
            ranking.truncate(end + 1);
        }
        ranking
    }
}

/// What training saw of one choice in a leaf.
#[derive(Clone, Copy, Default)]
struct Seen {
    wins: f64,
    measured: u64,
    usable: u64,
    log_slowdown: f64,
    worst: f64,
    worst_over_fallback: f64,
}

fn leaf(table: &Table, members: &[u32], ranking: &[(ChoiceId, f64)], fallback: ChoiceId) -> Leaf {
    let mut seen = vec![Seen::default(); table.choices.len()];
    for &input in members {
        let cells = table.cells(input as usize);
        let winners = cells.iter().filter(|c| c.log_slowdown == 0.0).count() as f64;
        let fallback = table.cell(input as usize, fallback).map_or(f64::NAN, |c| c.time);
        for cell in cells {
            let s = &mut seen[cell.choice.index()];
            s.measured += 1;
            s.worst = s.worst.max(cell.log_slowdown);
            // An unknown or failed fallback says nothing about how much slower the choice may be.
            let over = cell.time / fallback;
            s.worst_over_fallback =
                s.worst_over_fallback.max(if over.is_nan() { f64::INFINITY } else { over });
            if cell.log_slowdown.is_finite() {
                s.usable += 1;
                s.log_slowdown += cell.log_slowdown;
                s.wins += if cell.log_slowdown == 0.0 { 1.0 / winners } else { 0.0 };
            }
        }
    }
    let ranked = |&(choice, score): &(ChoiceId, f64)| {
        let s = &seen[choice.index()];
        let if_seen = |x: f64| if s.measured > 0 { x } else { f64::INFINITY };
        Ranked {
            choice,
            score,
            probability: if members.is_empty() { 0.0 } else { s.wins / members.len() as f64 },
            measured: s.measured,
            slowdown: if s.usable > 0 { (s.log_slowdown / s.usable as f64).exp() } else { f64::INFINITY },
            worst: if_seen(s.worst.exp()),
            worst_over_fallback: if_seen(s.worst_over_fallback),
            allowed: true,
        }
    };
    Leaf { samples: members.len() as u64, unsure: None, ranking: ranking.iter().map(ranked).collect() }
}
