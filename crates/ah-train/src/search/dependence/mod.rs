//! Finds groups: inputs that share something that no feature says, such as the levels of one file, or the batch sizes of one shape.
//!
//! Held out one by one, the other inputs of a group stay behind and give the answer away: losses look smaller than on new groups, and
//! a promise takes copies for evidence. Groups count for the promise, for the noise of a comparison, and for the loss on new groups.
//! Sizes are compared on single inputs.
//!
//! Columns that determine each other and recur, as `size` and `lines` of a file, name one thing, whatever its times are: of
//! 24 files none may be slow, and the 25th is. So do clusters of one or two numbers whose values do not recur, as a size that is measured
//! again with a little noise, and sums, products, ratios and distances of two numbers that have few values.
//!
//! Other candidates recur too: most of their inputs have a fellow, and there are far fewer
//! groups than in a log whose columns are shuffled, while all combinations of the factors of a grid occur. Such a candidate counts where
//! the inputs of a group share most of the error of a tree that never saw the group ([`evidence`]).
//!
//! Ratios of positive numbers are columns too: in a run, one factor may scale all sizes, so no number recurs, but their ratios do.

mod by_columns;
mod clusters;
mod column;
mod evidence;
mod groups;
mod nearness;
mod stretches;

use ah_model::DerivedFeature;
use ah_model::expr::Binary;

use by_columns::{entity, in_common, recurring, sets};
use column::{Column, MANY_VALUES, columns, combined};
use evidence::{COMMON, COMMON_OF_RATIOS, Evidence};
use groups::{Candidate, MANY_GROUPS};
use nearness::{measured_again, near};
use stretches::stretches;

use crate::data::{Costs, Dataset, Groups, Shared};

/// It errs this many times as much on the groups of a coarser set of columns: fellows of the finer groups gave the answer away. Of
/// shapes in two types and five batch sizes, two groups of one shape are rarely in one fold.
const MORE_BY_COARSER: f64 = 1.2;

/// The dependence that a log shows.
#[derive(Clone, Debug, Default)]
pub struct Dependence {
    /// The groups that count.
    pub groups: Option<Groups>,
    /// A sentence about a column of few values, on whose other values a tree loses more, where nothing is a group.
    pub factor: Option<String>,
}

