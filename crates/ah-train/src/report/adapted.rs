//! The few lines that end an adaptation.

use super::loss;
use super::summary::promised;
use crate::adapt::Adaptation;

/// Returns the summary: what both models lose on the new inputs, which one is kept, and its promise.
pub fn adapted(adaptation: &Adaptation) -> String {
    let Adaptation { model, keeps_old, old, learned, fallback, .. } = adaptation;
    let kept = if *keeps_old { "the old model" } else { "the new one" };
    let promise = match &model.promise {
        Some(promise) => promised(promise, fallback),
        None => "No promise.".to_owned(),
    };
    format!(
        "The old model loses {} on {} held-out inputs of the new log, one learned from the others {}: keeps {kept}.\n{promise}\n",
        loss(old.slowdown),
        old.inputs,
        loss(learned.slowdown),
    )
}
