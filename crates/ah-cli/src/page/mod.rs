//! The frame of the reports: one self-contained page that fetches nothing.
//!
//! `frame.html` has a report's body, its facts as JSON, Chart.js (`vendor/`), the helpers of all reports (`common.js`)
//! and the report's own script. Names from logs reach the page as JSON and become text nodes, never markup. The facts
//! have `choices` (`name`, `wins`), `features` (`name`, `numerical`), `points` (`values`, `winner`) and `inputs`, which the
//! helpers draw.

/// A report that can be written as a page.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The title, plain text.
    pub title: &'a str,
    /// HTML with the places that the script fills.
    pub body: &'a str,
    /// Fills them, from the constant `facts`.
    pub script: &'a str,
}

impl Page<'_> {
    /// Returns the page with these facts, which are JSON.
    pub fn html(&self, facts: &str) -> String {
        // `</script>` would end the script element.
        let facts = facts.replace('<', "\\u003c");
        let title = self.title.replace('&', "&amp;").replace('<', "&lt;");
        let parts = [
            ("{{title}}", title.as_str()),
            ("{{style}}", include_str!("page.css")),
            ("{{body}}", self.body),
            ("{{library}}", include_str!("../../vendor/chart.umd.min.js")),
            ("{{common}}", include_str!("common.js")),
            ("{{script}}", self.script),
            // Last, so that a name in it that looks like another placeholder stays text.
            ("{{facts}}", facts.as_str()),
        ];
        parts
            .iter()
            .fold(include_str!("frame.html").to_owned(), |page, (place, text)| page.replacen(place, text, 1))
    }
}
