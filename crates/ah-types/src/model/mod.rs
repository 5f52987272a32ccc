//! The model: a learned heuristic with everything needed to decide, to generate code and to learn it again.
//! On disk it is `model.json`; `docs/model-format.md` is the specification.

mod booster_file;
mod boosters;
mod clear_choices;
mod data;
mod decide;
mod ensemble;
mod error;
mod explain;
mod file;
mod leaf_masks;
mod old_pick;
mod row_sums;
mod tables;
mod threshold_search;
mod tree_file;
mod tree_text;
mod validate;

pub use boosters::{LEAST_RISK, MARGIN_STEP, RISK_UNIT, ROW_NUMBERS, ScoreRow, ScoreTree, add_row, risk};
pub use data::{CalibrationMode, LogRecord, Model, Precondition, Promise, Provenance};
pub use decide::LoggedRow;
pub use ensemble::{Ensemble, FlatNode};
pub use error::{InvalidModel, ModelError, ModelPlace};
pub use explain::{Change, Evidence, Explanation, Path, Predicted};
pub use leaf_masks::{LeafMasks, MaskSplit};
pub use old_pick::Ranked as OldRanked;
pub use tables::{BoosterTables, Reached, Sums, Tables};
pub use threshold_search::ThresholdSearch;
