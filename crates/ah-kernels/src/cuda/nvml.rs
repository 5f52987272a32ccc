//! Watches clocks through NVML if it is installed: times taken while the card throttles itself are taken
//! again.

use std::time::{Duration, Instant};

use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;

/// A query takes some tens of microseconds, and a slowdown lasts far longer than this.
const INTERVAL: Duration = Duration::from_millis(50);

/// Watches one card, through NVML if it is installed.
pub(crate) struct ThrottleWatch {
    nvml: Option<Nvml>,
    bus_id: String,
    looked: Instant,
}

impl ThrottleWatch {
    /// Watches the card at this PCI address (`0000:1b:00.0`). Without NVML nothing is watched.
    pub(crate) fn new(bus_id: String) -> Self {
        Self { nvml: Nvml::init().ok(), bus_id, looked: Instant::now() }
    }

    /// For example `580.159.04`.
    pub(crate) fn driver_version(&self) -> Option<String> {
        self.nvml.as_ref()?.sys_driver_version().ok()
    }

    /// The reason why the card runs slower than it could, if there is one.
    ///
    /// The power limit is not among the reasons: large products reach it on every machine, so the times
    /// under the limit are the real ones.
    pub(crate) fn throttled(&mut self) -> Option<&'static str> {
        if self.looked.elapsed() < INTERVAL {
            return None;
        }
        self.looked = Instant::now();
        let device = self.nvml.as_ref()?.device_by_pci_bus_id(self.bus_id.as_str()).ok()?;
        let reasons = device.current_throttle_reasons().ok()?;
        [
            (ThrottleReasons::HW_THERMAL_SLOWDOWN, "hardware thermal slowdown"),
            (ThrottleReasons::SW_THERMAL_SLOWDOWN, "software thermal slowdown"),
            (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, "power brake"),
        ]
        .into_iter()
        .find_map(|(reason, name)| reasons.contains(reason).then_some(name))
    }
}
