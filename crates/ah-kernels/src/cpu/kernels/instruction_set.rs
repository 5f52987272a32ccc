//! The instruction sets that the vector code is compiled for, and their detection.

use pulp::{Scalar128b, Simd, WithSimd};

/// An instruction set that a choice needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InstructionSet {
    /// The target of the build: vectors of four, left to the compiler.
    Portable,
    /// x86-64-v3: vectors of eight, fused multiply-add.
    Avx2,
    /// x86-64-v4: vectors of sixteen.
    Avx512,
}

impl InstructionSet {
    /// All, narrowest first.
    pub const ALL: [Self; 3] = [Self::Portable, Self::Avx2, Self::Avx512];

    /// Returns the instruction set's part of a choice's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Returns the number of f32 elements in one vector.
    pub fn lanes(self) -> usize {
        match self {
            Self::Portable => 4,
            Self::Avx2 => 8,
            Self::Avx512 => 16,
        }
    }

    /// Returns the widest one that this processor has.
    pub fn widest() -> Self {
        let found = Self::ALL.into_iter().rev().find(|set| set.available().is_ok());
        found.unwrap_or(Self::Portable)
    }

    /// Checks that this processor has it.
    pub fn available(self) -> Result<(), String> {
        let missing = self.missing();
        if missing.is_empty() { Ok(()) } else { Err(format!("the processor lacks {}", missing.join(", "))) }
    }

    #[cfg(target_arch = "x86_64")]
    fn missing(self) -> Vec<&'static str> {
        macro_rules! lacking {
            ($($feature:tt),*) => {
                [$(($feature, std::arch::is_x86_feature_detected!($feature))),*]
                    .into_iter().filter(|f| !f.1).map(|f| f.0).collect()
            };
        }
        match self {
            Self::Portable => Vec::new(),
            Self::Avx2 => lacking!("avx2", "fma", "bmi1", "bmi2", "lzcnt"),
            Self::Avx512 => lacking!(
                "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx2", "fma", "bmi1", "bmi2",
                "lzcnt"
            ),
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn missing(self) -> Vec<&'static str> {
        match self {
            Self::Portable => Vec::new(),
            Self::Avx2 => vec!["avx2"],
            Self::Avx512 => vec!["avx512f"],
        }
    }

    /// Runs `op`, compiled for this instruction set. If the processor lacks it, the portable version runs, so
    /// that no caller can reach an illegal instruction.
    pub(super) fn run<Op: WithSimd>(self, op: Op) -> Op::Output {
        #[cfg(target_arch = "x86_64")]
        match self {
            Self::Portable => {}
            Self::Avx2 => {
                if let Some(simd) = pulp::x86::V3::try_new() {
                    return Simd::vectorize(simd, op);
                }
            }
            Self::Avx512 => {
                if let Some(simd) = pulp::x86::V4::try_new() {
                    return Simd::vectorize(simd, op);
                }
            }
        }
        Simd::vectorize(Scalar128b, op)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_names_the_missing_features() {
        for set in InstructionSet::ALL {
            match set.available() {
                Ok(()) => assert!(set <= InstructionSet::widest()),
                Err(reason) => assert!(reason.contains(set.name()), "{reason}"),
            }
        }
    }
}
