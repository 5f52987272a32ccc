//! Irregularities of a log, as sentences for the user.

use ah_model::shown::listed;
use ah_types::log::Irregularities;

/// A sentence for each kind of irregularity.
pub fn warnings(found: &Irregularities) -> Vec<String> {
    let mut warnings = Vec::new();
    for path in &found.repeated {
        warnings.push(format!("{}: the same bytes as an earlier log; it counts once", path.display()));
    }
    if !found.unlisted.is_empty() {
        warnings.push(format!(
            "the log has rows of choices that its first line does not list: {}; remove these rows if they are a mistake",
            listed(&found.unlisted)
        ));
    }
    if found.blank_lines > 0 {
        warnings.push(format!("{} blank lines skipped", found.blank_lines));
    }
    let bad_rows = &found.bad_rows;
    if bad_rows.count() > 0 {
        warnings.push(format!("{} malformed rows skipped, for example: {bad_rows}", bad_rows.count()));
    }
    for path in &found.unterminated {
        warnings.push(format!(
            "{}: the last line has no line end, so its number may be cut short; remove the line if measuring was interrupted",
            path.display()
        ));
    }
    warnings
}
