//! `--exclude`: a log without some of its features.

use ah_model::{Error, Schema};
use ah_types::log::{Log, input_text};
use indexmap::IndexSet;

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

    let mut texts: IndexSet<Box<str>> = IndexSet::new();
    let mut new_place = Vec::with_capacity(log.inputs.len());
    for mut input in std::mem::take(&mut log.inputs) {
        input.values = kept.iter().map(|&slot| input.values[slot].clone()).collect();
        input.text = input_text(&input.values).into();
        let (place, is_new) = texts.insert_full(input.text.clone());
        new_place.push(place as u32);
        if is_new {
            log.inputs.push(input);
        }
    }
    for sample in &mut log.samples {
        sample.input = new_place[sample.input as usize];
    }
    Ok(())
}
