//! Logs of several devices as one: each input gets the features of its device. So splits can tell the devices apart, and
//! a device that was never measured lies between those that were.

use ah_types::log::{self, Log, LogError, Metadata, ReadOptions, Sample, differences};
use ah_types::{ChoiceId, DEVICE_FEATURES, Device, Feature, Schema, Value};
use rustc_hash::FxHashMap;

/// The version of what a GPU can do: 8.9, 9.0.
const CAPABILITY: &str = DEVICE_FEATURES[6];

/// The feature that counts of tiles are divided by.
pub const MULTIPROCESSORS: &str = DEVICE_FEATURES[0];

/// A device that logs were measured on, or several that the features known of all devices do not tell apart.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedDevice {
    /// Their names; for a log of PyTorch the capability.
    names: Vec<String>,
    /// The known features of the first.
    features: Vec<(&'static str, f64)>,
}

impl LoggedDevice {
    fn new(metadata: &Metadata) -> Self {
        let (major, minor) = metadata.device_capa;
        let mut features = Vec::new();
        match metadata.device() {
            Some(Device::Cuda(gpu)) => features.extend([
                ("multiprocessors", f64::from(gpu.multiprocessors)),
                ("clock_khz", gpu.clock_khz as f64),
                ("memory_clock_khz", gpu.memory_clock_khz as f64),
                ("l2", gpu.l2 as f64),
            ]),
            Some(Device::Cpu(cpu)) => features.push(("cores", f64::from(cpu.cores))),
            None => {}
        }
        if let Some(bytes) = metadata.shared_memory {
            features.push(("shared_memory", bytes as f64));
        }
        features.push((CAPABILITY, f64::from(major) + f64::from(minor) / 10.0));
        let name =
            metadata.device().map_or_else(|| format!("capability {major}.{minor}"), |d| d.name().into());
        Self { names: vec![name], features }
    }

    /// Returns the name, or all names.
    pub fn name(&self) -> String {
        self.names.join(" or ")
    }

    /// Returns whether these are several devices.
    pub fn is_several(&self) -> bool {
        self.names.len() > 1
    }

    /// Returns a feature, if it is known.
    pub fn feature(&self, name: &str) -> Option<f64> {
        self.features.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// Returns whether an input with these values was measured on this device.
    pub fn measured(&self, schema: &Schema, values: &[Value]) -> bool {
        let agrees = |(name, value): &(&str, f64)| {
            schema.slot(name).is_none_or(|slot| values[slot].as_scalar().number() == Some(*value))
        };
        self.features.iter().all(agrees)
    }
}

/// Returns whether a feature is one of the device, not of the input.
pub fn is_of_device(feature: &str) -> bool {
    DEVICE_FEATURES.contains(&feature)
}

/// Reads logs of one or several devices. Inputs get the device features in `wanted`; without any, and with several
/// devices, those in which the devices differ.
///
/// # Errors
/// Those of [`log::read_with`], also where nothing that the logs know tells their devices apart.
pub fn read(
    paths: &[impl AsRef<std::path::Path>],
    options: ReadOptions,
    wanted: &[&str],
) -> Result<(Log, Vec<LoggedDevice>), LogError> {
    let error = match log::read_with(paths, options) {
        Ok(log) => {
            let device = LoggedDevice::new(&log.metadata);
            let names = names(wanted, std::slice::from_ref(&device), &log.schema);
            return Ok((with_features(log, &device, &names), vec![device]));
        }
        Err(error @ LogError::Metadata { .. }) => error,
        Err(error) => return Err(error),
    };
    let logs: Vec<Log> =
        paths.iter().map(|path| log::read_with(&[path], options)).collect::<Result<_, _>>()?;
    let of_logs: Vec<LoggedDevice> = logs.iter().map(|log| LoggedDevice::new(&log.metadata)).collect();
    let mut devices: Vec<LoggedDevice> = Vec::new();
    for (log, device) in logs.iter().zip(&of_logs) {
        let mut others = differences(&logs[0].metadata, &log.metadata);
        others.retain(|difference| !may_differ(&difference.key));
        if !others.is_empty() {
            return Err(error);
        }
        if !devices.contains(device) {
            devices.push(device.clone());
        }
    }
    let names = names(wanted, &devices, &logs[0].schema);
    if names.is_empty() {
        return Err(error);
    }
    let logs = logs.into_iter().zip(&of_logs).map(|(log, device)| with_features(log, device, &names));
    Ok((join(logs.collect()), told_apart(devices, &names)))
}

/// Returns whether this key of the metadata may differ between logs of several devices.
fn may_differ(key: &str) -> bool {
    const KEYS: [&str; 5] =
        ["choices", "device_capa", "shared_memory", "autoheuristic_rs", "autoheuristic_rs.seed"];
    KEYS.contains(&key) || key.starts_with("autoheuristic_rs.device")
}

/// Returns the features to add: wanted ones, else those that differ, if each device has them and the log does not.
fn names(wanted: &[&str], devices: &[LoggedDevice], logged: &Schema) -> Vec<&'static str> {
    let differ = |name: &str| devices.iter().any(|device| device.feature(name) != devices[0].feature(name));
    let is_wanted = |name: &str| if wanted.is_empty() { differ(name) } else { wanted.contains(&name) };
    let known = |name: &str| devices.iter().all(|device| device.feature(name).is_some());
    DEVICE_FEATURES
        .into_iter()
        .filter(|name| logged.slot(name).is_none() && known(name) && is_wanted(name))
        .collect()
}

