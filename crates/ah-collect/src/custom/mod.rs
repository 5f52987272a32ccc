//! Decisions of your own, without a runner: between Rust functions ([`decision`]), between command lines of any
//! program, and between configurations of a CUDA kernel. A TOML file describes the last two.

#[cfg(all(unix, feature = "kernels"))]
mod command;
#[cfg(feature = "kernels")]
mod cuda_source;
mod decision;
mod feature_time;
mod feature_value;
#[cfg(feature = "kernels")]
mod file;
mod functions;
mod program;

#[cfg(feature = "kernels")]
use ah_measure::draws::ScalarText;

pub use decision::{Decision, NamedDecision, decision};
pub use feature_value::FeatureValue;
#[cfg(feature = "kernels")]
pub(crate) use file::{CustomChoices, OptimizationFile};

/// More choices than this are a mistake.
#[cfg(feature = "kernels")]
const MOST_CHOICES: usize = 10_000;

/// Returns every combination of a value for each name; `None` if there are more than [`MOST_CHOICES`].
#[cfg(feature = "kernels")]
fn combinations<'a>(
    parameters: impl Iterator<Item = (&'a String, &'a Vec<ScalarText>)>,
) -> Option<Vec<Vec<(&'a str, &'a ScalarText)>>> {
    let mut all = vec![Vec::new()];
    for (name, values) in parameters {
        let longer =
            |combination: &Vec<_>, value| [combination.as_slice(), &[(name.as_str(), value)]].concat();
        all = all
            .iter()
            .flat_map(|combination| values.iter().map(|value| longer(combination, value)))
            .collect();
        if all.len() > MOST_CHOICES {
            return None;
        }
    }
    Some(all)
}

/// Returns whether a shell and the preprocessor take this for a name.
#[cfg(feature = "kernels")]
fn is_identifier(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}
