//! Targets in which a model loses what it gains: the training's record says what a program that asks there experiences.

use ah_types::Model;
use serde_json::Value;

use crate::target::Target;

/// Returns a warning for each target whose program would be faster if it always took one choice.
pub fn slow_targets(model: &Model, targets: &[&dyn Target]) -> Vec<String> {
    targets.iter().filter_map(|target| slow_target(model, target.name())).collect()
}

fn slow_target(model: &Model, target: &str) -> Option<String> {
    let metrics = &model.provenance.metrics;
    let form: ah_types::Target = target.parse().ok()?;
    let is_of = |report: &&Value| report["form"].as_str() == Some(form.name());
    let report = metrics.get("by_form")?.as_array()?.iter().find(is_of)?;
    let (single, decision) = (metrics.get("best_single")?, report["decision_us"].as_f64()?);
    let loss = report["slowdown"].as_f64()?;
    let constant = single["metrics"]["slowdown"].as_f64()?;
    (loss > constant && decision > 0.0).then(|| {
        format!(
            "a decision takes {decision:.1} us {}. A program that asks there loses {:.2} % to the best choice on the held-out \
             inputs, and one that always takes {} loses {:.2} %. Learn with `ah-train --target {}`",
            form.words(),
            (loss - 1.0) * 100.0,
            single["choice"].as_str().unwrap_or("the best single choice"),
            (constant - 1.0) * 100.0,
            form.name(),
        )
    })
}
