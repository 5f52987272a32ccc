//! The log `train.txt`: one line of JSON metadata, a CSV header, one row per sample. PyTorch's
//! AutoHeuristic reads the logs that this module writes, and this module reads PyTorch's.
//! `docs/log-format.md` is the specification.
//!
//! [`read`] turns one or several files into a [`Log`]; [`LogWriter`] appends to one file.

mod data;
mod devices;
mod head;
mod lines;
mod merger;
mod metadata;
mod quote;
mod reader;
mod rows;
mod writer;

pub use data::{Input, Irregularities, Log, Sample, Source, unconnected};
pub use devices::LoggedDevice;
pub use metadata::{CHOICE_COLUMN, Collection, FEEDBACK_COLUMN, LOG_FORMAT, Metadata, differences};
pub use quote::{context_text, input_text, quote};
pub use reader::{ReadOptions, read, read_bytes, read_metadata, read_with};
pub use writer::LogWriter;
