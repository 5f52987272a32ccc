//! A tree that imitates a teacher: a student.
//!
//! The [`Teacher`] prices the inputs and many crossovers, which fill the space between the inputs. So the student can
//! be deep: its leaves hold a few inputs or none, and still rank the choices by what the teacher says of 20 rows or
//! more. Choices that no input measured come last as always. A leaf without inputs has those of the nearest node
//! above.
//!
//! Slowdown on held-out inputs, seed 0, forward convolutions (25,400 inputs to learn from; an error of about 0.0008):
//! a tree of depth 8 1.0716, of depth 16 1.0549, the teacher 1.039, a student 1.045 to 1.047. In the mean of eight
//! seeds on triton_mm: 1.0350, a student 1.025, the teacher 1.0247.

use rayon::prelude::*;

use super::boost::Teacher;
use super::grow;
use super::parameters::Soft;
use crate::data::crossovers::Crossing;
use crate::data::{Rows, Targets, random};
use crate::tree::{FittedTree, Lesson, Scores};

/// Crossovers for each input, and the most of a small and of any log. With 400,000 instead of 200,000 a student of
/// the convolutions loses 0.0008 less and has 10,000 instead of 6,000 leaves.
const CROSSOVERS: [usize; 2] = [100, 5];
const MOST_CROSSOVERS: [usize; 2] = [20_000, 160_000];
/// The second input of a crossover is from the smallest node with this many inputs in one of the teacher's trees.
/// On the convolutions, a second input from anywhere costs 0.0010 more.
const NEAR: usize = 100;
/// The teacher's trees that find such inputs.
const NEAR_TREES: usize = 10;

/// Rows priced at a time.
const CHUNK: usize = 16_384;

/// Grows a student from these rows.
pub(super) fn fit(student: &Soft, rows: &Rows<'_>, targets: &Targets, crossing: &Crossing<'_>) -> FittedTree {
    let teacher = Teacher::new(rows, targets);
    let (columns, crossovers) = crossing.cross(rows.columns, &pairs(&teacher, rows));
    let like = rows.inputs.iter().map(|&input| (input, input)).chain(crossovers.iter().copied());
    let like: Vec<(u32, u32)> = like.collect();
    let mut lesson = Targets::empty(targets.choices());
    for like in like.chunks(CHUNK) {
        let price = |&(row, like): &(u32, u32)| teacher.costs(&columns, row, targets, like);
        let costs: Vec<Vec<(u32, f64)>> = like.par_iter().map(price).collect();
        for (&(row, like), costs) in like.iter().zip(costs) {
            // Rows between are held out, or have an undefined feature.
            (lesson.inputs()..row as usize).for_each(|_| lesson.push(&[], 1));
            lesson.push(&costs, targets.weight(like));
        }
    }
    drop(teacher);
    let all: Vec<u32> = like.iter().map(|row| row.0).collect();
    let all = Rows { columns: &columns, inputs: &all };
    let tree = grow::grow(student, &all, &lesson);
    let scores = Scores::new(&tree, &all, &lesson, student.kappa);
    let leaves = crossovers.iter().map(|&(row, _)| (row, tree.leaf_of(&columns, row))).collect();
    FittedTree::taught(tree, rows, targets, Lesson { costs: lesson, leaves, scores })
}

/// Returns the parents of the crossovers.
fn pairs(teacher: &Teacher, rows: &Rows<'_>) -> Vec<(u32, u32)> {
    let [small, any] = [0, 1].map(|i| (CROSSOVERS[i] * rows.inputs.len()).min(MOST_CROSSOVERS[i]));
    let trees: Vec<_> = teacher.trees().take(NEAR_TREES).map(|tree| (tree, tree.members(rows))).collect();
    let pair = |number: usize| {
        let seed = random::mix(1, number as u64);
        let pick =
            |index: u64, from: &[u32]| from[(random::fraction(seed, index) * from.len() as f64) as usize];
        let first = pick(0, rows.inputs);
        let (tree, members) = &trees[number % trees.len()];
        let mut node = 0;
        while let Some(split) = &tree.nodes[node].split {
            let code = rows.columns.all()[split.column as usize].codes()[first as usize];
            let child = if code <= split.limit { split.left } else { split.right } as usize;
            if members[child].len() < NEAR {
                break;
            }
            node = child;
        }
        (first, pick(1, &members[node]))
    };
    (0..small.max(any)).into_par_iter().map(pair).filter(|(first, second)| first != second).collect()
}
