//! Writes the log. Its metadata names the device of `--device`, because a table does not name the machine that it was
//! measured on.

use ah_model::Error;
use ah_model::artefact::create_new;
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
    if params.output.exists() {
        write(&params.output)?;
        return Ok(read(std::slice::from_ref(&params.output))?.unconnected());
    }
    // A new log gets its name when it is complete; of two imports to one name, the second fails.
    create_new(&params.output, write, Error::io(&params.output, "write"))?;
    if params.tables.len() == 1 {
        return Ok(None);
    }
    let choices: Vec<&String> = contents.choices.iter().collect();
    let samples = contents.times.iter().map(|time| (contents.input(time), time.choice));
    Ok(unconnected(&choices, samples))
}

fn metadata(params: &ImportParams, contents: &Contents) -> Result<Metadata, Error> {
    // Only the device in that log's metadata is true of the tables.
    let there = match &params.device {
        Some(log) => read_metadata(log)?,
        None => Metadata {
            shared_memory: params.shared_memory,
            device_capa: params.device_capa.unwrap_or_default(),
            ..Metadata::default()
        },
    };
    let rates = contents.seen.first.as_ref().and_then(Quantity::unknown_amount);
    let has_collection = there.collection.is_some() || rates.is_some();
    let there_collected = there.collection.unwrap_or_default();
    let collection = Collection {
        format: LOG_FORMAT,
        device: there_collected.device,
        decision_ns: there_collected.decision_ns,
        rates,
        tool: concat!("ah-train import ", env!("CARGO_PKG_VERSION")).to_owned(),
        ..Collection::default()
    };
    Ok(Metadata {
        shared_memory: there.shared_memory,
        device_capa: there.device_capa,
        // Other tables may add choices to the log.
        choices: None,
        collection: has_collection.then_some(collection),
        ..Metadata::new(&params.name, &contents.schema, Vec::new(), Collection::default())
    })
}
