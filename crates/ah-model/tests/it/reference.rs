//! The definition of a decision, written down a second time without tables: it goes down the nodes, adds the boosters' rows one by one
//! and sorts. `Tables`, model files at run time and generated code must decide the same.

// Each test crate uses a part of it.
#![allow(dead_code)]

use ah_model::{ChoiceId, Column, Leaf, Model, Ranked, Unsure, Value};

/// What to take among the offered choices. The fallback always counts as offered.
pub fn decide(
    model: &Model,
    values: &[Value],
    mut offered: impl FnMut(ChoiceId) -> bool,
) -> Result<ChoiceId, Unsure> {
    let mut declines = false;
    for Ranked { choice, allowed, .. } in ranking(model, values)? {
        let choice = ChoiceId(choice);
        let is_fallback = Some(choice) == model.fallback;
        if is_fallback || model.is_eligible(choice, values) && offered(choice) {
            match allowed {
                true if is_fallback && declines => return Err(Unsure::NoneAllowed),
                true => return Ok(choice),
                false => declines = true,
            }
        }
    }
    Err(Unsure::NoneAllowed)
}

/// What to take for a program that does not list its choices: it is expected to offer the fallback and the expected choices.
pub fn choose(model: &Model, values: &[Value]) -> Result<ChoiceId, Unsure> {
    let leaf = leaf(model, values)?;
    decide(model, values, |choice| is_expected(leaf, choice))
}

/// Whether a program that does not list its choices is expected to offer this one.
pub fn is_expected(leaf: &Leaf, choice: ChoiceId) -> bool {
    leaf.ranked(choice).is_some_and(|ranked| ranked.expected)
}

/// The leaf that these values reach.
pub fn leaf<'m>(model: &'m Model, values: &[Value]) -> Result<&'m Leaf, Unsure> {
    let logged = model.row(values);
    if model.precondition.as_ref().is_some_and(|condition| !condition.holds(&logged)) {
        return Err(Unsure::Precondition);
    }
    let row = model.features.row(&logged);
    model.tree.path(|column| model.column_value(column, &row)).map(|(leaf, ..)| leaf)
}

/// All choices of the leaf with their scores, best first.
pub fn ranking(model: &Model, values: &[Value]) -> Result<Vec<Ranked>, Unsure> {
    let (leaf, logged) = (leaf(model, values)?, model.row(values));
    let row = model.features.row(&logged);
    let value = |column: &Column| model.column_value(column, &row);
    // Every column of the boosters must have a value, whether the paths of this input test it or not.
    model.booster_columns().iter().try_for_each(|column| value(column).map(drop))?;
    let mut sums = vec![0_i32; model.choices.len()];
    for tree in &model.boosters {
        let (numbers, ..) = tree.path(value)?;
        sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += i32::from(*number));
    }
    let mut costs = Vec::new();
    model.cost_scores(&logged, |_, cost| costs.push(cost)).map_err(Unsure::Undefined)?;
    let score = |ranked: &Ranked| {
        let sum = ranked.score + model.unit * f64::from(sums[ranked.choice as usize]);
        match costs.get(ranked.choice as usize) {
            Some(cost) if model.boosters.is_empty() => cost * ranked.score,
            Some(cost) => cost + sum,
            None => sum,
        }
    };
    let all = leaf.ranking.iter().map(|ranked| ranked.ranked(model.fallback));
    let mut ranking: Vec<Ranked> = all.map(|ranked| Ranked { score: score(&ranked), ..ranked }).collect();
    if let Some(margin) = model.margin {
        let is_fallback = |ranked: &Ranked| Some(ChoiceId(ranked.choice)) == model.fallback;
        let of_fallback = ranking.iter().find(|ranked| is_fallback(ranked)).map(|ranked| ranked.score);
        // Where training never saw the fallback it cannot run, so everything is allowed; without a fallback nothing is.
        let unseen = if model.fallback.is_some() { f64::INFINITY } else { f64::NEG_INFINITY };
        let most = of_fallback.unwrap_or(unseen) - margin;
        ranking.iter_mut().for_each(|ranked| ranked.allowed &= ranked.score <= most || is_fallback(ranked));
    }
    if model.is_by_choice() {
        ranking.sort_by_key(|ranked| ranked.choice);
    }
    ranking.sort_by(|a, b| a.score.total_cmp(&b.score));
    Ok(ranking)
}
