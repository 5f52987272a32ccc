//! Judges a model: the cost of following it, against taking each input's winner.
//!
//! [`decisions`] are what a model decides on a table; [`metrics`] has their losses. A [`BaselineComparison`] sets a
//! model beside always taking one choice. [`held_out`] judges a training on its test part,
//! [`evaluation`] a finished model on any log. A [`study`] adds other learners and a learning curve.

pub mod by_device;
pub mod by_form;
pub mod comparison;
pub mod decisions;
pub mod evaluation;
pub mod held_out;
pub mod metrics;
pub mod study;

pub use by_device::DeviceReport;
pub use by_form::FormReport;
pub use comparison::{Baseline, BaselineComparison};
pub use evaluation::{Evaluation, evaluate};
pub use held_out::TestReport;
pub use metrics::Metrics;
pub use study::Study;
