//! The part of a sequence that one of several machines measures.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

/// One part of a sequence: `2/4` is the second of four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    index: u64,
    count: NonZeroU64,
}

impl Shard {
    /// Returns true for the one part of an undivided sequence.
    pub fn is_whole(self) -> bool {
        self.count == NonZeroU64::MIN
    }

    /// Whether the input at this position of the sequence belongs to this part.
    pub fn contains(self, position: u64) -> bool {
        position % self.count == self.index
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index + 1, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (index, count) = text.split_once('/')?;
            let (index, count) = (index.parse::<u64>().ok()?, count.parse::<NonZeroU64>().ok()?);
            (1..=count.get()).contains(&index).then(|| Self { index: index - 1, count })
        };
        parse().ok_or_else(|| format!("expected I/N with I from 1 to N, for example 1/4, found {text:?}"))
    }
}
