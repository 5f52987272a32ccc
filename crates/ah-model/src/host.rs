//! Describes the processor that this program runs on, by the data of the operating system. It never fails:
//! a value that cannot be read is left out.

use std::fs;

use crate::device::{Cpu, Device};

/// The processor that this program runs on.
pub fn this_cpu() -> Device {
    Device::Cpu(Cpu {
        model: model().unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        cores: std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX)),
        caches: (1..=3).map_while(cache_bytes).collect(),
        instruction_sets: instruction_sets(),
    })
}

fn model() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|l| l.starts_with("model name") || l.starts_with("Model"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The size of the data or unified cache of this level.
fn cache_bytes(level: u32) -> Option<u64> {
    (0..8).find_map(|index| {
        let read = |file: &str| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{file}");
            fs::read_to_string(path).ok().map(|s| s.trim().to_owned())
        };
        if read("level")? != level.to_string() || read("type")? == "Instruction" {
            return None;
        }
        let size = read("size")?;
        let (digits, unit) = size.split_at(size.find(|c: char| !c.is_ascii_digit()).unwrap_or(size.len()));
        let factor = match unit {
            "K" => 1 << 10,
            "M" => 1 << 20,
            _ => 1,
        };
        Some(digits.parse::<u64>().ok()? * factor)
    })
}

#[cfg(target_arch = "x86_64")]
fn instruction_sets() -> Vec<String> {
    let mut sets = Vec::new();
    macro_rules! detect {
        ($($name:tt),*) => { $(if std::arch::is_x86_feature_detected!($name) { sets.push($name.to_owned()); })* };
    }
    detect!("avx", "avx2", "avx512bw", "avx512dq", "avx512f", "avx512vl", "avx512vnni", "fma", "sse4.2");
    sets
}

#[cfg(not(target_arch = "x86_64"))]
fn instruction_sets() -> Vec<String> {
    Vec::new()
}
