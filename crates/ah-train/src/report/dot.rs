//! `--save-dot`: the trees of a model as a Graphviz graph.

use std::fmt::Write as _;
use std::path::Path;

use ah_types::{Model, Node, artefact};

use crate::error::TrainError;

/// Returns the graph's text.
pub fn text(model: &Model) -> String {
    let name = |slot: usize| model.features.all().features()[slot].name.as_str();
    let mut text = format!("digraph {} {{\n  node [shape=box]\n", quoted(&model.heuristic));
    for (t, tree) in model.trees.iter().enumerate() {
        for (i, node) in tree.nodes.iter().enumerate() {
            match node {
                Node::Leaf(leaf) => {
                    let mut lines = vec![format!("{} inputs", leaf.samples)];
                    lines.extend(
                        leaf.ranking
                            .iter()
                            .take(3)
                            .map(|r| format!("{} {:.3}", model.choice_name(r.choice), r.score)),
                    );
                    let style = if leaf.unsure.is_some() { ", style=dashed" } else { "" };
                    let _ = writeln!(text, "  n{t}_{i} [label={}{style}]", quoted(&lines.join("\n")));
                }
                Node::Split { test, left, right } => {
                    let label = test.words(name(test.slot()), true);
                    let _ = writeln!(text, "  n{t}_{i} [label={}]", quoted(&label));
                    let _ = writeln!(text, "  n{t}_{i} -> n{t}_{left} [label=yes]");
                    let _ = writeln!(text, "  n{t}_{i} -> n{t}_{right} [label=no]");
                }
            }
        }
    }
    text.push_str("}\n");
    text
}

/// Writes the graph to `path`.
pub fn write(model: &Model, path: &Path) -> Result<(), TrainError> {
    artefact::write_atomic(path, text(model).as_bytes()).map_err(|source| TrainError::Io {
        path: path.to_owned(),
        action: "write the graph",
        source,
    })
}

/// Returns a quoted string of DOT. Names come from logs, so characters that would end the string are
/// escaped.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}
