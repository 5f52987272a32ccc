//! Logs of several devices as one: each input gets the features of its device. So splits can tell the devices apart, and
//! a device that was never measured lies between those that were.

use ah_model::{DEVICE_FEATURES, Feature, Schema, Value};
use serde_json::json;

use super::metadata::{Metadata, differences};

/// The version of what a GPU can do: 8.9, 9.0. It is a whole number on some devices only.
const CAPABILITY: &str = DEVICE_FEATURES[6];

/// A device that logs were measured on, or several that no feature known of all devices distinguishes.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedDevice {
    /// Their names; for a log of PyTorch the capability.
    names: Vec<String>,
    /// The known features of the first.
    features: Vec<(&'static str, f64)>,
}

impl LoggedDevice {
    pub(super) fn new(metadata: &Metadata) -> Self {
        let (major, minor) = metadata.device_capa;
        let device = json!(metadata.device());
        let known = |name: &'static str| match name {
            CAPABILITY => Some((name, f64::from(major) + f64::from(minor) / 10.0)),
            "shared_memory" => Some((name, metadata.shared_memory? as f64)),
            _ => Some((name, device.get(name)?.as_f64()?)),
        };
        let features = DEVICE_FEATURES.into_iter().filter_map(known).collect();
        let name =
            metadata.device().map_or_else(|| format!("capability {major}.{minor}"), |d| d.name().into());
        Self { names: vec![name], features }
    }

    /// The name, or all names.
    pub fn name(&self) -> String {
        self.names.join(" or ")
    }

    /// Whether these are several devices.
    pub fn is_several(&self) -> bool {
        self.names.len() > 1
    }

    /// A feature, if it is known.
    pub fn feature(&self, name: &str) -> Option<f64> {
        self.features.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// The values of these features.
    pub(super) fn values(&self, names: &[&str]) -> Vec<Value> {
        names.iter().filter_map(|name| self.feature(name)).map(Value::Number).collect()
    }
}

/// Whether logs with this metadata may be merged as those of several devices: all but the device agrees.
pub(super) fn differ_by_device(first: &Metadata, other: &Metadata) -> bool {
    const KEYS: [&str; 5] =
        ["choices", "device_capa", "shared_memory", "autoheuristic_rs", "autoheuristic_rs.seed"];
    let is_of_device = |key: &str| KEYS.contains(&key) || key.starts_with("autoheuristic_rs.device");
    differences(first, other).iter().all(|difference| is_of_device(&difference.key))
}

/// The features of devices to add to the inputs: wanted ones, else those in which the devices differ, if each
/// device has them and the log does not.
pub(super) fn names(wanted: &[&str], devices: &[LoggedDevice], logged: &Schema) -> Vec<&'static str> {
    let differ = |name: &str| devices.iter().any(|device| device.feature(name) != devices[0].feature(name));
    let is_wanted = |name: &str| if wanted.is_empty() { differ(name) } else { wanted.contains(&name) };
    let known = |name: &str| devices.iter().all(|device| device.feature(name).is_some());
    let mut names = DEVICE_FEATURES.to_vec();
    names.retain(|name| logged.slot(name).is_none() && known(name) && is_wanted(name));
    names
}

/// Adds these features of devices to a schema.
pub(super) fn extend(schema: &mut Schema, metadata: &mut Metadata, names: &[&str], devices: &[LoggedDevice]) {
    for name in names {
        let mut values = devices.iter().filter_map(|device| device.feature(name));
        let integer = *name != CAPABILITY && values.all(|value| value.fract() == 0.0);
        let added = schema.push(Feature { integer, ..Feature::numerical(*name) });
        debug_assert!(added.is_ok(), "the log lacks the feature");
        metadata.numerical_features.push((*name).to_owned());
    }
}

/// The devices, each once, and those that agree in these features as one.
pub(super) fn distinguishable(devices: &[LoggedDevice], names: &[&str]) -> Vec<LoggedDevice> {
    let mut found: Vec<LoggedDevice> = Vec::new();
    for (at, device) in devices.iter().enumerate() {
        if devices[..at].contains(device) {
            continue;
        }
        let agrees = |other: &&mut LoggedDevice| names.iter().all(|n| other.feature(n) == device.feature(n));
        match found.iter_mut().find(agrees) {
            Some(other) => other.names.extend(device.names.clone()),
            None => found.push(device.clone()),
        }
    }
    found
}
