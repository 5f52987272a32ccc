//! PyTorch's Inductor: one module with a preprocessing function for `torch._inductor.select_algorithm`. It has the code of the
//! target Python and does not need our package.

use crate::error::CodegenError;
use crate::lower::LoweredModel;
use crate::target::{OutputPlace, Target, TargetOptions, View};

use super::python::Python;

/// One module that leaves Inductor only the kernels of a matrix product that the heuristic ranks first.
#[derive(Clone, Copy, Debug)]
pub struct Inductor;

impl Target for Inductor {
    fn name(&self) -> &'static str {
        "inductor"
    }

    fn view(&self, lowered: &LoweredModel<'_>, options: &TargetOptions<'_>) -> Result<View, CodegenError> {
        let View { place, mut context } = Python.view(lowered, options)?;
        let module = place.name().strip_suffix(".py").unwrap_or(place.name()).to_owned() + "_inductor";
        context.insert("module", &module);
        Ok(View { place: OutputPlace::File { name: module + ".py", template: "plugin.py" }, context })
    }
}
