//! Writes the log. Its metadata names the device of `--device`, because a table does not name the machine that it was
//! measured on.

use ah_model::artefact::create_new;
use ah_model::{Error, FeatureKind};
use ah_types::log::{Collection, LOG_FORMAT, LogWriter, Metadata, read, read_metadata, unconnected};

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
    if is_joined {
        return Ok(read(std::slice::from_ref(&params.output))?.unconnected());
    }
    let several = Some(&contents.times).filter(|_| params.tables.len() > 1);
    Ok(several.and_then(|times| {
        let choices: Vec<&String> = contents.choices.iter().collect();
        unconnected(&choices, times.iter().map(|time| (contents.rows[time.row as usize].input, time.choice)))
    }))
}

fn metadata(params: &ImportParams, contents: &Contents) -> Result<Metadata, Error> {
    let names = |kind| contents.schema.names(kind).map(str::to_owned).collect();
    let there = params.device.as_deref().map(read_metadata).transpose()?;
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
    let mut collection = Collection {
        format: LOG_FORMAT,
        tool: concat!("ah-train import ", env!("CARGO_PKG_VERSION")).to_owned(),
        rates: contents.seen.first.as_ref().and_then(Quantity::unknown_amount),
        ..Collection::default()
    };
    // Only the device in that log's metadata is true of the tables.
    if let Some(there) = there {
        (metadata.device_capa, metadata.shared_memory) = (there.device_capa, there.shared_memory);
        if let Some(there) = there.collection {
            (collection.device, collection.decision_ns) = (there.device, there.decision_ns);
            metadata.collection = Some(collection);
            return Ok(metadata);
        }
    }
    metadata.collection = collection.rates.is_some().then_some(collection);
    Ok(metadata)
}
