//! Checks that names stay names: outside of strings and comments, code has only ASCII, every string ends in its line, and files
//! land in the output folder. A test and the fuzz target use it.

#![allow(dead_code)] // Each user needs some of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use ah_codegen::{GENERATORS, GeneratedFiles, Generator, Request, WriteMode, generate};
use ah_model::expr::{self, Expr};
use ah_model::{Error, Model, fields};
use rand::SeedableRng;
use rand_pcg::Pcg64;
use serde_json::Value as Json;

use super::models;

/// Panics if a name becomes anything but an identifier, string or comment.
pub fn check(seed: u64, depth: usize, names: &[String]) {
    let model = models::model(&mut Pcg64::seed_from_u64(seed), "name of the heuristic", depth, 60);
    let json: Json = serde_json::from_str(&model.to_json()).unwrap();
    let mut own = BTreeSet::new();
    rename(&json, &mut |name| {
        own.insert(name.to_owned());
        name.to_owned()
    });
    // Names are sorted in a model, so another order would be another model. A name that lists fields would
    // get other code than a harmless one; `package.rs` tests such names.
    let plain = |name: &String| if fields(name).is_some() { format!("{name}_") } else { name.clone() };
    let mut hostile: BTreeSet<String> = names.iter().take(own.len()).map(plain).collect();
    for i in 0.. {
        hostile.retain(|name| !is_fixed(name));
        if hostile.len() >= own.len() {
            break;
        }
        let name = names.get(i % names.len().max(1)).map_or("", String::as_str);
        hostile.insert(plain(&format!("{name}{i}")));
    }
    let hostile: BTreeMap<&String, &String> = own.iter().zip(&hostile).collect();
    let apply = |to: &dyn Fn(&str) -> String| {
        let text = rename(&json, &mut |name| to(name)).to_string();
        Model::parse(&text)
    };
    let to_hostile = |name: &str| hostile.get(&name.to_owned()).map_or(name, |n| n.as_str()).to_owned();
    // A feature whose name contains a backquote is in no expression.
    let Ok(hostile_model) = apply(&to_hostile) else { return };
    drop(shapes(&hostile_model));
}

fn is_fixed(name: &str) -> bool {
    matches!(name, "True" | "False")
}

/// The model file with every name passed through `to`.
fn rename(json: &Json, to: &mut dyn FnMut(&str) -> String) -> Json {
    fn text(x: &Json, to: &mut dyn FnMut(&str) -> String) -> Json {
        match x.as_str() {
            Some(s) if !is_fixed(s) => to(s).into(),
            _ => x.clone(),
        }
    }
    fn walk(key: &str, x: &Json, to: &mut dyn FnMut(&str) -> String) -> Json {
        match (key, x) {
            ("precondition" | "expression", Json::String(s)) => {
                expression(&expr::parse(s).unwrap(), to).to_string().into()
            }
            ("eligible" | "categories", Json::Object(map)) => {
                let key = if key == "eligible" { "precondition" } else { key };
                map.iter().map(|(k, x)| (to(k), walk(key, x, to))).collect()
            }
            ("columns", Json::Array(columns)) => {
                let column = |column: &Json| match column {
                    Json::Array(pair) => pair.iter().map(|x| text(x, to)).collect(),
                    name => text(name, to),
                };
                let mut columns: Vec<Json> = columns.iter().map(column).collect();
                // The categories of one feature are sorted.
                for run in columns.chunk_by_mut(|a, b| a[0] == b[0]) {
                    run.sort_by(|a, b| a[1].as_str().cmp(&b[1].as_str()));
                }
                columns.into()
            }
            ("tree" | "ranking" | "features" | "derived", Json::Array(all)) => {
                all.iter().map(|x| walk("", x, to)).collect()
            }
            ("categories" | "choices", Json::Array(all)) => {
                let mut names: Vec<Json> = all.iter().map(|x| text(x, to)).collect();
                names.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
                names.into()
            }
            ("" | "boosters", Json::Object(map)) => {
                map.iter().map(|(k, x)| (k.clone(), walk(k, x, to))).collect()
            }
            (
                "heuristic" | "optimization" | "name" | "unit" | "description" | "fallback" | "feature"
                | "category" | "choice",
                Json::String(_),
            ) => text(x, to),
            _ => x.clone(),
        }
    }
    walk("", json, to)
}