/// Returns the devices, those that agree in these features as one.
fn told_apart(devices: Vec<LoggedDevice>, names: &[&str]) -> Vec<LoggedDevice> {
    let mut found: Vec<LoggedDevice> = Vec::new();
    for device in devices {
        let agrees = |other: &&mut LoggedDevice| names.iter().all(|n| other.feature(n) == device.feature(n));
        match found.iter_mut().find(agrees) {
            Some(other) => other.names.extend(device.names),
            None => found.push(device),
        }
    }
    found
}

/// Returns a log of one device with these features of the device.
fn with_features(mut log: Log, device: &LoggedDevice, names: &[&str]) -> Log {
    if names.is_empty() {
        return log;
    }
    let values: Vec<Value> =
        names.iter().filter_map(|name| device.feature(name)).map(Value::Number).collect();
    for (name, value) in names.iter().zip(&values) {
        // A capability is a whole number on some devices only.
        let whole = value.as_scalar().number().is_some_and(|value| value.fract() == 0.0);
        let integer = whole && *name != CAPABILITY;
        let feature = Feature { integer, ..Feature::numerical(*name) };
        log.schema.push(feature).expect("the log lacks the feature");
        log.metadata.numerical_features.push((*name).to_owned());
    }
    let text: String = values.iter().map(|value| format!(",{value}")).collect();
    for input in &mut log.inputs {
        input.values = input.values.iter().chain(&values).cloned().collect();
        input.text = format!("{}{text}", input.text).into();
    }
    log
}

/// Joins logs in their order. The inputs of two devices differ, because their features do.
fn join(logs: Vec<Log>) -> Log {
    let mut choices: Vec<String> = logs.iter().flat_map(|log| log.choices.clone()).collect();
    choices.sort_unstable();
    choices.dedup();
    let (first, others) = logs.split_first().expect("at least one log");
    let collection = logs.iter().find_map(|log| log.metadata.collection.clone());
    let mut joined = Log {
        // No single device stands for all of them.
        metadata: Metadata {
            shared_memory: None,
            device_capa: (0, 0),
            choices: None,
            collection,
            ..first.metadata.clone()
        },
        schema: first.schema.clone(),
        inputs: Vec::new(),
        samples: Vec::new(),
        sources: Vec::new(),
        irregularities: first.irregularities.clone(),
        choices,
    };
    for log in others {
        let (all, more) = (&mut joined.irregularities, log.irregularities.clone());
        all.blank_lines += more.blank_lines;
        all.bad_rows.extend(more.bad_rows);
        all.unlisted.extend(more.unlisted);
        all.unterminated.extend(more.unterminated);
    }
    let mut places: FxHashMap<Box<str>, u32> = FxHashMap::default();
    for log in logs {
        let mut source = log.sources[0].clone();
        if joined.sources.iter().any(|other| !other.hash.is_empty() && other.hash == source.hash) {
            joined.irregularities.repeated.push(source.path.clone());
            (source.rows, source.new_inputs) = (0, 0);
            joined.sources.push(source);
            continue;
        }
        let before = joined.inputs.len();
        // Another file may name its columns in another order.
        let slots: Vec<usize> =
            joined.schema.features().iter().filter_map(|feature| log.schema.slot(&feature.name)).collect();
        let mut ids = Vec::with_capacity(log.inputs.len());
        for mut input in log.inputs {
            if !slots.is_sorted() {
                input.values = slots.iter().map(|&slot| input.values[slot].clone()).collect();
                let texts: Vec<String> = input.values.iter().map(ToString::to_string).collect();
                input.text = texts.join(",").into();
            }
            let next = joined.inputs.len() as u32;
            let id = *places.entry(input.text.clone()).or_insert(next);
            ids.push(id);
            if id == next {
                joined.inputs.push(input);
            }
        }
        let choice = |choice: ChoiceId| {
            let found = joined.choices.binary_search(&log.choices[choice.index()]);
            ChoiceId(found.unwrap_or_default() as u32)
        };
        let sample = |s: Sample| Sample { input: ids[s.input as usize], choice: choice(s.choice), ..s };
        joined.samples.extend(log.samples.into_iter().map(sample));
        source.new_inputs = (joined.inputs.len() - before) as u64;
        joined.sources.push(source);
    }
    joined
}
