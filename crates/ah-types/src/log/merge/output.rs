//! Writes the merged log: the rows that stay, as they are.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::error::MergeError;
use super::inputs::Inputs;
use super::machines::Scale;
use super::metadata;
use super::shard::{Line, Shard, ShardReader};
use crate::log::csv;
use crate::log::error::{LogError, io_error};

/// The inputs and rows of one log in the output.
#[derive(Clone, Copy, Default)]
pub(super) struct Kept {
    pub(super) inputs: u64,
    pub(super) rows: u64,
}

/// Writes all shards in order into `path` and returns what each gave. A regular file at `path` is replaced at the
/// end, when everything is on disk.
pub(super) fn write(
    path: &Path,
    shards: &[Shard],
    inputs: &Inputs,
    scales: &[Scale],
    tool: &str,
) -> Result<Vec<Kept>, MergeError> {
    let same = |a: &PathBuf| {
        std::fs::canonicalize(a).ok().is_some_and(|a| std::fs::canonicalize(path).ok() == Some(a))
    };
    if shards.iter().any(|shard| same(&shard.path)) {
        return Err(MergeError::OutputIsLog { path: path.to_owned() });
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let written = || io_error(path, "write");
    std::fs::create_dir_all(folder).map_err(written())?;
    let file = tempfile::Builder::new().prefix(".ah-").tempfile_in(folder).map_err(written())?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    write_head(&mut out, shards, tool, scales.len()).map_err(written())?;
    let mut kept = Vec::with_capacity(shards.len());
    for (log, shard) in shards.iter().enumerate() {
        let scale = scales.iter().find(|scale| scale.log == log);
        let one = if shard.is_clean() && scale.is_none() {
            copy(&mut out, shard, path)
        } else {
            filter(&mut out, shard, path, |input| inputs.stays(input, log), scale)
        }?;
        shard.expect_unchanged()?;
        kept.push(one);
    }
    let file = out.into_inner().map_err(|e| written()(e.into_error()))?;
    file.as_file().sync_all().map_err(written())?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // tempfile makes it private; a log is as readable as any new file.
        let readable = std::fs::Permissions::from_mode(0o644);
        file.as_file().set_permissions(readable).map_err(written())?;
    }
    file.persist(path).map_err(|e| written()(e.error))?;
    Ok(kept)
}

fn write_head(out: &mut impl Write, shards: &[Shard], tool: &str, scaled: usize) -> std::io::Result<()> {
    let metadata = metadata::merged(shards, tool, scaled);
    serde_json::to_writer(&mut *out, &metadata)?;
    let columns = shards.first().map_or(&[][..], |shard| &shard.columns);
    let columns: Vec<_> = columns.iter().map(|name| csv::quote(name)).collect();
    write!(out, "\n{}\n", columns.join(","))
}

/// Copies every row. They were checked before, so they are not split again.
fn copy(out: &mut impl Write, shard: &Shard, path: &Path) -> Result<Kept, LogError> {
    let mut reader = ShardReader::open(&shard.path)?;
    let mut result = Ok(());
    while reader.next_text(|text| result = out.write_all(text).and_then(|()| out.write_all(b"\n")))? {
        std::mem::replace(&mut result, Ok(())).map_err(io_error(path, "write"))?;
    }
    Ok(Kept { inputs: shard.inputs, rows: shard.rows })
}

/// Copies the rows whose input `stays`, with scaled times where there is a `scale`.
fn filter(
    out: &mut impl Write,
    shard: &Shard,
    path: &Path,
    stays: impl Fn(u128) -> bool,
    scale: Option<&Scale>,
) -> Result<Kept, LogError> {
    let mut reader = ShardReader::open(&shard.path)?;
    let mut rows = 0;
    // The last line may be torn, so a row is written when it is known to have a line end.
    let mut pending = Vec::new();
    while let Some(line) = reader.next(|row, text| {
        pending.clear();
        let Ok(row) = row else { return false };
        match scale {
            Some(scale) if row.feedback.is_finite() => {
                pending.extend_from_slice(row.front);
                let _ = write!(pending, "{}", scale.apply(row.feedback));
            }
            _ => pending.extend_from_slice(text),
        }
        pending.push(b'\n');
        stays(row.input)
    })? {
        if let Line::Row(_, true) = line {
            rows += 1;
            out.write_all(&pending).map_err(io_error(path, "write"))?;
        }
    }
    Ok(Kept { inputs: shard.inputs - shard.repeated, rows })
}
