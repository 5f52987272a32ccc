//! The integration tests of `ah-train`: one binary, which links once.

mod ad_hoc;
mod adapt;
mod bad_input;
mod book;
mod boosted;
mod categories;
mod chromium;
mod common;
mod corrupt_logs;
mod determinism;
mod devices;
mod explain;
mod failures;
mod features;
mod joint;
mod missing;
mod net;
mod never_unmeasured;
mod objective;
mod pipes;
mod prefixes;
mod published_logs;
mod report;
mod size;
mod streams;
mod terminal;
