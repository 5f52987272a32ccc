//! The fields of the choices as columns: `BLOCK_M=64_num_warps=4` has the fields `BLOCK_M` and `num_warps`.

use std::collections::BTreeMap;

use ah_model::{FieldValue, fields};

use crate::levels::ranks;

/// Whether at least half of these choices have fields.
pub fn are_common(choices: &[String]) -> bool {
    2 * choices.iter().filter(|name| fields(name).is_some_and(|all| !all.is_empty())).count() >= choices.len()
}

/// The fields of these choices, in the order of their keys: a number for each choice, NaN where it has no such field.
/// `effects` are the choices' mean log times: values that are not numbers are
/// ranked by the mean effect of their choices (Fisher, 1958), so that one threshold separates the fast from the slow.
pub fn columns(choices: &[String], effects: &[f64]) -> Vec<Vec<f64>> {
    let mut by_key: BTreeMap<String, Vec<Option<FieldValue>>> = BTreeMap::new();
    for (choice, name) in choices.iter().enumerate() {
        for (key, value) in fields(name).unwrap_or_default() {
            by_key.entry(key).or_insert_with(|| vec![None; choices.len()])[choice] = Some(value);
        }
    }
    let field = |values: Vec<Option<FieldValue>>| -> Vec<f64> {
        if values.iter().flatten().any(|value| matches!(value, FieldValue::Text(_))) {
            return text_ranks(&values, effects);
        }
        let number = |value: &Option<FieldValue>| value.as_ref()?.number();
        values.iter().map(|value| number(value).unwrap_or(f64::NAN)).collect()
    };
    let is_constant = |field: &Vec<f64>| field.windows(2).all(|pair| pair[0] == pair[1]);
    by_key.into_values().map(field).filter(|field| !is_constant(field)).collect()
}

/// The rank of each value of a field by the mean effect of its choices; NaN without a value.
fn text_ranks(values: &[Option<FieldValue>], effects: &[f64]) -> Vec<f64> {
    let texts: Vec<Option<String>> = values.iter().map(|value| Some(value.as_ref()?.to_string())).collect();
    let mut sums: BTreeMap<&String, (f64, f64)> = BTreeMap::new();
    for (text, effect) in texts.iter().zip(effects) {
        if let Some(text) = text {
            let (sum, count) = sums.entry(text).or_default();
            *sum += effect;
            *count += 1.0;
        }
    }
    let means: Vec<f64> = sums.values().map(|(sum, count)| sum / count).collect();
    let ranks: BTreeMap<&String, f64> = sums.into_keys().zip(ranks(&means)).collect();
    texts.iter().map(|text| text.as_ref().map_or(f64::NAN, |text| ranks[text])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(choices: &[&str], effects: &[f64]) -> Vec<Vec<f64>> {
        columns(&choices.iter().map(ToString::to_string).collect::<Vec<String>>(), effects)
    }

    #[test]
    fn numbers_are_themselves_and_texts_are_ranked() {
        let all = of(&["B=16_kind=slow_w=4", "B=32_kind=fast_w=4", "B=64_kind=slow_w=4"], &[0.9, 0.1, 0.7]);
        assert_eq!(all, [[16.0, 32.0, 64.0], [1.0, 0.0, 1.0]]);
    }

    #[test]
    fn choices_may_have_other_fields_or_none() {
        let all = of(&["B=16", "cublas", "C=0.5_B=32"], &[0.0; 3]);
        assert_eq!(all.len(), 2);
        assert!(all[0][1].is_nan() && all[1][1].is_nan());
        assert!(of(&["a", "b"], &[0.0; 2]).is_empty());
    }
}
