//! The training policy of `--policy`: one of PyTorch's by name, or a TOML file.

use std::path::Path;

use ah_types::TrainingPolicy;
use ah_types::shown::{did_you_mean, listed, quoted};

use crate::error::TrainError;

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        /// PyTorch's policies: the name and the text of each.
        const BUILT_IN: &[(&str, &str)] = &[$(($name, include_str!(concat!("../policies/", $name, ".toml")))),*];
    };
}
built_in!["pytorch_pad_mm", "pytorch_mm", "pytorch_mixed_mm"];

/// Reads a training policy.
pub fn read(name: &Path) -> Result<TrainingPolicy, TrainError> {
    let built_in = BUILT_IN.iter().find(|(known, _)| name == Path::new(known));
    if let Some((_, text)) = built_in {
        return Ok(TrainingPolicy::parse(text, name)?);
    }
    // A name without an extension is meant as a name.
    if name.extension().is_none() && !name.exists() {
        let names = || BUILT_IN.iter().map(|(name, _)| *name);
        let name = name.display().to_string();
        let expected = format!("a file or one of {}", listed(names()));
        let found = format!("{}{}", quoted(&name), did_you_mean(&name, names()));
        return Err(TrainError::Parameter { flag: "--policy", expected, found });
    }
    Ok(TrainingPolicy::read(name)?)
}
