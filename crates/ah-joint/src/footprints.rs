//! The footprints of tiles: how much of the input one step of the work holds, in registers or in shared memory.
//!
//! A product of matrices in tiles of `BLOCK_M`, `BLOCK_N` and `BLOCK_K` holds two operands, `BLOCK_M * BLOCK_K + BLOCK_N * BLOCK_K`
//! numbers, in each of `num_stages` buffers, and `BLOCK_M * BLOCK_N` sums, shared by `num_warps`. How many blocks run at once depends
//! on these, and a tree must guess them from single fields. Nobody says which fields are the stages, so every footprint is
//! multiplied and divided by every other field. On a log of 25 of 300 configurations for each shape, the best predicted one
//! loses 1.009 with footprints and 1.036 without (docs/laboratory.md).

use crate::columns::Tiling;
use crate::fields::Field;

/// Most fields that make footprints: those of the tilings that explain most.
const MAX_TILES: usize = 3;
/// Most other fields.
const MAX_OTHERS: usize = 4;

/// Returns the footprints of the tiles that these tilings cut, as fields of the choices.
pub fn fields(tilings: &[Tiling], fields: &[Field]) -> Vec<Field> {
    let mut tiles: Vec<usize> = Vec::new();
    for tiling in tilings.iter().filter(|tiling| fields[tiling.field].is_size) {
        if tiles.len() < MAX_TILES && !tiles.contains(&tiling.field) {
            tiles.push(tiling.field);
        }
    }
    let sides: Vec<Field> = tiles.iter().map(|&at| fields[at].clone()).collect();
    let areas = pairs(&sides, "*", |a, b| a * b);
    let sums = pairs(if areas.len() > 1 { &areas } else { &sides }, "+", |a, b| a + b);
    let volume = areas.first().zip(sides.get(2)).map(|(area, side)| area.with("*", side, |a, b| a * b));
    let footprints: Vec<Field> = areas.into_iter().chain(sums).collect();
    let others = fields.iter().enumerate().filter(|(at, field)| field.is_size && !tiles.contains(at));
    let others: Vec<&Field> = others.map(|(_, field)| field).take(MAX_OTHERS).collect();
    let by_others = footprints.iter().flat_map(|footprint| {
        let both = |other: &&Field| {
            [footprint.with("*", other, |a, b| a * b), footprint.with("/", other, |a, b| a / b)]
        };
        others.iter().flat_map(both).collect::<Vec<_>>()
    });
    let by_others: Vec<Field> = by_others.collect();
    footprints.into_iter().chain(volume).chain(by_others).collect()
}

/// Combines every two of these fields.
fn pairs(fields: &[Field], sign: &str, combine: impl Fn(f64, f64) -> f64 + Copy) -> Vec<Field> {
    let mut all = Vec::new();
    for (at, a) in fields.iter().enumerate() {
        all.extend(fields[at + 1..].iter().map(|b| a.with(sign, b, combine)));
    }
    all
}

impl Field {
    /// Combines two fields choice by choice. It is no tile's size.
    fn with(&self, sign: &str, other: &Self, combine: impl Fn(f64, f64) -> f64) -> Self {
        let values = self.values.iter().zip(&other.values).map(|(a, b)| combine(*a, *b));
        Self {
            name: format!("({}{sign}{})", self.name, other.name),
            values: values.collect(),
            is_size: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, values: [f64; 2]) -> Field {
        Field { name: name.to_owned(), values: values.to_vec(), is_size: true }
    }

    #[test]
    fn the_shared_memory_of_a_product_is_among_the_footprints() {
        let given = [
            field("k", [32.0, 64.0]),
            field("m", [16.0, 128.0]),
            field("n", [32.0, 64.0]),
            field("s", [2.0, 4.0]),
        ];
        let tilings = [1, 2, 0].map(|field| Tiling { input: 0, field });
        let found = fields(&tilings, &given);
        let values =
            |name: &str| found.iter().find(|field| field.name == name).map(|field| field.values.clone());
        assert_eq!(values("(m*n)"), Some(vec![512.0, 8192.0]));
        assert_eq!(values("((m*n)*k)"), Some(vec![16384.0, 524_288.0]));
        let both = |n: usize| (16.0 * 32.0 + 32.0 * 32.0) * [2.0, 4.0][n];
        assert_eq!(values("(((m*k)+(n*k))*s)").map(|values| values[0]), Some(both(0)));
        assert_eq!(found.len(), 3 + 3 + 1 + 2 * 6);
        assert!(found.iter().all(|field| !field.is_size));
    }

    #[test]
    fn two_tiles_have_an_area_and_a_sum_of_sides_and_one_has_none() {
        let given = [field("m", [16.0, 32.0]), field("n", [32.0, f64::NAN])];
        let tilings = [0, 1].map(|field| Tiling { input: field, field });
        let names: Vec<String> = fields(&tilings, &given).into_iter().map(|field| field.name).collect();
        assert_eq!(names, ["(m*n)", "(m+n)"]);
        assert_eq!(fields(&tilings[..1], &given), []);
    }
}
