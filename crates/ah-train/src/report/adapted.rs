//! The few lines that end an adaptation.

use std::fmt::Write as _;

use super::percent;
use super::summary::{loss, name, notes};
use crate::adapt::{Adaptation, Method, Stricter};

/// A difference of log slowdowns that users hear of.
const CLEAR: f64 = 0.01;

/// Returns the summary: the old model, the other ways, the promise, and what more inputs would save.
pub fn adapted(adaptation: &Adaptation) -> String {
    let Adaptation { method, inputs, old, corrected, retrained, wanted, promise, .. } = adaptation;
    let (taken, judged) = match method {
        Method::Corrected => ("corrected scores", corrected),
        Method::Retrained => ("retrained trees", retrained),
    };
    let mut text = format!(
        "The old model loses {} on the {inputs} new inputs (always deciding: {}).\n\
         With corrected scores its trees would lose {}, retrained trees {} (always deciding, cross-fitted). Takes \
         {taken}.\n",
        loss(old.slowdown),
        loss(old.always),
        loss(corrected.always),
        loss(retrained.always),
    );
    let _ = match (promise, wanted) {
        (Some(promise), _) => writeln!(
            text,
            "Promise: at most {} % are > {} % slower than {} ({} % confidence). Decides {:.1} %, loses {}.",
            percent(promise.target),
            percent(promise.limit - 1.0),
            name(&adaptation.fallback),
            percent(promise.confidence),
            judged.coverage * 100.0,
            loss(judged.slowdown),
        ),
        (None, Some(_)) => writeln!(
            text,
            "No promise. Takes only choices that save much for their estimated risk: decides {:.1} %, loses {}.",
            judged.coverage * 100.0,
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
    for note in notes(&adaptation.comparison) {
        let _ = writeln!(text, "Note: {note}.");
    }
    if let Some(Stricter { share, judged }) = &adaptation.stricter {
        let share = percent(*share);
        let _ = writeln!(
            text,
            "The promise of {share} % would decide {:.1} % and lose {} (--max-risk {share}%).",
            judged.coverage * 100.0,
            loss(judged.slowdown)
        );
    }
    if let (None, Some((share, needed))) = (promise, adaptation.inputs_for_any)
        && *inputs < needed
    {
        let _ = writeln!(text, "A promise of {} % needs about {needed} inputs.", percent(share));
    }
    if let (Some(wanted), Some(needed)) = (wanted, adaptation.inputs_for_wanted)
        && promise.as_ref().is_none_or(|promise| promise.target > *wanted)
    {
        let _ = writeln!(text, "A promise of {} % needs about {needed} inputs.", percent(*wanted));
    }
    let _ = writeln!(text, "If it always decided: {}", adaptation.advice);
    text
}

#[cfg(test)]
mod tests {
    use ah_types::{ChoiceId, Model, SingleChoice};

    use super::*;
    use crate::adapt::Judged;
    use crate::judge::study::Difference;
    use crate::judge::{Baseline, BaselineComparison, Metrics};

    /// An adaptation by 20 inputs, which can promise nothing; it declines on a tenth of them.
    fn declining(slowdown: f64, plain_slowdown: f64) -> Adaptation {
        let judged = |slowdown| Judged { slowdown, coverage: 0.9, over_limit: 0.0, always: 1.02 };
        let single = || Baseline { choice: "orig".to_owned(), metrics: Metrics::default() };
        let model = Metrics { inputs: 20, slowdown, plain_slowdown, ..Metrics::default() };
        Adaptation {
            model: Model::default(),
            method: Method::Corrected,
            inputs: 20,
            fallback: "orig".to_owned(),
            old: judged(1.02),
            corrected: judged(slowdown),
            retrained: judged(slowdown),
            comparison: BaselineComparison {
                model,
                always_fallback: single(),
                best_single: single(),
                single: SingleChoice { first: ChoiceId(0), second: None },
                max_slowdown: 1.05,
            },
            strength: None,
            spread: 0.1,
            wanted: Some(0.01),
            promise: None,
            stricter: None,
            inputs_for_wanted: Some(974),
            inputs_for_any: Some((0.2, 45)),
            last_half: Difference::default(),
            advice: "No more.".to_owned(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn few_inputs_hear_what_declining_costs() {
        let text = adapted(&declining(1.0608, 1.0608));
        for part in [
            "Declining costs 4.00 %: always deciding would lose 2.00 %.",
            "The old model as it is loses less on these inputs: 2.00 %.",
            "A promise of 20 % needs about 45 inputs.\nA promise of 1 % needs about 974 inputs.",
            "If it always decided: No more.",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let text = adapted(&declining(1.025, 1.025));
        assert!(!text.contains("Declining costs") && !text.contains("The old model as it is"), "{text}");
    }

    #[test]
    fn another_loss_without_names_is_noted() {
        let noted = "Note: a program that does not name its choices loses 4.00 %";
        assert!(adapted(&declining(1.02, 1.04)).contains(noted));
        assert!(!adapted(&declining(1.02, 1.02)).contains("Note:"));
    }
}
