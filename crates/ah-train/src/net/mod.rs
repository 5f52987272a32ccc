//! What a program waits for beside the choice itself: the decision, and the features that the model uses.
//!
//! [`visited`] finds the parts of a model that a decision visits, [`decision_time`] has their times by form, and
//! [`overhead`] adds both to the time of a choice. [`asking`] knows how a program asks.

pub mod asking;
pub mod decision_time;
pub mod overhead;
pub mod visited;

pub use asking::Asking;
pub use overhead::Overhead;
pub use visited::ModelUse;
