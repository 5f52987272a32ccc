//! The names in the environment that no decision point has.

use std::collections::BTreeSet;
use std::sync::Mutex;

use ah_model::shown::{listed, quoted, similarity};

use crate::environment::Environment;
use crate::lock::lock;
use crate::warnings::warn_user;

/// The names of all decision points of this program so far.
static KNOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Names that are more similar are taken for misspelt ones. `sned` and `send` have 0.92; `pad_mm` and `mixed_mm`, which are two
/// decision points, 0.72.
const MISSPELT: f64 = 0.85;

/// Adds the name of a decision point, and warns once of each name in the environment that looks like it and is not known. A name
/// that looks like none may be that of a decision point which the program makes later.
pub(crate) fn add(name: &str, environment: &Environment) {
    static WARNED: Mutex<BTreeSet<(&str, String)>> = Mutex::new(BTreeSet::new());
    lock(&KNOWN).insert(name.to_owned());
    for unknown in unknown(environment).filter(|unknown| similarity(unknown.name, name) > MISSPELT) {
        if lock(&WARNED).insert((unknown.variable, unknown.name.to_owned())) {
            warn_user(&unknown.sentence());
        }
    }
}

/// A sentence for each name in the environment that no decision point has so far.
pub(crate) fn unknown_in(environment: &Environment) -> Vec<String> {
    unknown(environment).map(|unknown| unknown.sentence()).collect()
}

/// A name in a variable that no decision point has.
struct Unknown<'a> {
    variable: &'static str,
    name: &'a str,
}

impl Unknown<'_> {
    fn sentence(&self) -> String {
        let variable = self.variable;
        let name = quoted(self.name);
        format!(
            "{variable} names {name}, expected one of this program's decision points, so far {}",
            listed(&*lock(&KNOWN))
        )
    }
}

fn unknown(environment: &Environment) -> impl Iterator<Item = Unknown<'_>> {
    let used =
        environment.consult.iter().flatten().map(|name| Unknown { variable: "AUTOHEURISTIC_USE", name });
    let collected =
        environment.collect.iter().map(|name| Unknown { variable: "AUTOHEURISTIC_COLLECT", name });
    let forced = environment.forced_kernels.iter().filter_map(|(name, _)| name.as_ref());
    let forced = forced.map(|name| Unknown { variable: "AUTOHEURISTIC_FORCE_KERNEL", name });
    let known = lock(&KNOWN).clone();
    used.chain(collected).chain(forced).filter(move |unknown| !known.contains(unknown.name))
}
