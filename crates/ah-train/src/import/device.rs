//! The device in the log's metadata: a table does not name the machine that it was measured on.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use ah_types::log::{Collection, Metadata};

use super::error::{ImportError, io_error};
use super::params::ImportParams;

/// The device's part of a log's metadata.
#[derive(Debug, Default)]
pub struct DeviceKeys {
    pub device_capa: (u32, u32),
    pub shared_memory: Option<u64>,
    pub collection: Option<Collection>,
}

/// Returns the device that the flags name.
pub fn keys(params: &ImportParams) -> Result<DeviceKeys, ImportError> {
    let Some(path) = &params.device else {
        return Ok(DeviceKeys {
            device_capa: params.device_capa.unwrap_or_default(),
            shared_memory: params.shared_memory,
            collection: None,
        });
    };
    let Metadata { device_capa, shared_memory, collection, .. } = metadata(path)?;
    // Only the device in that log's metadata is true of the tables.
    let collection = collection.map(|there| Collection {
        format: 1,
        device: there.device,
        timing: None,
        seed: 0,
        eligible: Default::default(),
        fallback: Vec::new(),
        random_part: None,
        tool: concat!("ah-train import ", env!("CARGO_PKG_VERSION")).to_owned(),
    });
    Ok(DeviceKeys { device_capa, shared_memory, collection })
}

/// Returns the first line of a log.
fn metadata(path: &Path) -> Result<Metadata, ImportError> {
    // Some thousand choices by name.
    const MOST: u64 = 16 << 20;
    let file = std::fs::File::open(path).map_err(io_error(path, "read"))?;
    let mut line = Vec::new();
    BufReader::new(file.take(MOST)).read_until(b'\n', &mut line).map_err(io_error(path, "read"))?;
    serde_json::from_slice(&line).map_err(|e| ImportError::Unreadable {
        path: path.to_owned(),
        expected: "the first line of a log".to_owned(),
        found: e.to_string(),
        hint: "give --device a log that was measured on the same device (not packed)",
    })
}
