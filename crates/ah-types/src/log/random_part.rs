//! The inputs of an adaptive log that every choice was timed on.

use serde::{Deserialize, Serialize};

use crate::hash::{fnv1a, scramble};

/// The random part of an adaptive log: a share of the inputs, chosen by a hash of the input's text, on which no
/// choice was left out. Only there do times of all choices exist, so heuristics are judged there alone.
///
/// The hash knows nothing of the times, so the part is as random as the sequence. It has no seed: the random
/// parts of several logs are one random part of the merged log.
///
/// ```
/// use ah_types::log::RandomPart;
///
/// let tenth = RandomPart { share: 0.1 };
/// let inputs = (0..10_000).map(|m| format!("{m},4096,torch.float16"));
/// assert_eq!(inputs.filter(|input| tenth.contains(input)).count(), 1027);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomPart {
    /// The share of the inputs, from 0 to 1.
    pub share: f64,
}

impl RandomPart {
    /// Returns whether the input with this text, as the log writes its features, is in the random part.
    pub fn contains(self, input: &str) -> bool {
        // FNV alone changes few high bits with the last byte. 53 bits are exact in an f64.
        let fraction = (scramble(fnv1a(input)) >> 11) as f64 / (1_u64 << 53) as f64;
        fraction < self.share
    }
}
