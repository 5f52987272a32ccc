//! `--exclude`: a log without some of its features.

use ah_model::{Error, Schema};
use ah_types::log::{Log, input_text};
use rustc_hash::FxHashMap;

use crate::error::not_logged;

/// Takes these features out of a log. Inputs that differ in nothing else become one.
pub fn exclude(log: &mut Log, names: &[String]) -> Result<(), Error> {
    if names.is_empty() {
        return Ok(());
    }
    if let Some(unknown) = names.iter().find(|name| log.schema.slot(name).is_none()) {
        return Err(not_logged("exclude", unknown, &log.schema));
    }
    let kept: Vec<usize> =
        (0..log.schema.len()).filter(|&slot| !names.contains(&log.schema.features()[slot].name)).collect();
    let features = kept.iter().map(|&slot| log.schema.features()[slot].clone());
    log.schema = Schema::new(features).expect("a part of a schema has distinct names");

    let mut inputs = Vec::new();
    let mut places: FxHashMap<Box<str>, u32> = FxHashMap::default();
    let mut new_place = Vec::with_capacity(log.inputs.len());
    for mut input in std::mem::take(&mut log.inputs) {
        input.values = kept.iter().map(|&slot| input.values[slot].clone()).collect();
        input.text = input_text(&input.values).into();
        let next = inputs.len() as u32;
        let place = *places.entry(input.text.clone()).or_insert(next);
        new_place.push(place);
        if place == next {
            inputs.push(input);
        }
    }
    log.inputs = inputs;
    for sample in &mut log.samples {
        sample.input = new_place[sample.input as usize];
    }
    Ok(())
}
