//! The executor against plain descents and sums.

use ah_decide::{
    BLOCK, Boosters, LANES, LEAF, MOST_LEAVES, Masks, Node, Part, Ranked, Row, Rule, Split, THRESHOLDS,
    fill_leaves, fill_masks, fill_thresholds, leaf, pick,
};
use proptest::prelude::*;

const COLUMNS: usize = 5;

/// A booster: a split, or the row of a leaf.
#[derive(Clone, Debug)]
enum Tree {
    Split(usize, f64, Box<[Tree; 2]>),
    Leaf(Vec<i8>),
}

fn trees(length: usize) -> impl Strategy<Value = Tree> {
    let row = prop::collection::vec(-29_i8..=27, length).prop_map(Tree::Leaf);
    row.prop_recursive(5, 32, 2, |below| {
        (0..COLUMNS, -3_i32..4, below.clone(), below)
            .prop_map(|(column, at, left, right)| Tree::Split(column, f64::from(at), Box::new([left, right])))
    })
}

impl Tree {
    fn row(&self, values: &[f64]) -> &[i8] {
        match self {
            Self::Leaf(row) => row,
            Self::Split(column, threshold, children) => {
                children[usize::from(values[*column] > *threshold)].row(values)
            }
        }
    }

    fn thresholds(&self, all: &mut [Vec<f64>]) {
        if let Self::Split(column, threshold, children) = self {
            all[*column].push(*threshold);
            children.iter().for_each(|child| child.thresholds(all));
        }
    }

    /// Appends the rows from left to right, and the splits with their columns and thresholds.
    fn lay_out<'t>(&'t self, rows: &mut Vec<&'t [i8]>, splits: &mut Vec<(usize, f64, usize, usize)>) {
        match self {
            Self::Leaf(row) => rows.push(row),
            Self::Split(column, threshold, children) => {
                let start = rows.len();
                children[0].lay_out(rows, splits);
                splits.push((*column, *threshold, start, rows.len()));
                children[1].lay_out(rows, splits);
            }
        }
    }
}

