//! Reports for people: the last lines of a run, the table behind them, and a page.

pub mod adapted;
pub mod page;
pub mod sizes;
pub mod summary;
pub mod table;

/// Returns a share in percent, with at most two digits behind the point.
fn percent(share: f64) -> f64 {
    (share * 1e4).round() / 1e2
}
