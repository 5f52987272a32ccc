//! Writes the log. Its metadata names the device of `--device`, because a table does not name the machine that it was
//! measured on.

use ah_model::artefact::create_new;
use ah_model::{Error, FeatureKind};
use ah_types::log::{Collection, LOG_FORMAT, LogWriter, Metadata, read, read_metadata};

use crate::contents::Contents;
use crate::params::ImportParams;
use crate::quantity::Quantity;

/// Writes the log of all tables, or adds to an existing one. Returns a sentence if it joins what nothing compares.
///
/// # Errors
/// [`Error`]. A new log then does not exist; an existing one may have a part of the new rows.
pub fn write(params: &ImportParams, contents: &Contents) -> Result<Option<String>, Error> {
    let metadata = metadata(params, contents)?;
    let write = |path: &std::path::Path| {
        let (mut writer, _) =
            LogWriter::open(path, &metadata, &contents.schema, None, "write to another file (-o)")?;
        let schema = writer.schema().clone();
        writer.append_inputs(contents.samples(&schema))
    };
    let is_joined = params.output.exists();
    if is_joined {
        write(&params.output)?;
    } else {
        // A new log gets its name when it is complete; of two imports to one name, the second fails.
        create_new(&params.output, write, Error::io(&params.output, "write"))?;
    }
    if !is_joined && params.tables.len() == 1 {
        return Ok(None);
    }
    Ok(read(std::slice::from_ref(&params.output))?.unconnected())
}

fn metadata(params: &ImportParams, contents: &Contents) -> Result<Metadata, Error> {
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
    let tool = concat!("ah-train import ", env!("CARGO_PKG_VERSION")).to_owned();
    if let Some(path) = &params.device {
        // Only the device in that log's metadata is true of the tables.
        let there = read_metadata(path)?;
        (metadata.device_capa, metadata.shared_memory) = (there.device_capa, there.shared_memory);
        metadata.collection = there.collection.map(|there| Collection {
            format: LOG_FORMAT,
            device: there.device,
            decision_ns: there.decision_ns,
            tool: tool.clone(),
            ..Collection::default()
        });
    }
    let first = contents.seen.first.as_ref();
    if let Some(rates) = first.and_then(Quantity::unknown_amount) {
        let collection = metadata.collection.get_or_insert_with(|| Collection {
            format: LOG_FORMAT,
            tool,
            ..Collection::default()
        });
        collection.rates = Some(rates);
    }
    Ok(metadata)
}
