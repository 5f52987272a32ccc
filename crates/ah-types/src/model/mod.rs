//! The model: a learned heuristic with everything needed to decide, to generate code and to learn it again.
//! On disk it is `model.json`; `docs/model-format.md` is the specification.

mod boosted;
mod boosted_file;
mod data;
mod decide;
mod error;
mod explain;
mod file;
mod others;
mod tree_file;
mod tree_text;
mod validate;

pub use boosted::{
    Added, BOOSTED_SCORES, BoostedColumn, BoostedNode, BoostedTrees, LEAST_CAUTION, MARGIN_STEP,
    MAX_BOOSTED_TREES, hardened, softened,
};
pub use data::{CalibrationMode, LogRecord, Model, OutsidePolicy, Precondition, Promise, Provenance};
pub use decide::{Leaves, LoggedRow};
pub use error::{InvalidModel, ModelError, ModelPlace};
pub use explain::{Change, Evidence, Explanation, Path, Predicted};
