//! Writes the log. Its metadata names the device of `--device`, because a table does not name the machine that it was
//! measured on.

use ah_types::FeatureKind;
use ah_types::log::{Collection, LOG_FORMAT, LogWriter, Metadata, read_metadata};

use crate::contents::Contents;
use crate::error::{ImportError, io_error};
use crate::params::ImportParams;

/// The log's rows are written in blocks of about this many bytes.
const BLOCK: usize = 4 << 20;

/// Writes the log of all tables, or adds to an existing one.
///
/// # Errors
/// [`ImportError`]. A new log then does not exist; an existing one may have a part of the new rows.
pub fn write(params: &ImportParams, contents: &Contents) -> Result<(), ImportError> {
    let metadata = metadata(params, contents)?;
    let write = |path| {
        let (mut writer, _) = LogWriter::open(path, &metadata, &contents.schema)?;
        let schema = writer.schema().clone();
        contents.batches(&schema, BLOCK, |batch| Ok(writer.append_rows(batch)?))
    };
    let path = &params.output;
    if path.exists() {
        return write(path);
    }
    // A new log is renamed into place when it is complete.
    let mut partial = path.file_name().unwrap_or_default().to_owned();
    partial.push(".partial");
    let partial = path.with_file_name(partial);
    if partial.exists() {
        std::fs::remove_file(&partial).map_err(io_error(&partial, "replace"))?;
    }
    let written =
        write(&partial).and_then(|()| std::fs::rename(&partial, path).map_err(io_error(path, "write")));
    if written.is_err() {
        // Best effort: the error to report is the first one.
        let _ = std::fs::remove_file(&partial);
    }
    written
}

fn metadata(params: &ImportParams, contents: &Contents) -> Result<Metadata, ImportError> {
    let names = |kind| contents.schema.names(kind).map(str::to_owned).collect();
    let mut metadata = Metadata {
        name: params.name.clone(),
        shared_memory: params.shared_memory,
        device_capa: params.device_capa.unwrap_or_default(),
        numerical_features: names(FeatureKind::Numerical),
        categorical_features: names(FeatureKind::Categorical),
        // Other tables may add choices to the log.
        choices: None,
        collection: None,
    };
    let collection = Collection {
        format: LOG_FORMAT,
        device: None,
        timing: None,
        seed: 0,
        eligible: Default::default(),
        fallback: Vec::new(),
        feature_ms: contents.feature_times.ms.clone(),
        decision_ns: Default::default(),
        date: String::new(),
        commands_hash: None,
        timeout_ms: contents.timeout_ms,
        random_part: None,
        tool: concat!("ah-train import ", env!("CARGO_PKG_VERSION")).to_owned(),
    };
    metadata.collection = match &params.device {
        None => Some(collection).filter(|collection| collection.timeout_ms.is_some()),
        Some(path) => {
            // Only the device in that log's metadata is true of the tables.
            let there = read_metadata(path)?;
            (metadata.device_capa, metadata.shared_memory) = (there.device_capa, there.shared_memory);
            there.collection.map(|there| Collection {
                format: there.format,
                device: there.device,
                ..collection
            })
        }
    };
    Ok(metadata)
}
