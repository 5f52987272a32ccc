//! A tool: how its records are known and read.

use std::path::Path;

use serde_json::Value as Json;

use super::document::Results;
use crate::error::Fault;
use crate::params::Unit;
use crate::table::Defaults;

/// A tool's format.
pub struct Tool {
    /// The name in messages.
    pub name: &'static str,
    /// Returns whether a record is of this tool, by keys that only its records have.
    pub is: fn(&Json) -> bool,
    /// Reads a record.
    pub read: fn(&Json) -> Result<Results, Fault>,
    /// The column of the times.
    pub time: &'static str,
    /// The unit of the times.
    pub unit: Unit,
    /// Texts in place of a time that mean that the choice failed.
    pub failed: &'static [&'static str],
    /// Adds what lies beside a file to the rows of its records.
    pub add: fn(&Path, &mut Results) -> Result<(), Fault>,
    /// The column of the kernel, where records name one: it has the same value in all rows, because a log is about one kernel.
    pub kernel: Option<&'static str>,
    /// True if features are left out that have the same value in all rows.
    pub varying_only: bool,
}

impl Tool {
    /// A tool whose records hold all of its rows, with milliseconds.
    pub const PLAIN: Self = Self {
        name: "",
        is: |_| false,
        read: |_| Ok(Results::default()),
        time: "",
        unit: Unit::Ms,
        failed: &[],
        add: |_, _| Ok(()),
        kernel: None,
        varying_only: false,
    };

    /// Completes the rows of all records of the file at `path`, and returns the roles of their columns.
    ///
    /// # Errors
    /// [`Fault`], as its tool does not write such a file.
    pub fn complete(&self, path: &Path, results: &mut Results) -> Result<Defaults, Fault> {
        let complete = |results: &mut Results| {
            (self.add)(path, results)?;
            self.kernel.map_or(Ok(()), |column| results.one_value(column))
        };
        complete(results).map_err(|fault| self.named(fault))?;
        if self.varying_only {
            results.drop_constant_features();
        }
        Ok(Defaults {
            features: std::mem::take(&mut results.features),
            choice: std::mem::take(&mut results.choice),
            time: vec![self.time.to_owned()],
            unit: self.unit,
            failed: self.failed,
        })
    }

    /// Returns the fault with the tool's name.
    pub fn named(&self, fault: Fault) -> Fault {
        Fault { expected: format!("{} with {}", self.name, fault.expected), ..fault }
    }
}
