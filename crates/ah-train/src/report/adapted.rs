//! The few lines that end an adaptation.

use std::fmt::Write as _;

use super::percent;
use super::summary::{loss, name};
use crate::adapt::{Adaptation, Method, Stricter};

/// Returns the summary: the old model, the other ways, the promise, and what more inputs would save.
pub fn adapted(adaptation: &Adaptation) -> String {
    let Adaptation { method, inputs, old, kept, corrected, anew, wanted, promise, .. } = adaptation;
    let (taken, judged) = match method {
        Method::Kept => ("the old scores", kept),
        Method::Corrected => ("corrected scores", corrected),
        Method::Anew => ("trees learned anew", anew),
    };
    let mut text = format!(
        "The old model loses {} on the {inputs} new inputs (always deciding: {}).\n\
         With corrected scores its trees would lose {}, trees learned anew {} (always deciding, cross-fitted). Takes \
         {taken}.\n",
        loss(old.slowdown),
        loss(old.always),
        loss(corrected.always),
        loss(anew.always),
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
    if let Some(Stricter { share, judged }) = &adaptation.stricter {
        let share = percent(*share);
        let _ = writeln!(
            text,
            "The promise of {share} % would decide {:.1} % and lose {} (--max-risk {share}%).",
            judged.coverage * 100.0,
            loss(judged.slowdown)
        );
    }
    if let (Some(wanted), Some(needed)) = (wanted, adaptation.inputs_for_wanted)
        && promise.as_ref().is_none_or(|promise| promise.target > *wanted)
    {
        let _ = writeln!(text, "A promise of {} % needs about {needed} inputs.", percent(*wanted));
    }
    let _ = writeln!(text, "{}", adaptation.advice);
    text
}
