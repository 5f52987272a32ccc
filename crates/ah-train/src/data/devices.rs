//! Logs of several devices as one: [`ah_types::log::read_devices`] gives each input the features of its device.

use ah_types::DEVICE_FEATURES;
use ah_types::log::{self, Log, LogError, ReadOptions};

pub use ah_types::log::LoggedDevice;

/// Returns whether a feature is one of the device, not of the input.
pub fn is_of_device(feature: &str) -> bool {
    DEVICE_FEATURES.contains(&feature)
}

/// Reads logs of one or several devices, and returns the devices.
///
/// # Errors
/// Those of [`log::read_devices`].
pub fn read(
    paths: &[impl AsRef<std::path::Path>],
    options: ReadOptions,
    wanted: &[&str],
) -> Result<(Log, Vec<LoggedDevice>), LogError> {
    let log = log::read_devices(paths, options, wanted)?;
    let devices = log.devices.clone();
    Ok((log, devices))
}
