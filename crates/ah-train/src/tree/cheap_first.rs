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

/// What an input pays for asking, in costs of the objective.
pub trait Price {
    /// One comparison of a logged feature.
    fn comparison(&self, input: u32) -> f64;

    /// The path to a node of a tree, behind further comparisons.
    fn path(&self, node: usize, input: u32, further: f64) -> f64;
}

/// The questions that may be asked.
#[derive(Clone, Copy)]
pub struct Askable {
    /// The least rows in the new leaf, and beside it.
    pub least: usize,
    /// The number of logged features, whose slots come first. Only they are cheap.
    pub logged: usize,
}

/// The tree behind the question that saves most over these rows; `None` if none saves anything.
pub fn cheap_first(
    fitted: &FittedEnsemble,
    rows: &FitRows<'_>,
    costs: &Costs,
    askable: Askable,
    price: &impl Price,
) -> Option<Tree> {
    let choices = costs.choices;
    if choices > MOST_CHOICES {
        return None;
    }
    // By row: what the old tree costs now, and behind one more comparison.
    let old = |&input: &u32| {
        let node = rows.columns.leaf(&fitted.tree, input);
        let cost = f64::from(fitted.scores.cost(node, costs, input)) / COST_ONE;
        let weight = f64::from(costs.weight(input));
        [0.0, 1.0].map(|further| weight * (cost + price.path(node, input, further)))
    };
    let old: Vec<[f64; 2]> = rows.inputs.iter().map(old).collect();
    let asked: Vec<f64> = rows.inputs.iter().map(|&input| price.comparison(input)).collect();
    let all_behind: f64 = old.iter().map(|[_, further]| further).sum();
    let mut least_cost = old.iter().map(|[now, _]| now).sum::<f64>() * (1.0 - 1e-6);
    let mut best = None;
    let mut order: Vec<usize> = (0..rows.inputs.len()).collect();
    let is_cheap = |(_, column): &(usize, &Column)| column.slot < askable.logged;
    for (at, column) in rows.columns.all.iter().enumerate().filter(is_cheap) {
        let code = |row: usize| column.codes[rows.inputs[row] as usize];
        order.sort_by_key(|&row| code(row));
        for leaf_is_left in [true, false] {
            let mut behind = all_behind;
            // By choice: how many rows of the leaf measured it, and what it costs them.
            let mut leaf = vec![(0_usize, 0.0); choices];
            for (size, pair) in (1..).zip(order.windows(2)) {
                let row = pair[0];
                let input = rows.inputs[row];
                behind -= old[row][1];
                for cost in costs.of(input) {
                    let (measured, sum) = &mut leaf[cost.choice.index()];
                    *measured += 1;
                    *sum += f64::from(costs.weight(input)) * (f64::from(cost.cost) / COST_ONE + asked[row]);
                }
                if code(row) == code(pair[1]) || size.min(order.len() - size) < askable.least {
                    continue;
                }
                // Only a choice that every row of the leaf measured.
                let known = leaf.iter().filter(|(measured, _)| *measured == size);
                let cost = known.map(|(_, sum)| *sum).fold(f64::INFINITY, f64::min) + behind;
                if cost < least_cost {
                    least_cost = cost;
                    let limit = if leaf_is_left { code(row) } else { code(row) - 1 };
                    best = Some(Question { column: at, limit, leaf_is_left });
                }
            }
            order.reverse();
        }
    }
    best.map(|question| behind_question(&fitted.tree, rows, &question))
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
