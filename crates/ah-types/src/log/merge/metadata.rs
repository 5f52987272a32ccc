//! Which differences between two logs' metadata a merge reports, and which it refuses.

use super::shard::Shard;
use crate::log::error::{LogError, LogPlace};
use crate::log::metadata::{Difference, Metadata, differences};
use crate::shown::listed;

impl Shard {
    /// Checks that this log belongs to the same log as `first`, and keeps the differences that are allowed.
    ///
    /// Parts may have other seeds and choices, and another version of the tool. Devices of one kind may differ in
    /// what [`Device::admits`](crate::Device::admits) allows: drivers, clocks, versions of libraries.
    pub(super) fn agree(&mut self, first: &Self) -> Result<(), LogError> {
        let same_kind = match (first.metadata.device(), self.metadata.device()) {
            (Some(a), Some(b)) => a.admits(b).is_ok(),
            _ => false,
        };
        let allowed = |d: &Difference| {
            ["autoheuristic_rs.seed", "choices"].contains(&d.key.as_str())
                || same_kind && d.key.starts_with("autoheuristic_rs.device.")
        };
        let (reported, refused): (Vec<_>, Vec<_>) =
            differences(&first.metadata, &self.metadata).into_iter().partition(allowed);
        if !refused.is_empty() {
            return Err(LogError::Metadata {
                path: self.path.clone(),
                other: first.path.display().to_string(),
                differences: refused,
                hint: "logs of different devices, policies or features cannot be merged; learn from each alone",
            });
        }
        if self.columns != first.columns {
            return Err(LogError::Malformed {
                place: LogPlace { path: self.path.clone(), line: 2, column: 0 },
                expected: format!("the columns of {}, {}", first.path.display(), listed(&first.columns)),
                found: format!("the columns {}", listed(&self.columns)),
                hint: "reorder the columns; a merge keeps rows as they are".to_owned(),
            });
        }
        self.differences = reported;
        self.differences.extend(tools(&first.metadata, &self.metadata));
        Ok(())
    }
}

fn tools(first: &Metadata, other: &Metadata) -> Option<Difference> {
    let tool = |m: &Metadata| m.collection.as_ref().map(|c| c.tool.clone());
    let (log, other) = (tool(first)?, tool(other)?);
    (log != other).then(|| Difference { key: "autoheuristic_rs.tool".to_owned(), log, other })
}

/// Returns the metadata of the merged log: the first log's, with the choices of all.
pub(super) fn merged(shards: &[Shard], tool: &str, scaled: usize) -> Option<Metadata> {
    let mut metadata = shards.first()?.metadata.clone();
    if let Some(choices) = &mut metadata.choices {
        let mut known: std::collections::HashSet<String> = choices.iter().cloned().collect();
        let others = shards.iter().filter_map(|shard| shard.metadata.choices.as_ref()).flatten();
        choices.extend(others.filter(|choice| known.insert((*choice).clone())).cloned());
    }
    if let Some(collection) = &mut metadata.collection {
        collection.tool = format!("{tool}, merged from {} logs", shards.len());
        if scaled > 0 {
            collection.tool.push_str(&format!(", the times of {scaled} scaled"));
        }
    }
    Some(metadata)
}