fn expression(e: &Expr<String>, to: &mut dyn FnMut(&str) -> String) -> Expr<String> {
    let mut boxed = |e: &Expr<String>| Box::new(expression(e, to));
    match e {
        Expr::Number(_) | Expr::Bool(_) => e.clone(),
        Expr::Text(t) if is_fixed(t) => e.clone(),
        Expr::Text(t) => Expr::Text(to(t)),
        Expr::Feature(f) => Expr::Feature(to(f)),
        Expr::Unary(op, a) => Expr::Unary(*op, boxed(a)),
        Expr::Binary(op, a, b) => Expr::Binary(*op, boxed(a), boxed(b)),
        Expr::If(c, a, b) => Expr::If(boxed(c), boxed(a), boxed(b)),
    }
}

/// The tokens of each file, without the parts that names may change: identifiers and strings lose
/// their text; comments and attributes are removed.
fn shapes(model: &Model) -> Vec<(&'static str, BTreeMap<String, Vec<String>>)> {
    let out = Path::new("out");
    let targets: Vec<&Generator> = GENERATORS.iter().collect();
    let request = Request { mode: WriteMode::Check, ..Request::new(model, &targets, out) };
    let shape = |generated: &GeneratedFiles| {
        let (target, place) =
            (generated.target, generated.output.place.strip_prefix(out).expect("below the output"));
        assert!(matches!(place.components().collect::<Vec<_>>()[..], [Component::Normal(_)]), "{place:?}");
        let code = |(path, text): (&String, &String)| {
            if path.ends_with("Cargo.toml") {
                // Neither keys nor tables come from names.
                let table: toml::Table = text.parse().expect("TOML");
                return Some((path.clone(), table.keys().cloned().collect()));
            }
            let code = target != "rust" || path.ends_with(".rs");
            code.then(|| (path.clone(), tokens(text, target)))
        };
        (target, generated.output.files.iter().filter_map(code).collect())
    };
    match generate(&request) {
        // Names that callers could not tell apart are refused.
        Err(Error::Invalid(why)) if why.contains("tell them apart") => Vec::new(),
        report => report.unwrap().generated.iter().map(shape).collect(),
    }
}

fn tokens(text: &str, target: &str) -> Vec<String> {
    let mut found = Vec::new();
    let python = matches!(target, "pytorch" | "python" | "triton" | "inductor");
    let line_comment = if python { "#" } else { "//" };
    let (mut rest, mut fresh) = (text, true);
    while let Some(c) = rest.chars().next() {
        let length = if fresh && target == "rust" && is_attribute(rest) || rest.starts_with(line_comment) {
            rest.find('\n').unwrap_or(rest.len())
        } else if target == "c" && rest.starts_with("/*") {
            rest.find("*/").expect("the comment ends") + 2
        } else if python && rest.starts_with("\"\"\"") {
            rest[3..].find("\"\"\"").expect("the documentation ends") + 6
        } else if c == '"' || (c == '\'' && python) {
            found.push("string".to_owned());
            string(rest, c)
        } else if c.is_ascii_alphabetic() || c == '_' {
            found.push("identifier".to_owned());
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len())
        } else if c.is_ascii_digit() {
            let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len());
            // The lengths of names in C.
            let whole = target == "c" && !rest[..length].contains('.');
            found.push(if whole { "number" } else { &rest[..length] }.to_owned());
            length
        } else {
            assert!(c.is_ascii(), "{c:?} outside of strings and comments");
            // A list that is broken into lines ends with a comma.
            if matches!(c, ')' | ']' | '}') && found.last().is_some_and(|t| t == ",") {
                found.pop();
            }
            if !c.is_whitespace() || (c == ' ' && fresh && python) {
                found.push(c.to_string());
            }
            1
        };
        fresh = c == '\n' || (fresh && c == ' ');
        rest = &rest[length..];
    }
    found
}

/// Whether names decide if this attribute is printed.
fn is_attribute(rest: &str) -> bool {
    rest.starts_with("#[rustfmt::skip]") || rest.starts_with("#[cfg_attr(feature = \"serde\", serde(rename")
}

fn string(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (i, c) in rest.char_indices().skip(1) {
        assert!(c != '\n' || escaped, "a string ends in its line");
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return i + 1,
            _ => {}
        }
    }
    panic!("a string ends")
}
