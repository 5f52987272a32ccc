//! A tree that imitates a teacher: a student.
//!
//! The [`Teacher`] prices the inputs and many crossovers, which fill the space between the inputs. So the student can
//! be deep: its leaves hold a few inputs or none, and still rank the choices by what the teacher says of their rows.
//! Choices that no input measured come last as always; a leaf of few inputs has the evidence of the nearest node above
//! that has enough ([`FittedTree::members`]).
//!
//! Slowdown on held-out inputs, seed 0, forward convolutions (25,400 inputs to learn from; an error of about 0.0008):
//! a tree of depth 8 1.0716, of depth 16 1.0549, the teacher 1.039, a student 1.045 to 1.047. In the mean of eight
//! seeds on triton_mm: 1.0350, a student 1.025, the teacher 1.0247.

use rayon::prelude::*;

use super::boost::Teacher;
use super::grow;
use super::lookup::Lookup;
use super::parameters::Soft;
use crate::data::crossovers::Crossing;
use crate::data::{Rows, Targets, random};
use crate::tree::{FittedTree, Lesson, Scores};

/// Crossovers for each input, and the most of a small and of any log.
const CROSSOVERS: [usize; 2] = [100, 10];
const MOST_CROSSOVERS: [usize; 2] = [20_000, 240_000];
/// The second input of a crossover is from the smallest node with this many inputs in one of the teacher's trees.
/// On the convolutions, a second input from anywhere costs 0.0010 more.
const NEAR: usize = 100;
/// The teacher's trees that find such inputs.
const NEAR_TREES: usize = 10;

/// Rows priced at a time; a thread prices a part of them, whose codes stay in the cache.
const CHUNK: usize = 16_384;

/// Grows a student from these rows.
pub(super) fn fit(student: &Soft, rows: &Rows<'_>, targets: &Targets, crossing: &Crossing<'_>) -> FittedTree {
    let teacher = Teacher::new(rows, targets);
    let (columns, crossovers) = crossing.cross(rows.columns, &pairs(&teacher, rows));
    let like = rows.inputs.iter().map(|&input| (input, input)).chain(crossovers.iter().copied());
    let like: Vec<(u32, u32)> = like.collect();
    let mut lesson = Targets::empty(targets.choices());
    for like in like.chunks(CHUNK) {
        let price = |pairs: &[(u32, u32)]| teacher.costs(&columns, pairs, targets);
        let costs: Vec<_> = like.par_chunks(CHUNK / 32).map(price).collect();
        for (&(row, like), costs) in like.iter().zip(costs.into_iter().flatten()) {
            // Rows between are held out, or have an undefined feature.
            (lesson.inputs()..row as usize).for_each(|_| lesson.push(&[], 1));
            lesson.push(&costs, targets.weight(like));
        }
    }
    drop(teacher);
    let all: Vec<u32> = like.iter().map(|row| row.0).collect();
    let all = Rows { columns: &columns, inputs: &all };
    let mut tree = grow::grow(student, &all, &lesson);
    // Derived features of crossovers have values between those of inputs. With midpoints as thresholds, some would not
    // go where they went in growth.
    for split in tree.nodes.iter_mut().filter_map(|node| node.split.as_mut()) {
        split.test = columns.all()[split.column as usize].test_behind(split.limit);
    }
    let scores = Scores::new(&tree, &all, &lesson, student.kappa);
    let leaves = crossovers.iter().map(|&(row, _)| (row, tree.leaf_of(&columns, row))).collect();
    FittedTree::taught(tree, rows, targets, Lesson { costs: lesson, leaves, scores })
}

/// Returns the parents of the crossovers.
fn pairs(teacher: &Teacher, rows: &Rows<'_>) -> Vec<(u32, u32)> {
    let count = rows.inputs.len();
    let [small, any] = [0, 1].map(|i| (CROSSOVERS[i] * count).min(MOST_CROSSOVERS[i]));
    let codes = rows.columns.by_row(rows.inputs);
    let codes = |row: usize| &codes[row * rows.columns.all().len()..][..rows.columns.all().len()];
    // By tree and node, the rows that reach it.
    let trees: Vec<(&Lookup, Vec<Vec<usize>>)> = teacher
        .trees()
        .take(NEAR_TREES)
        .map(|tree| {
            let mut members = vec![Vec::new(); tree.nodes()];
            (0..count).for_each(|row| tree.path(codes(row)).for_each(|node| members[node].push(row)));
            (tree, members)
        })
        .collect();
    let pair = |number: usize| {
        let seed = random::mix(1, number as u64);
        let draw = |index: u64, from: usize| (random::fraction(seed, index) * from as f64) as usize;
        let first = draw(0, count);
        let (tree, members) = &trees[number % trees.len()];
        let near =
            tree.path(codes(first)).take_while(|&node| members[node].len() >= NEAR).last().unwrap_or(0);
        (rows.inputs[first], rows.inputs[members[near][draw(1, members[near].len())]])
    };
    (0..small.max(any)).into_par_iter().map(pair).filter(|(first, second)| first != second).collect()
}
