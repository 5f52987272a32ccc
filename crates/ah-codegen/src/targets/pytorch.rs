//! PyTorch: one file for `torch/_inductor/autoheuristic/artifacts/`. It has the code of the target Python
//! and a class that PyTorch's own controller finds.

use serde::Serialize;

use super::python::{PythonLanguage, RESERVED};
use crate::error::CodegenError;
use crate::lower::LoweredModel;
use crate::printing::names::{Case, is_identifier, single};
use crate::printing::view::ModelView;
use crate::target::{OutputPlace, Target, TargetOptions, View};

const RESERVED_TYPES: &str = "\
    None True False AHContext AHMetadata Choice LearnedHeuristic LearnedHeuristicDecision Any Container \
    Optional Sequence Union CHOICES";

/// One file for PyTorch's own folder of learned heuristics.
#[derive(Clone, Copy, Debug)]
pub struct Pytorch;

/// The values that PyTorch's template prints.
#[derive(Serialize)]
struct ArtifactView {
    /// The name of the class.
    class: String,
    #[serde(flatten)]
    model: ModelView,
}

impl Target for Pytorch {
    fn name(&self) -> &'static str {
        "pytorch"
    }

    fn view(&self, lowered: &LoweredModel<'_>, _: &TargetOptions<'_>) -> Result<View, CodegenError> {
        let heuristic = &lowered.model.heuristic;
        let case = if is_identifier(heuristic) { Case::Kept } else { Case::Camel };
        let class = single(heuristic, case, "Heuristic", RESERVED_TYPES);
        let model = ModelView::new(lowered, &PythonLanguage::new(lowered, (Case::Snake, RESERVED)));
        let place = OutputPlace::File { name: format!("_{class}.py"), template: "artifact.py" };
        View::new(place, &ArtifactView { class, model })
    }
}
