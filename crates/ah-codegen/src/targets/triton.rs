//! Triton: one module with a function for `triton.autotune(prune_configs_by={"early_config_prune": …})`. It has the code of the
//! target Python, and needs neither our package nor Triton itself.

use crate::error::CodegenError;
use crate::lower::LoweredModel;
use crate::target::{OutputPlace, Target, TargetOptions, View};

use super::python::Python;

/// One module that leaves an autotuner only the configuration that the heuristic takes.
#[derive(Clone, Copy, Debug)]
pub struct Triton;

impl Target for Triton {
    fn name(&self) -> &'static str {
        "triton"
    }

    fn view(&self, lowered: &LoweredModel<'_>, options: &TargetOptions<'_>) -> Result<View, CodegenError> {
        let View { place, mut context } = Python.view(lowered, options)?;
        let module = place.name().strip_suffix(".py").unwrap_or(place.name()).to_owned() + "_prune";
        context.insert("module", &module);
        Ok(View { place: OutputPlace::File { name: module + ".py", template: "prune.py" }, context })
    }
}
