//! Reports for people: the last lines of a run, and a page.

pub mod page;
pub mod sizes;
pub mod summary;

/// A slowdown as the time lost.
fn loss(slowdown: f64) -> String {
    if slowdown.is_nan() {
        return "an unknown share".to_owned();
    }
    format!("{:.2} %", (slowdown - 1.0) * 100.0)
}

/// A share in percent, with at most two digits behind the point.
fn percent(share: f64) -> f64 {
    (share * 1e4).round() / 1e2
}
