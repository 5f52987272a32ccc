//! Which versions of a heuristic may decide: a pin keeps all processes of a program on the same one.

use crate::heuristics::Heuristic;

/// A shorter pin matches no version.
const SHORTEST: usize = 8;

/// A heuristic has another version than the pinned one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its version is {}, pinned is {pinned} (at least {SHORTEST} characters of a version)", found.as_deref().unwrap_or("unknown"))]
pub(super) struct OtherVersion {
    pinned: String,
    found: Option<String>,
}

/// The pins of one decision point: from the program and from the environment. A heuristic must match all.
#[derive(Clone, Debug, Default)]
pub(super) struct Pins(pub(super) Vec<String>);

impl Pins {
    pub(super) fn admit(&self, heuristic: &dyn Heuristic) -> Result<(), OtherVersion> {
        let version = heuristic.version();
        let matches =
            |pin: &String| pin.len() >= SHORTEST && version.is_some_and(|v| v.starts_with(pin.as_str()));
        match self.0.iter().find(|pin| !matches(pin)) {
            None => Ok(()),
            Some(pin) => Err(OtherVersion { pinned: pin.clone(), found: version.map(str::to_owned) }),
        }
    }
}
