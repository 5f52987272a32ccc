//! `ah-train report`: one self-contained page about a model on logs.
//!
//! `facts.rs` computes what the page shows; `body.html` and `page.js` show it in the frame of `ah_cli::page`.

mod facts;

use std::path::Path;

use ah_model::{Error, Model};

use crate::judge::Evaluation;

/// The page's text. It fetches nothing.
pub fn html(model: &Model, evaluation: &Evaluation) -> String {
    let facts = facts::facts(model, evaluation).to_string();
    ah_cli::page::html(&model.heuristic, include_str!("body.html"), include_str!("page.js"), &facts)
}

/// Writes the page.
pub fn write(model: &Model, evaluation: &Evaluation, path: &Path) -> Result<(), Error> {
    let page = html(model, evaluation);
    ah_model::artefact::write_atomic(path, page.as_bytes()).map_err(Error::io(path, "write the report"))
}
