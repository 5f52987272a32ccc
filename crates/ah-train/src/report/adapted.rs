//! The few lines that end an adaptation.

use std::fmt::Write as _;

use super::summary::promised;
use super::{loss, percent};
use crate::adapt::{Adaptation, Judged, Method};

/// A difference of log slowdowns that users hear of.
const CLEAR: f64 = 0.01;

/// Returns the summary: the old model, both ways, and the promise.
pub fn adapted(adaptation: &Adaptation) -> String {
    let Adaptation { method, inputs, old, corrected, retrained, wanted, promise, .. } = adaptation;
    let (taken, judged) = match (method, corrected) {
        (Method::Corrected, Some(corrected)) => ("corrected scores", corrected),
        _ => ("retrained trees", retrained),
    };
    let corrected = corrected.map_or_else(String::new, |corrected: Judged| {
        format!("With corrected scores its trees would lose {}, ", loss(corrected.always))
    });
    let mut text = format!(
        "The old model loses {} on the {inputs} new inputs.\n\
         {corrected}retrained trees {} (always deciding, cross-fitted). Takes {taken}.\n",
        loss(old.slowdown),
        loss(retrained.always),
    );
    let _ = match (promise, wanted) {
        (Some(promise), _) => {
            writeln!(text, "{} Loses {}.", promised(promise, &adaptation.fallback), loss(judged.slowdown))
        }
        (None, Some(_)) => writeln!(
            text,
            "No promise. Takes only choices that save much for their estimated risk: loses {}.",
            loss(judged.slowdown),
        ),
        (None, None) => writeln!(text, "No promise was wanted: always decides."),
    };
    if (judged.slowdown / judged.always).ln() >= CLEAR {
        let _ = writeln!(
            text,
            "Declining costs {}: always deciding would lose {}. With more inputs it declines less.",
            loss(judged.slowdown / judged.always),
            loss(judged.always)
        );
    }
    if (judged.slowdown / old.slowdown).ln() >= CLEAR {
        let _ = writeln!(
            text,
            "The old model as it is loses less on these inputs: {}. But here it promises nothing.",
            loss(old.slowdown)
        );
    }
    if let (Some(wanted), Some(needed)) = (wanted, adaptation.inputs_for_wanted)
        && promise.as_ref().is_none_or(|promise| promise.target > *wanted)
    {
        let _ = writeln!(text, "A promise of {} % needs about {needed} inputs.", percent(*wanted));
    }
    text
}

#[cfg(test)]
mod tests {
    use ah_types::Model;

    use super::*;
    use crate::judge::Metrics;

    /// An adaptation by 20 inputs, which can promise nothing.
    fn declining(slowdown: f64) -> Adaptation {
        let judged = Judged { slowdown, always: 1.02 };
        Adaptation {
            model: Model::default(),
            method: Method::Corrected,
            inputs: 20,
            fallback: "orig".to_owned(),
            old: Metrics { slowdown: 1.02, ..Metrics::default() },
            corrected: Some(judged),
            retrained: judged,
            wanted: Some(0.01),
            promise: None,
            inputs_for_wanted: Some(628),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn few_inputs_hear_what_declining_costs() {
        let text = adapted(&declining(1.0608));
        for part in [
            "Declining costs 4.00 %: always deciding would lose 2.00 %.",
            "The old model as it is loses less on these inputs: 2.00 %.",
            "A promise of 1 % needs about 628 inputs.",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let text = adapted(&declining(1.025));
        assert!(!text.contains("Declining costs") && !text.contains("The old model as it is"), "{text}");
    }
}
