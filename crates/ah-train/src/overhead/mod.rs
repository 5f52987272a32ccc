//! What a program waits for beside the choice itself: the decision, by the path that it takes, and the features that the
//! model uses.
//!
//! [`model_use`] finds the parts of a model that each path visits, [`decision_time`] has their times by target, and
//! [`added`] adds both to the time of a choice. [`asking`] knows how a program asks.

pub mod added;
pub mod asking;
pub mod decision_time;
pub mod model_use;

pub use added::Overhead;
pub use asking::Asking;
pub use decision_time::VisitedParts;
pub use model_use::ModelUse;