/// Finds the dependence of a dataset's inputs: things that the columns name, whatever their times are; the finest set of columns, or else
/// the clusters, on which a tree errs much more; and stretches of the log. Of these it takes the fewest groups.
pub fn find(dataset: &Dataset, seed: u64) -> Dependence {
    let costs = Costs::new(&dataset.table, None).saturated();
    let columns = columns(dataset);
    let ratios = combined(&columns, Binary::Div);
    let mut factor = None;
    // Trees see the ratios too: along a run of one ratio the numbers go through all of their range.
    let mut by_errors = |candidates: Vec<Candidate>, ratios: &[&Column]| {
        let derived =
            |ratio: &&Column| DerivedFeature { name: ratio.name.clone(), expression: ratio.name.clone() };
        let seen = dataset.clone().with_derived(ratios.iter().map(derived).collect());
        let least = if ratios.is_empty() { COMMON } else { COMMON_OF_RATIOS };
        let counted = |candidate: Candidate| {
            let evidence = Evidence::new(&seen, &costs, &candidate, seed);
            match &candidate.shared {
                _ if !evidence.counts(least) => None,
                Shared::Columns(names) if names.len() == 1 && evidence.independent < MANY_GROUPS as f64 => {
                    factor = columns.iter().find(|column| column.name == names[0]);
                    None
                }
                _ => Some((evidence, candidate)),
            }
        };
        let coarser = |finer: (Evidence, Candidate), next: (Evidence, Candidate)| {
            if next.0.square > MORE_BY_COARSER * finer.0.square { next } else { finer }
        };
        let found = candidates.into_iter().filter_map(counted).reduce(coarser);
        found.map(|(evidence, candidate)| Candidate { independent: evidence.independent, ..candidate })
    };
    let [of_features, of_ratios] = [&columns, &ratios].map(|columns| recurring(columns));
    let all_ratios: Vec<&Column> = ratios.iter().collect();
    let others = columns.iter().filter(|column| !column.is_positive() && !ratios.is_empty());
    let named = entity(&of_features).or_else(|| in_common(&columns));
    let mut clusters = named.is_none().then(|| measured_again(&columns)).into_iter().flatten();
    let things = clusters.next();
    let by_errors = by_errors(clusters.collect(), &[])
        .or_else(|| by_errors(sets(of_features.clone(), columns.len() == 1), &[]))
        .or_else(|| by_errors(sets(of_ratios.clone(), false), &of_ratios))
        .or_else(|| by_errors(Vec::from_iter(near(columns.iter().collect(), 2)), &[]))
        .or_else(|| by_errors(Vec::from_iter(near(ratios.iter().chain(others).collect(), 1)), &all_ratios));
    let by_time = stretches(dataset, &costs, &columns, seed);
    let found = named.into_iter().chain(things).chain(by_errors).chain(by_time);
    let groups = Candidate::fewest(found).map(|Candidate { keys, shared, .. }| {
        let mut of_table = vec![u64::MAX; dataset.table.inputs.len()];
        dataset.usable.iter().zip(keys).for_each(|(&input, key)| of_table[input as usize] = key);
        Groups { keys: of_table.into(), shared }
    });
    let factor = factor.filter(|column| (column.is_number || column.distinct >= MANY_VALUES) && groups.is_none()).map(|column| {
        format!(
            "the log has {} values of {}, and they recur: all figures, and a promise, are for these values. Measure others if the \
             program meets others",
            column.distinct, column.name
        )
    });
    Dependence { groups, factor }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::groups::sizes_of;
    use super::*;
    use crate::params::Params;

    /// A number from 0 to 1 that follows no rule.
    fn random(at: usize, of: u64) -> f64 {
        ah_types::random::fraction(of, at as u64)
    }

    /// Finds the dependence of a log of these columns: `input` returns the values, and how many times as long as `old` the choice
    /// `new` takes.
    fn dependence(columns: &[&str], inputs: usize, input: impl Fn(usize) -> (Vec<f64>, f64)) -> Dependence {
        let mut log = format!(
            "{{\"name\": \"own\", \"shared_memory\": 0, \"device_capa\": [0, 0], \"numerical_features\": {columns:?}, \
             \"categorical_features\": []}}\n{},choice,feedback\n",
            columns.join(",")
        );
        for at in 0..inputs {
            let (values, time) = input(at);
            let text = values.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
            let noise = 1.0 + 0.01 * random(at, 99);
            let _ = writeln!(log, "{text},old,1\n{text},new,{}", time * noise);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.txt");
        std::fs::write(&path, log).unwrap();
        find(&Dataset::read(&Params::new(vec![path], "T")).unwrap(), 0)
    }

    /// The time of a group: it follows no feature.
    fn of_group(group: usize) -> f64 {
        0.5 + random(group, 7)
    }

    fn named(names: &[&str]) -> Option<Shared> {
        Some(Shared::Columns(names.iter().map(|name| (*name).to_owned()).collect()))
    }

    #[test]
    fn few_files_at_many_levels_are_groups() {
        let file = |at: usize| {
            let values = [1, 2, 3].map(|of| random(at / 50, of)).to_vec();
            ([values, vec![(1000.0 * random(at, 4)).ceil()]].concat(), of_group(at / 50))
        };
        let found = dependence(&["size", "entropy", "lines", "level"], 1200, file);
        assert_eq!(found.groups.map(|groups| groups.shared), named(&["size", "entropy", "lines"]));
    }

    #[test]
    fn columns_that_determine_each_other_are_groups_where_no_group_is_slow() {
        let file = |at: usize| ([1, 2].map(|of| random(at / 50, of)).to_vec(), 0.7);
        let found = dependence(&["size", "entropy", "level"], 1200, |at| {
            let (values, time) = file(at);
            ([values, vec![random(at, 4)]].concat(), time)
        });
        assert_eq!(found.groups.map(|groups| groups.shared), named(&["size", "entropy"]));
        // Matrices that are mostly square, in several densities.
        let matrix = |at: usize| {
            let rows = (1000.0 * random(at / 5, 1)).floor();
            let columns = if (at / 5).is_multiple_of(10) { rows + 500.0 } else { rows };
            (vec![rows, columns, random(at, 2)], 0.7)
        };
        assert!(dependence(&["rows", "columns", "density"], 800, matrix).groups.is_none());
    }

    #[test]
    fn groups_that_differ_little_are_groups() {
        // Of shapes of powers of two no number determines another; they differ by up to 2 %.
        let shape = |at: usize| {
            let power = |of| f64::from(1 << (8.0 * random(at / 10, of)) as u32);
            let values = vec![power(1), power(2), power(3), (at % 10) as f64];
            (values, 0.7 + 0.02 * (of_group(at / 10) - 1.0))
        };
        let found = dependence(&["m", "n", "k", "batch"], 1200, shape);
        assert_eq!(found.groups.map(|groups| groups.shared), named(&["m", "n", "k"]));
    }

    #[test]
    fn settings_may_be_any_columns() {
        // Two columns name the group, in five batch sizes and two types; or three numbers are free.
        let variant = |at: usize| {
            let group = at / 10;
            let copy = at % 10;
            (
                vec![random(group, 1), f64::from(1 << (copy / 2)), random(group, 2), (copy % 2) as f64],
                of_group(group),
            )
        };
        let found = dependence(&["m", "batch", "n", "type"], 600, variant);
        assert_eq!(found.groups.map(|groups| groups.shared), named(&["m", "n"]));
        let free = |at: usize| {
            let values =
                [random(at, 3), random(at / 20, 1), random(at, 4), random(at / 20, 2), random(at, 5)];
            (values.to_vec(), of_group(at / 20))
        };
        let found = dependence(&["a", "m", "b", "n", "c"], 600, free);
        assert_eq!(found.groups.map(|groups| groups.shared), named(&["m", "n"]));
    }

    #[test]
    fn inputs_that_are_near_in_all_numbers_are_groups() {
        let value = |at: usize, of: u64| random(at / 30, of) + 0.01 * random(at, 10 + of);
        let run = |at: usize| ([1, 2, 3].map(|of| value(at, of)).to_vec(), of_group(at / 30));
        let found = dependence(&["a", "b", "c"], 720, run);
        assert_eq!(found.groups.map(|groups| groups.shared), Some(Shared::Nearness));
    }

    /// One factor scales the numbers of a run, whose own value in a column is from 0 to 1.
    #[test]
    fn runs_that_one_factor_scales_are_groups() {
        let factor = |at: usize| (4.0 * random(at, 4)).exp2();
        let real = |at: usize, of: u64| random(at / 20, of) * factor(at);
        let whole = |at: usize, of: u64| (16.0 * random(at / 20, of)).ceil() * (30.0 * random(at, 4)).ceil();
        let rounded = |at: usize, of: u64| (200.0 * real(at, of)).ceil();
        let sizes: [&dyn Fn(usize, u64) -> f64; 3] = [&real, &whole, &rounded];
        for (kind, size) in sizes.into_iter().enumerate() {
            for names in [&["a", "b", "c"][..], &["a", "b"]] {
                let input =
                    |at: usize| ((1..).take(names.len()).map(|of| size(at, of)).collect(), of_group(at / 20));
                let groups = dependence(names, 1200, input).groups.unwrap();
                let count = sizes_of(&groups.keys).groups;
                assert!((35..=150).contains(&count), "kind {kind}, {} columns: {count}", names.len());
                assert_eq!(groups.shared == Shared::Nearness, kind == 2, "{:?}", groups.shared);
            }
        }
        // Whole numbers that no factor scales have ratios in common too.
        let free = |at: usize| ([1, 2, 3].map(|of| (30.0 * random(at, of)).ceil()).to_vec(), of_group(at));
        assert!(dependence(&["a", "b", "c"], 1200, free).groups.is_none());
    }

    #[test]
    fn short_runs_whose_numbers_grow_together_are_groups() {
        let run = |at: usize| {
            let scale = 0.8 + 0.4 * random(at, 4);
            ([1, 2, 3].map(|of| scale * random(at / 12, of)).to_vec(), of_group(at / 12))
        };
        let found = dependence(&["a", "b", "c"], 1200, run).groups.unwrap();
        let count = sizes_of(&found.keys).groups;
        assert!(Some(found.shared) == named(&["a / b"]) && count == 100, "{count}");
    }

    #[test]
    fn runs_are_groups_where_few_are_slow_and_a_tree_errs_differently_within_them() {
        for stream in 22..28 {
            let time = |run| {
                let slow = random(run, stream) < 0.06;
                (if slow { 1.25 } else { 0.7 }) * (0.15 * (random(run, stream + 100) - 0.5)).exp()
            };
            let run = |at: usize| {
                let scale = 0.8 + 0.4 * random(at, stream + 200);
                ([1, 2, 3, 4].map(|of| scale * random(at / 12, stream + 1000 * of)).to_vec(), time(at / 12))
            };
            let found = dependence(&["a", "b", "c", "d"], 1200, run).groups.unwrap();
            assert_eq!(sizes_of(&found.keys).groups, 100, "{stream}");
        }
    }

    #[test]
    fn times_that_change_along_the_log_are_groups() {
        let time = |stretch: usize| {
            move |at: usize| ([1, 2].map(|of| random(at, of)).to_vec(), of_group(at / stretch))
        };
        let found = dependence(&["a", "b"], 800, time(40)).groups.unwrap();
        assert_eq!(found.shared, Shared::Stretch);
        let count = sizes_of(&found.keys).groups;
        assert!((12..=40).contains(&count), "{count}");
        assert!(dependence(&["a", "b"], 800, time(1)).groups.is_none());
        // In a sorted table neighbours are near in features.
        let sorted =
            |at: usize| (vec![at as f64, random(at, 2)], if (at / 40).is_multiple_of(2) { 0.5 } else { 1.5 });
        assert!(dependence(&["a", "b"], 800, sorted).groups.is_none());
    }

    #[test]
    fn a_column_of_few_values_is_a_factor() {
        // Half of the inputs have the share 0 or 1, as lists that are sorted.
        let input = |at: usize| {
            let share = [0.0, 1.0, (random(at, 2) * 32.0).round() / 32.0, 0.5][at % 4];
            let length = (random(at, 1) * 20.0).exp2().floor();
            let time = if share == 0.0 || share == 1.0 { 0.5 } else { 0.9 + share * length.log2() / 20.0 };
            (vec![length, share], time)
        };
        let found = dependence(&["length", "share"], 800, input);
        assert!(found.groups.is_none(), "{:?}", found.groups.map(|groups| groups.shared));
    }

    /// 40 things whose two numbers are measured again, beside a free level. None of them is slow.
    #[test]
    fn things_that_are_measured_again_are_groups_where_none_is_slow() {
        for (noise, columns) in [(0.003, 2), (0.03, 2), (0.1, 2), (0.002, 1)] {
            let input = |at: usize| {
                let value = |of: u64| {
                    let again = 2.0 * (0..3).map(|part| random(at, 10 * of + part)).sum::<f64>() - 3.0;
                    (7.0 * random(at % 40, of) + noise * again).exp()
                };
                let mut values: Vec<f64> = (1..=columns).map(value).collect();
                values.push((20.0 * random(at, 5)).ceil());
                (values, 0.7)
            };
            let names = &["a", "b", "level"][2 - columns as usize..];
            let groups = dependence(names, 1200, input).groups.unwrap();
            let independent = sizes_of(&groups.keys).independent(1.0);
            assert!(groups.shared == Shared::Nearness && independent < 50.0, "{noise} {independent}");
        }
        // Independent inputs, also where one number follows another one in part.
        let along = |at: usize| {
            let length = (7.0 * random(at, 1)).exp();
            let stride = if at.is_multiple_of(2) { length } else { (7.0 * random(at, 2)).exp() };
            (vec![length.ceil(), stride.ceil(), random(at, 3), (20.0 * random(at, 5)).ceil()], 0.7)
        };
        assert!(dependence(&["length", "stride", "c", "level"], 1200, along).groups.is_none());
    }

    #[test]
    fn parts_of_few_totals_are_groups() {
        let parts = |at: usize| {
            let total = 100.0 + 9000.0 * random(at / 40, 1);
            (vec![total * random(at, 2), total - total * random(at, 2)], 0.7)
        };
        assert_eq!(
            dependence(&["left", "right"], 1200, parts).groups.map(|groups| groups.shared),
            named(&["left + right"])
        );
        // Pairs of numbers of 14 models, each at 14 sizes.
        let layer = |at: usize| {
            let hidden = 128.0 * (8.0 + 56.0 * random(at / 56, 1)).floor();
            let wide = 64.0 * (hidden / 64.0 * (2.5 + 1.5 * random(at / 56, 2))).floor();
            let shapes = [[3.0 * hidden, hidden], [hidden, hidden], [2.0 * wide, hidden], [hidden, wide]];
            ([&shapes[at / 14 % 4][..], &[f64::from(1 << (at % 14))]].concat(), 0.8)
        };
        let found = dependence(&["n", "k", "m"], 784, layer);
        assert_eq!(found.groups.map(|groups| groups.shared), named(&["n", "k"]));
    }

    /// A type as four columns of 0 and 1, beside one free size.
    #[test]
    fn flags_beside_a_free_number_are_factors() {
        let names = ["n", "is_f16", "is_bf16", "is_f32", "is_f64"];
        for stream in 0..6 {
            let input = |at: usize| {
                let kind = (4.0 * random(at, 100 + stream)) as usize;
                let size = (10.0 * 1e4_f64.powf(random(at, 200 + stream))).floor();
                let mut values = vec![size];
                values.extend((0..4).map(|flag| f64::from(u8::from(flag == kind))));
                (values, if (size > 3000.0) == (kind < 2) { 0.7 } else { 1.4 })
            };
            assert!(dependence(&names, 700, input).groups.is_none(), "{stream}");
        }
    }

    #[test]
    fn a_grid_has_no_groups() {
        let input = |at: usize| {
            let values = [at % 8, at / 8 % 10, at / 80].map(|x| f64::from(1 << x));
            let time = if values[0] * values[1] > values[2] * 16.0 { 0.6 } else { 1.4 };
            (values.to_vec(), time)
        };
        assert!(dependence(&["m", "n", "k"], 800, input).groups.is_none());
    }
}
