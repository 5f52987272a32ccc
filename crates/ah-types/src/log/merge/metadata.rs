//! Which differences between two logs' metadata a merge reports, and which it refuses.

use std::path::Path;

use crate::log::error::LogError;
use crate::log::metadata::{Difference, Metadata, differences};

/// Checks that a log belongs to the same log as the first, and returns the differences that are allowed.
///
/// Parts may have other seeds and choices, and another version of the tool. Devices of one kind may differ in
/// what [`Device::admits`](crate::Device::admits) allows: drivers, clocks, versions of libraries.
pub(super) fn agree(
    first: &Metadata,
    first_path: &Path,
    other: &Metadata,
    path: &Path,
) -> Result<Vec<Difference>, LogError> {
    let same_kind = match (first.device(), other.device()) {
        (Some(a), Some(b)) => a.admits(b).is_ok(),
        _ => false,
    };
    let allowed = |d: &Difference| {
        ["autoheuristic_rs.seed", "choices"].contains(&d.key.as_str())
            || same_kind && d.key.starts_with("autoheuristic_rs.device.")
    };
    let (mut reported, refused): (Vec<_>, Vec<_>) = differences(first, other).into_iter().partition(allowed);
    if !refused.is_empty() {
        return Err(LogError::Metadata {
            path: path.to_owned(),
            other: first_path.display().to_string(),
            differences: refused,
            hint: "logs of different devices, policies or features cannot be merged; learn from each alone",
        });
    }
    let tool = |m: &Metadata| m.collection.as_ref().map(|c| c.tool.clone());
    if let (Some(log), Some(other)) = (tool(first), tool(other))
        && log != other
    {
        reported.push(Difference { key: "autoheuristic_rs.tool".to_owned(), log, other });
    }
    Ok(reported)
}
