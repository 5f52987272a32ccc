//! A table of the measurements, for people and spreadsheets: one CSV file per MultiKernel.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use ah_types::log::quote;
use ah_types::{Scalar, Schema};

use crate::files;

/// Appends one line: the context's features, the pick, its speedup over the second best kernel, and the milliseconds
/// of each kernel (`inf` if it failed, empty if it was not eligible).
pub(super) fn append(
    path: &Path,
    schema: &Schema,
    kernels: &[String],
    values: &[Scalar<'_>],
    picked: Option<usize>,
    medians: &[f64],
) -> std::io::Result<()> {
    let mut line = String::new();
    for value in values.iter().take(schema.len()) {
        let _ = write!(line, "{},", quote(&value.to_value().to_string()));
    }
    let name = picked.map_or("", |kernel| kernels[kernel].as_str());
    let speedup = picked.and_then(|kernel| speedup(kernel, medians));
    let _ = write!(line, "{},{}", quote(name), speedup.map(|s| format!("{s:.4}")).unwrap_or_default());
    for ms in medians {
        let _ = if ms.is_nan() { write!(line, ",") } else { write!(line, ",{ms}") };
    }
    line.push('\n');

    let mut file = files::open_to_append(path)?;
    files::lock(&file)?;
    let length = file.metadata()?.len();
    if length == 0 {
        line.insert_str(0, &header(schema, kernels));
    }
    // A full disk must not leave part of a line.
    file.write_all(line.as_bytes()).inspect_err(|_| drop(file.set_len(length)))?;
    file.unlock()
}

fn header(schema: &Schema, kernels: &[String]) -> String {
    let mut names: Vec<String> = schema.features().iter().map(|f| quote(&f.name).into_owned()).collect();
    names.extend(["picked".to_owned(), "speedup_over_second".to_owned()]);
    names.extend(kernels.iter().map(|kernel| quote(&format!("{kernel}_ms")).into_owned()));
    names.join(",") + "\n"
}

fn speedup(picked: usize, medians: &[f64]) -> Option<f64> {
    let others = medians.iter().enumerate().filter(|(kernel, ms)| *kernel != picked && ms.is_finite());
    let second = others.map(|(_, ms)| *ms).min_by(f64::total_cmp)?;
    Some(second / medians[picked])
}
