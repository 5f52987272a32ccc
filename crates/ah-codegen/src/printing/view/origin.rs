//! Views of a model's origin and of its device.

use ah_types::Device;
use serde::Serialize;

use super::viewer::{NameView, Viewer};
use crate::printing::language::Language;
use crate::printing::text::{number, shown};

#[derive(Debug, Serialize)]
pub struct DeviceView {
    text: String,
    #[serde(flatten)]
    guard: GuardView,
}

/// The values that the guard compares: string literals and numbers.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum GuardView {
    Cpu { model: String, cores: u32, instruction_sets: Vec<String> },
    Cuda { name: String, multiprocessors: u32 },
}

#[derive(Debug, Serialize)]
pub struct PromiseView {
    target: String,
    confidence: String,
    limit: String,
    mode: NameView,
    inputs: u64,
    groups: u64,
    violations: u64,
    threshold: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct ProvenanceView {
    tool: String,
    seed: u64,
    logs: Vec<LogView>,
    /// A sentence about the held-out inputs.
    held_out: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct LogView {
    file: NameView,
    blake3: NameView,
    rows: u64,
}

impl<L: Language> Viewer<'_, L> {
    pub(super) fn device(&self, device: &Device) -> DeviceView {
        let string = |text: &String| self.language.string(text);
        let guard = match device {
            Device::Cpu(cpu) => GuardView::Cpu {
                model: string(&cpu.model),
                cores: cpu.cores,
                instruction_sets: cpu.instruction_sets.iter().map(string).collect(),
            },
            Device::Cuda(cuda) => {
                GuardView::Cuda { name: string(&cuda.name), multiprocessors: cuda.multiprocessors }
            }
        };
        DeviceView { text: shown(&device.to_string()), guard }
    }

    pub(super) fn promise(&self) -> Option<PromiseView> {
        self.lowered.model.promise.as_ref().map(|promise| PromiseView {
            target: number(promise.target),
            confidence: number(promise.confidence),
            limit: number(promise.limit),
            mode: self.name(&promise.mode.to_string()),
            inputs: promise.inputs,
            groups: promise.groups,
            violations: promise.violations,
            threshold: promise.threshold.map(number),
        })
    }

    pub(super) fn provenance(&self) -> ProvenanceView {
        let provenance = &self.lowered.model.provenance;
        let log = |log: &ah_types::LogRecord| LogView {
            file: self.name(&log.file),
            blake3: self.name(&log.blake3),
            rows: log.rows,
        };
        ProvenanceView {
            tool: shown(&provenance.tool),
            seed: provenance.seed,
            logs: provenance.logs.iter().map(log).collect(),
            held_out: held_out(&provenance.metrics),
        }
    }
}

/// Returns the figures of the held-out inputs that `ah-train` writes; none in another tool's model.
fn held_out(metrics: &serde_json::Map<String, serde_json::Value>) -> Option<String> {
    let held_out = metrics.get("held_out")?;
    let figure = |key| held_out.get(key)?.as_f64();
    Some(format!(
        "On {} held-out inputs, a heuristic learned from the others decided {:.1} %, lost {:.2} % to the best choice\n\
         ({:.2} times at worst) and was {:.3} times as fast as the fallback. This one learned from all inputs.",
        figure("inputs")?,
        100.0 * figure("coverage")?,
        100.0 * (figure("slowdown")? - 1.0),
        figure("worst")?,
        figure("speedup_over_fallback")?
    ))
}
