//! The frame of the reports: one self-contained page that fetches nothing.
//!
//! `frame.html` has a report's body, its facts as JSON, Chart.js (`vendor/`), the helpers of all reports (`common.js`)
//! and the report's own script. Names from logs reach the page as JSON and become text nodes, never markup. The facts
//! have `choices` (`name`, `wins`), `features` (`name`, `numerical`), `points` (`values`, `winner`) and `inputs`, which the
//! helpers draw.

/// The mark in the first lines of each page.
pub const MARK: &str = "<meta name=\"generator\" content=\"autoheuristic\">";

/// The page of a report: its title (plain text), the HTML with the places that its script fills, the script, and the
/// facts for it, which are JSON.
pub fn html(title: &str, body: &str, script: &str, facts: &str) -> String {
    format!(
        include_str!("frame.html"),
        title = title.replace('&', "&amp;").replace('<', "&lt;"),
        style = include_str!("page.css"),
        body = body,
        library = include_str!("../../vendor/chart.umd.min.js"),
        common = include_str!("common.js"),
        script = script,
        // `</script>` would end the script element.
        facts = facts.replace('<', "\\u003c"),
    )
}
