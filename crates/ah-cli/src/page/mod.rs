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
    // `</script>` would end the script element.
    let facts = facts.replace('<', "\\u003c");
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    let parts = [
        ("{{title}}", title.as_str()),
        ("{{style}}", include_str!("page.css")),
        ("{{body}}", body),
        ("{{library}}", include_str!("../../vendor/chart.umd.min.js")),
        ("{{common}}", include_str!("common.js")),
        ("{{script}}", script),
        // Last, so that a name in it that looks like another placeholder stays text.
        ("{{facts}}", facts.as_str()),
    ];
    let frame = include_str!("frame.html").to_owned();
    parts.iter().fold(frame, |page, (place, text)| page.replacen(place, text, 1))
}
