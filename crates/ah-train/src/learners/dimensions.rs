//! Which field of the choices tiles which feature: `BLOCK_M` tiles `M`, and `mr` tiles `m`.

use std::collections::BTreeSet;

use ah_model::expr::Expr;
use ah_model::{ChoiceId, DerivedFeature, FieldValue, Row, fields};

use crate::data::Dataset;
use crate::data::formula::named;

/// The most features in products.
const MAX_DIMENSIONS: usize = 4;

/// The words around the name of a feature in the name of a field that tiles it. `BM`, `mr` and `m_tile` tile `m`.
const WORDS: [&str; 3] = ["block", "tile", "size"];
const LETTERS: [&str; 5] = ["", "b", "t", "r", "c"];

/// A whole-number feature in the terms of a cost formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// The slot of the logged feature.
    pub slot: usize,
    /// The field that tiles it, and by choice the size; 1 where the choice has none.
    pub tiles: Option<(String, Vec<f64>)>,
}

/// The features whose products make up the work, the tiled ones first; empty if no field of the choices tiles a feature.
pub fn dimensions(dataset: &Dataset, inputs: &[u32]) -> Vec<Dimension> {
    let table = &dataset.table;
    let logged = dataset.features.base().features();
    let is_whole = |&slot: &usize| {
        let mut numbers = inputs.iter().map(|&input| table.values(input).number(slot));
        numbers.all(|x| x >= 1.0 && x.fract() == 0.0 && x <= 2_f64.powi(53))
    };
    let learned = (0..).map(ChoiceId).zip(&table.choices).filter(|(choice, _)| !table.is_rare(*choice));
    let of_choices: Vec<(usize, Vec<(String, FieldValue)>)> =
        learned.map(|(choice, name)| (choice.index(), fields(name).unwrap_or_default())).collect();
    let whole: Vec<usize> = (0..logged.len()).filter(is_whole).collect();
    let tiles_of = |slot: usize| {
        let all = of_choices.iter().flat_map(|(_, all)| all.iter().map(|(key, _)| key));
        let key = all.filter(|key| tiles(key, &logged[slot].name)).min()?;
        let mut sizes = vec![1.0; table.choices.len()];
        for (choice, all) in &of_choices {
            if let Some((_, FieldValue::Integer(size @ 1..))) = all.iter().find(|(other, _)| other == key) {
                sizes[*choice] = *size as f64;
            }
        }
        let is_tiled = sizes.iter().any(|&size| size > 1.0);
        is_tiled.then(|| (key.clone(), sizes))
    };
    let dimension = |&slot: &usize| Dimension { slot, tiles: tiles_of(slot) };
    let (mut dimensions, others): (Vec<Dimension>, Vec<Dimension>) =
        whole.iter().map(dimension).partition(|dimension| dimension.tiles.is_some());
    if !dimensions.is_empty() && whole.len() < MAX_DIMENSIONS {
        dimensions.extend(others);
    }
    dimensions.truncate(MAX_DIMENSIONS);
    dimensions
}

/// The padding waste of each tiled feature in tiles of each size: `ceil(m / 24) * 24 / m`.
pub fn padding(dataset: &Dataset, inputs: &[u32]) -> Vec<DerivedFeature> {
    let waste = |dimension: Dimension| {
        let name = &dataset.features.base().features()[dimension.slot].name;
        let name = Expr::Feature(name.clone()).to_string();
        let sizes = dimension.tiles.map(|(_, sizes)| sizes).unwrap_or_default();
        let sizes: BTreeSet<u64> =
            sizes.into_iter().map(|size| size as u64).filter(|size| *size > 1).collect();
        sizes.into_iter().map(move |size| named(format!("ceil({name} / {size}) * {size} / {name}")))
    };
    dimensions(dataset, inputs).into_iter().flat_map(waste).collect()
}

/// Whether a field of this name tiles a feature, by both names.
fn tiles(field: &str, feature: &str) -> bool {
    let [field, feature] =
        [field, feature].map(|name| name.to_lowercase().replace(|c: char| !c.is_alphanumeric(), ""));
    let around = |rest: &str| {
        let letters = WORDS.iter().fold(rest.to_owned(), |rest, word| rest.replace(word, ""));
        !rest.is_empty() && LETTERS.contains(&letters.as_str())
    };
    !feature.is_empty()
        && (field.strip_suffix(feature.as_str()).is_some_and(around)
            || field.strip_prefix(feature.as_str()).is_some_and(around))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_tile_the_features_that_they_name() {
        for (field, feature) in [
            ("BLOCK_M", "M"),
            ("BLOCK-M", "m"),
            ("BM", "M"),
            ("mr", "m"),
            ("n_tile", "n"),
            ("TILE_SIZE_k", "k"),
        ] {
            assert!(tiles(field, feature), "{field} {feature}");
        }
        assert!(!["num_warps", "stages", "GROUP_M", "mn"].iter().any(|field| tiles(field, "m")));
    }
}
