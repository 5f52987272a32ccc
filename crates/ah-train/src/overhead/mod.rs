//! What a program waits for beside the choice itself: the decision, by the path that it takes, and the features that the
//! model uses.
//!
//! [`footprint`] finds the parts of a model that each path visits, [`decision_time`] has their times by target, and
//! [`added`] adds both to the time of a choice. [`call_site`] knows how a program asks.

pub mod added;
pub mod call_site;
pub mod decision_time;
pub mod footprint;

pub use added::Overhead;
pub use call_site::CallSite;
pub use decision_time::VisitedParts;
pub use footprint::Footprint;
