//! One cheap question before all others, where it pays: `n <= 20` sends the short inputs, which cannot wait, to a leaf of
//! their own after one comparison. Growth alone asks first what separates the choices best, be it a derived feature.

use ah_joint::growth::{Node, Tree};

use super::fitted::FittedEnsemble;
use crate::data::{COST_ONE, Column, Costs, FitRows};

/// With more choices, no leaf of one choice is worth a search.
const MOST_CHOICES: usize = 64;

/// The question, and the side on which its leaf is.
struct Question {
    column: usize,
    limit: u16,
    leaf_is_left: bool,
}

/// The tree behind the question that saves most over these rows, with a leaf of at least `least` rows; `None` if none
/// saves anything. `is_cheap` are the columns that may be asked. In costs of the objective, an input pays for asking `of_leaf` in the
/// new leaf, and `of_path` on the path to a node of the old tree, behind further comparisons.
pub fn cheap_first(
    fitted: &FittedEnsemble,
    rows: &FitRows<'_>,
    costs: &Costs,
    least: usize,
    is_cheap: impl Fn(&Column) -> bool,
    of_leaf: impl Fn(u32) -> f64,
    of_path: impl Fn(usize, u32, f64) -> f64,
) -> Option<Tree> {
    let choices = costs.choices;
    if choices > MOST_CHOICES {
        return None;
    }
    // By row: what the old tree costs now, and behind one more comparison.
    let old = |&input: &u32| {
        let node = rows.columns.leaf(&fitted.tree, input);
        let (weight, cost) =
            (f64::from(costs.weight(input)), f64::from(fitted.scores.cost(node, costs, input)));
        [0.0, 1.0].map(|further| weight * (cost / COST_ONE + of_path(node, input, further)))
    };
    let old: Vec<[f64; 2]> = rows.inputs.iter().map(old).collect();
    let mut best: (f64, Option<Question>) =
        (old.iter().map(|[now, _]| now).sum::<f64>() * (1.0 - 1e-6), None);
    for (at, column) in rows.columns.all.iter().enumerate().filter(|(_, column)| is_cheap(column)) {
        // By code: the rows, what they cost behind the question, and as a leaf of each choice.
        let levels = column.levels();
        let mut count = vec![0_usize; levels];
        let mut behind = vec![0.0; levels];
        let mut leaf = vec![(0_usize, 0.0); levels * choices];
        for (&input, [_, further]) in rows.inputs.iter().zip(&old) {
            let code = usize::from(column.codes[input as usize]);
            count[code] += 1;
            behind[code] += further;
            let weight = f64::from(costs.weight(input));
            let asked = of_leaf(input);
            for cost in costs.of(input) {
                let (measured, sum) = &mut leaf[code * choices + cost.choice.index()];
                *measured += 1;
                *sum += weight * (f64::from(cost.cost) / COST_ONE + asked);
            }
        }
        let all: f64 = behind.iter().sum();
        for leaf_is_left in [true, false] {
            let mut rows_here = 0;
            let mut rest = all;
            let mut here = vec![(0_usize, 0.0); choices];
            for step in 0..levels.saturating_sub(1) {
                let code = if leaf_is_left { step } else { levels - 1 - step };
                rows_here += count[code];
                rest -= behind[code];
                for (sum, more) in here.iter_mut().zip(&leaf[code * choices..][..choices]) {
                    *sum = (sum.0 + more.0, sum.1 + more.1);
                }
                // Only a choice that every row of the leaf measured.
                let known = here.iter().filter(|(measured, _)| *measured == rows_here);
                let cheapest = known.map(|(_, sum)| *sum).fold(f64::INFINITY, f64::min);
                let is_large =
                    rows_here >= least && rows.inputs.len() - rows_here >= least && count[code] > 0;
                if is_large && cheapest + rest < best.0 {
                    let limit = if leaf_is_left { code } else { code - 1 } as u16;
                    best = (cheapest + rest, Some(Question { column: at, limit, leaf_is_left }));
                }
            }
        }
    }
    best.1.map(|question| behind_question(&fitted.tree, rows, &question))
}

/// The question with the old tree on the other side, without its splits that no row needs there.
fn behind_question(old: &Tree, rows: &FitRows<'_>, question: &Question) -> Tree {
    let is_left = |split: &Node, input: u32| {
        rows.columns.all[split.column as usize].codes[input as usize] <= split.limit
    };
    let mut tree = Tree::default();
    let asked = Node { column: question.column as u32, limit: question.limit, ..Node::default() };
    let left = tree.split(0, asked);
    let stays = |input: &u32| is_left(&asked, *input) != question.leaf_is_left;
    let inputs: Vec<u32> = rows.inputs.iter().copied().filter(stays).collect();
    let mut todo = vec![(0, left + usize::from(question.leaf_is_left), inputs)];
    while let Some((from, to, inputs)) = todo.pop() {
        let Some([left, right]) = old.children(from) else { continue };
        let split = old.nodes[from];
        let (here, there): (Vec<u32>, Vec<u32>) =
            inputs.into_iter().partition(|&input| is_left(&split, input));
        match (here.is_empty(), there.is_empty()) {
            (true, _) => todo.push((right, to, there)),
            (_, true) => todo.push((left, to, here)),
            _ => {
                let below = tree.split(to, split);
                todo.extend([(left, below, here), (right, below + 1, there)]);
            }
        }
    }
    tree
}
