//! The model: a learned heuristic with everything needed to decide, to generate code and to learn it again.
//! On disk it is `model.json`; `docs/model-format.md` is the specification.

mod booster_file;
mod boosters;
mod costs;
mod data;
mod decide;
mod explain;
mod file;
mod precondition;
mod purpose;
mod tables;
mod tree_file;
mod validate;

pub use boosters::{ROW_NUMBERS, ScoreRow, ScoreTree};
pub use costs::{CostClass, Costs, Term};
pub use data::{LogRecord, Model, Promise, PromiseMode, Provenance, SourceRecord};
pub use decide::LoggedRow;
pub use precondition::Precondition;
pub use purpose::Purpose;
pub use tables::{BoosterTables, Reached, Sums, Tables};
