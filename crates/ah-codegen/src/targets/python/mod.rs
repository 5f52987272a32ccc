//! Python: one module of functions that imports only the standard library.

mod language;

use serde::Serialize;

use crate::error::CodegenError;
use crate::lower::LoweredModel;
use crate::printing::names::{Case, single};
use crate::printing::view::ModelView;
use crate::switch::Syntax;
use crate::target::{OutputPlace, Target, TargetOptions, View};

pub use language::{PythonLanguage, RESERVED};

/// The templates' own names beside [`RESERVED`], and the modules that they import.
const RESERVED_NAMES: &str = "\
    HEURISTIC OPTIMIZATION FEATURES PARAMETERS CHOICES CONFIGS FALLBACK PRECONDITION DEVICE PROMISE LOGS \
    Choice Config Decision RankedChoice Any Container NamedTuple Optional Sequence Union struct typing choose \
    choose_among decide ranked explain device_mismatch name reason share allowed";

/// One module that needs only the standard library.
#[derive(Clone, Copy, Debug)]
pub struct Python;

/// The values that Python's template prints.
#[derive(Serialize)]
struct ModuleView {
    /// The module's name.
    module: String,
    #[serde(flatten)]
    model: ModelView,
}

impl Target for Python {
    fn name(&self) -> &'static str {
        "python"
    }

    fn syntax(&self) -> Option<Syntax> {
        Some(Syntax::Python)
    }

    fn view(&self, lowered: &LoweredModel<'_>, _: &TargetOptions<'_>) -> Result<View, CodegenError> {
        let reserved = [RESERVED, RESERVED_NAMES].join(" ");
        let module = single(&lowered.model.heuristic, Case::Snake, "heuristic", &reserved);
        let model = ModelView::new(lowered, &PythonLanguage::new(lowered, (Case::Kept, &reserved)));
        let place = OutputPlace::File { name: format!("{module}.py"), template: "module.py" };
        View::new(place, &ModuleView { module, model })
    }
}
