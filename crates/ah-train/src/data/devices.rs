//! Features of a device, which [`ah_types::log::read_devices`] gives each input.

use ah_types::DEVICE_FEATURES;

/// Returns whether a feature is one of the device, not of the input.
pub fn is_of_device(feature: &str) -> bool {
    DEVICE_FEATURES.contains(&feature)
}
