//! Judges a model: the cost of following it, against taking each input's winner.
//!
//! [`metrics`] has the losses of [decisions](crate::decisions). A [`BaselineComparison`] sets a
//! model beside always taking one choice. [`held_out`] judges a training on its test part,
//! [`evaluation`] a finished model on any log. A [`Verdict`] is what a training tells its user to do, and a [range](crate::bootstrap) is how far
//! a figure of a few inputs may be off.

pub mod comparison;
pub mod evaluation;
pub mod held_out;
pub mod losses;
pub mod metrics;
pub mod verdict;

pub use comparison::{Baseline, BaselineComparison};
pub use evaluation::{Evaluation, evaluate};
pub use held_out::TestReport;
pub use losses::Losses;
pub use metrics::Metrics;
#[cfg(feature = "cli")]
pub use verdict::FEW_INPUTS;
pub use verdict::{Advice, Gain, Reason, Verdict};