/// The sums of the rows by masks.
fn sums(trees: &[Tree], values: &[f64], length: usize) -> Result<Vec<i16>, usize> {
    let mut by_column = vec![Vec::new(); COLUMNS];
    trees.iter().for_each(|tree| tree.thresholds(&mut by_column));
    let (mut columns, mut thresholds) = (Vec::new(), Vec::new());
    for (column, of_column) in by_column.iter_mut().enumerate().filter(|(_, of_column)| !of_column.is_empty())
    {
        of_column.sort_by(f64::total_cmp);
        of_column.dedup();
        thresholds.extend(of_column.iter().copied());
        columns.push((column as u16, thresholds.len() as u16));
    }
    let parts = length.div_ceil(LANES);
    let (mut splits, mut first_rows, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for (booster, tree) in trees.iter().enumerate() {
        let (mut own, mut tests) = (Vec::new(), Vec::new());
        tree.lay_out(&mut own, &mut tests);
        assert!(own.len() <= MOST_LEAVES);
        first_rows.push((rows.len() / parts) as u16);
        for row in own {
            let mut padded = row.to_vec();
            padded.resize(parts * LANES, 0);
            rows.extend(padded.as_chunks::<LANES>().0.iter().copied().map(Row));
        }
        for (column, threshold, start, end) in tests {
            let at = columns.iter().position(|(other, _)| usize::from(*other) == column).unwrap();
            let first = at.checked_sub(1).map_or(0, |before| usize::from(columns[before].1));
            let below = thresholds[first..].iter().position(|other| *other == threshold).unwrap();
            splits.push(Split((first + at + below + 1) as u16, booster as u16, start as u8, end as u8));
        }
    }
    splits.sort_unstable();
    let mut masks = vec![Masks::ALL; trees.len().div_ceil(BLOCK) * (thresholds.len() + columns.len())];
    fill_masks(&mut masks, &columns, &splits);
    let mut blocks =
        vec![[f64::INFINITY; THRESHOLDS]; by_column.iter().map(|of| of.len() / THRESHOLDS + 1).sum()];
    fill_thresholds(&mut blocks, &columns, &thresholds);
    let boosters = Boosters {
        columns: &columns,
        thresholds: &blocks,
        masks: &masks,
        first_rows: &first_rows,
        rows: &rows,
    };
    let (mut sums, mut codes) = (vec![[0; LANES]; parts], vec![0; columns.len()]);
    boosters.add_rows(&mut sums, &mut codes, |column| values[column])?;
    Ok(sums.as_flattened()[..length].to_vec())
}

/// The ranking of one leaf as it is executed.
fn executed(rule: Rule, leaf: &[Ranked], sums: &[i16], by_choice: bool) -> Vec<Ranked> {
    let mut parts = vec![Part::NONE; 2];
    fill_leaves(&mut parts, leaf, &[leaf.len()], by_choice);
    let mut padded = [[0; LANES]; 2];
    padded.as_flattened_mut()[..sums.len()].copy_from_slice(sums);
    rule.best_first(&parts, &padded, &[], &mut [[0.0; LANES]; 2]).collect()
}

proptest! {
    #[test]
    fn masks_add_the_rows_that_plain_descents_reach(
        (length, trees) in (1_usize..40).prop_flat_map(|length| (Just(length), prop::collection::vec(trees(length), 1..60))),
        values in prop::collection::vec((-8_i32..9).prop_map(|x| f64::from(x) / 2.0), COLUMNS),
        undefined in 0..2 * COLUMNS,
    ) {
        let mut expected = vec![0; length];
        for tree in &trees {
            expected.iter_mut().zip(tree.row(&values)).for_each(|(sum, number)| *sum += i16::from(*number));
        }
        prop_assert_eq!(sums(&trees, &values, length), Ok(expected));
        let mut tested = vec![Vec::new(); COLUMNS];
        trees.iter().for_each(|tree| tree.thresholds(&mut tested));
        if let Some(of_column) = tested.get(undefined) {
            let mut values = values;
            values[undefined] = f64::NAN;
            prop_assert_eq!(sums(&trees, &values, length).is_err(), !of_column.is_empty());
        }
    }

    #[test]
    fn a_ranking_is_sorted(
        leaf in prop::collection::vec((0_i32..4, any::<bool>(), -20_i16..20), 1..2 * LANES),
        fallback in prop::option::of(0_u32..40),
        by_choice in any::<bool>(),
    ) {
        let sums: Vec<i16> = leaf.iter().map(|(.., sum)| if by_choice { *sum } else { 0 }).collect();
        let ranked = |(choice, (score, allowed, _)): (usize, &(i32, bool, i16))| {
            Ranked { choice: choice as u32, score: f64::from(*score), allowed: *allowed, expected: true }
        };
        let rule = Rule { fallback, unit: 0.25, margin: None, are_factors: false };
        let mut ranking: Vec<Ranked> = leaf.iter().enumerate().map(ranked).collect();
        if !by_choice {
            ranking.reverse();
        }
        let mut expected = ranking.clone();
        for ranked in &mut expected {
            ranked.score += 0.25 * f64::from(sums[ranked.choice as usize]);
        }
        expected.sort_by(|a, b| a.score.total_cmp(&b.score));
        prop_assert_eq!(executed(rule, &ranking, &sums, by_choice), expected);
    }

    #[test]
    fn the_first_allowed_choice_is_picked(
        ranking in prop::collection::vec((any::<bool>(), any::<bool>()), 1..7),
        fallback in prop::option::of(0_u32..8),
    ) {
        let ranked = |(choice, (allowed, _)): (u32, &(bool, bool))| {
            let allowed = *allowed || Some(choice) == fallback;
            Ranked { choice, score: 0.0, allowed, expected: true }
        };
        let all: Vec<Ranked> = (0..).zip(&ranking).map(ranked).collect();
        let is_offered = |choice: u32| Some(choice) == fallback || ranking[choice as usize].1;
        let offered: Vec<&Ranked> = all.iter().filter(|ranked| is_offered(ranked.choice)).collect();
        let first = offered.iter().position(|ranked| ranked.allowed);
        let expected = first.map(|at| (at, offered[at].choice));
        let expected = expected.filter(|(at, choice)| *at == 0 || Some(*choice) != fallback);
        let picked = pick(all.iter().copied(), fallback, |choice| ranking[choice as usize].1);
        prop_assert_eq!(picked, expected.map(|(_, choice)| choice));
    }
}

#[test]
fn a_descent_goes_left_at_the_threshold_and_ends_at_nan() {
    let nodes =
        [Node(0, 2.0, 1), Node(LEAF, 0.0, 0), Node(1, -0.0, 3), Node(LEAF, 0.0, 1), Node(LEAF, 0.0, 2)];
    let reached = |values: [f64; 2]| leaf(&nodes, |column| values[column]);
    assert_eq!(reached([2.0, f64::NAN]), Ok(0));
    assert_eq!(reached([2.0_f64.next_up(), f64::NAN]), Err(1));
    assert_eq!(reached([3.0, 0.0]), Ok(1));
    assert_eq!(reached([f64::INFINITY, 5e-324]), Ok(2));
    assert_eq!(reached([f64::NAN, 0.0]), Err(0));
}

#[test]
fn costs_are_added_or_multiplied() {
    let leaf = [(0, 1.5), (2, 1.0), (17, 4.0)];
    let leaf = leaf.map(|(choice, score)| Ranked { choice, score, allowed: true, expected: true });
    let mut parts = vec![Part::NONE; 2];
    fill_leaves(&mut parts, &leaf, &[3], true);
    let mut costs = [[1.0; LANES]; 2];
    (costs[0][0], costs[0][2], costs[1][1]) = (2.0, 4.0, 0.5);
    let scores = |are_factors| {
        let rule = Rule { fallback: None, unit: 0.25, margin: None, are_factors };
        let (sums, mut scores) = ([[2; LANES]; 2], [[0.0; LANES]; 2]);
        let sums = if are_factors { [[0; LANES]; 2] } else { sums };
        let best = rule.best_first(&parts, &sums, &costs, &mut scores);
        best.map(|ranked| (ranked.choice, ranked.score)).collect::<Vec<_>>()
    };
    assert_eq!(scores(true), [(17, 2.0), (0, 3.0), (2, 4.0)]);
    assert_eq!(scores(false), [(0, 4.0), (17, 5.0), (2, 5.5)]);
}

#[test]
fn a_margin_compares_with_the_fallback() {
    let leaf = [(0, 0.0, false), (1, 1.0, true), (2, 0.5, true)];
    let leaf = leaf.map(|(choice, score, allowed)| Ranked { choice, score, allowed, expected: true });
    let rule = Rule { fallback: Some(1), unit: 0.25, margin: Some(0.5), are_factors: false };
    let allowed = |rule: Rule, sums: [i16; 3]| {
        let mut ranking = executed(rule, &leaf, &sums, true);
        ranking.sort_by_key(|ranked| ranked.choice);
        ranking.iter().map(|ranked| ranked.allowed).collect::<Vec<_>>()
    };
    assert_eq!(allowed(rule, [0, 0, 0]), [false, true, true]);
    assert_eq!(allowed(rule, [0, 0, 1]), [false, true, false]);
    assert_eq!(allowed(rule, [0, 1, 1]), [false, true, true]);
    let without = Rule { fallback: Some(3), ..rule };
    assert_eq!(allowed(without, [0; 3]), [false, true, true], "the fallback cannot run here");
    let without = Rule { fallback: None, ..rule };
    assert_eq!(allowed(without, [0; 3]), [false; 3], "nothing to compare with");
}
