//! Explains a model's decision on one input, in words.

use std::fmt;

use serde::Serialize;

use super::data::Model;
use crate::choice::ChoiceId;
use crate::clause::Clause;
use crate::context::Value;
use crate::pick::Ranked;
use crate::row::Row;
use crate::shown::whole;
use crate::tree::{Node, Test, Tree};
use crate::unsure::Unsure;

/// The decision for one input, with its reasons; `Display` prints it for people.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The heuristic's name.
    pub heuristic: String,
    /// The choice, or `None` if the heuristic declines.
    pub choice: Option<String>,
    /// The reason for declining.
    pub declines: Option<String>,
    /// The choice that runs if the heuristic declines.
    pub fallback: Option<String>,
    /// The path through the tree, if it reaches a leaf.
    pub path: Option<Path>,
    /// The slowdowns that the boosters predict for the choices of the leaf, best first; empty without
    /// boosters, and where the objective compares no slowdowns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub predicted: Vec<Predicted>,
}

/// What boosters predict for a choice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// The choice.
    pub choice: String,
    /// Its time over that of the fastest choice; up to 10.
    pub slowdown: f64,
    /// False if the promise does not allow it: it saves too little against the fallback.
    pub allowed: bool,
}

/// The path of one input through the tree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Path {
    /// The conditions of the path on each feature, behind the feature's value: `m = 12: 8 < m <= 16`.
    pub tests: Vec<String>,
    /// The training inputs that are the leaf's evidence.
    pub samples: u64,
    /// The choices that training measured in the leaf, best first.
    pub evidence: Vec<Evidence>,
    /// The features outside of the leaf's training range; empty if all are inside.
    pub outside: Vec<String>,
}

/// The evidence for one choice in a leaf. Slowdowns are relative to the fastest choice of each input.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// The choice.
    pub choice: String,
    /// Geometric mean of its slowdown.
    pub slowdown: f64,
    /// Its worst slowdown; infinite if it failed.
    pub worst: f64,
    /// The share of inputs on which its median is the least; equal medians share the input.
    pub probability: f64,
    /// The inputs on which it was measured.
    pub measured: u64,
    /// False if the promise does not allow it.
    pub allowed: bool,
}

impl Model {
    /// Explains the decision for these values of the logged features. `offered` are the choices that the
    /// program offers; `None` if it does not list them.
    pub fn explain(&self, values: &[Value], offered: Option<&dyn Fn(ChoiceId) -> bool>) -> Explanation {
        let decision = match offered {
            Some(offered) => self.decide(values, offered),
            None => self.choose(values),
        }
        .map(|ranked| ranked.choice);
        let names: Vec<&str> = self.features.all().features().iter().map(|f| f.name.as_str()).collect();
        Explanation {
            heuristic: self.heuristic.clone(),
            choice: decision.ok().map(|choice| self.choice_name(choice).to_owned()),
            declines: decision.err().map(|unsure| self.reason(unsure, &names)),
            fallback: self.fallback.map(|choice| self.choice_name(choice).to_owned()),
            path: self.path(values, &names),
            predicted: self.predicted(values),
        }
    }

    fn predicted(&self, values: &[Value]) -> Vec<Predicted> {
        if self.boosters.is_empty() {
            return Vec::new();
        }
        let objective = self.objective();
        let predicted = |ranked: Ranked| {
            let slowdown = objective.slowdown(ranked.score).clamp(1.0, 10.0);
            let choice = self.choice_name(ChoiceId(ranked.choice)).to_owned();
            Some(Predicted { choice, slowdown, allowed: ranked.allowed })
        };
        self.ranking(values).unwrap_or_default().into_iter().filter_map(predicted).collect()
    }

    fn reason(&self, unsure: Unsure, names: &[&str]) -> String {
        match (&self.precondition, unsure) {
            (Some(p), Unsure::Precondition) => format!("its precondition does not hold: {}", p.expression),
            _ => unsure.explain(names),
        }
    }

    fn path(&self, values: &[Value], names: &[&str]) -> Option<Path> {
        let tree = &self.tree;
        let logged = self.row(values);
        let row = self.features.row(&logged);
        let end = tree.leaf_index(|column| self.column_value(column, &row)).ok()?;
        let test = |clause: Clause<'_>| {
            let name = names[clause.slot];
            let value = match (row.category(clause.slot), row.number(clause.slot)) {
                (Some(""), _) => "missing".to_owned(),
                (Some(category), _) => whole(category),
                (None, number) if number.is_nan() => "missing".to_owned(),
                (None, number) => number.to_string(),
            };
            let missing = self.missing.contains(&clause.slot);
            format!(
                "{} = {value}: {}",
                whole(name),
                clause.words(name, missing, &self.categories[clause.slot], whole)
            )
        };
        let tests = Clause::all(way(tree, end)).into_iter().map(test).collect();
        let leaf = tree.leaf(end)?;
        let outside = leaf.outside(&logged, &self.missing).map(|(slot, value, (least, greatest))| {
            let value = if value.is_nan() { "undefined".to_owned() } else { value.to_string() };
            format!("{} = {value}, measured from {least} to {greatest}", names[slot])
        });
        let outside = outside.collect();
        let evidence = leaf.ranking.iter().map(|ranked| Evidence {
            choice: self.choice_name(ranked.choice).to_owned(),
            slowdown: ranked.slowdown,
            worst: ranked.worst,
            probability: ranked.probability,
            measured: ranked.measured,
            allowed: ranked.allowed,
        });
        Some(Path { tests, samples: leaf.samples, evidence: evidence.collect(), outside })
    }
}

/// Returns the tests from the root to the node at `end`, each with true if the path goes left.
fn way(tree: &Tree, end: usize) -> impl Iterator<Item = (&Test, bool)> {
    let mut parents = vec![None; tree.nodes.len()];
    for (at, node) in tree.nodes.iter().enumerate() {
        if let Node::Split { test, left, right } = node {
            parents[*left as usize] = Some((at, test, true));
            parents[*right as usize] = Some((at, test, false));
        }
    }
    let mut way = Vec::new();
    let mut at = end;
    while let Some((parent, test, left)) = parents[at] {
        way.push((test, left));
        at = parent;
    }
    way.into_iter().rev()
}

/// The most choices of a leaf that are printed.
const MOST: usize = 5;

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.choice, &self.declines) {
            (Some(choice), _) => writeln!(f, "{} takes {}.", self.heuristic, whole(choice))?,
            (None, reason) => {
                write!(f, "{} declines: {}.", self.heuristic, reason.as_deref().unwrap_or_default())?;
                match &self.fallback {
                    Some(fallback) => writeln!(f, " The program takes {}.", whole(fallback))?,
                    None => writeln!(f)?,
                }
            }
        }
        if let Some(path) = &self.path {
            writeln!(f)?;
            self.write_path(f, path)?;
        }
        if !self.predicted.is_empty() {
            self.write_predicted(f)?;
        }
        Ok(())
    }
}

impl Explanation {
    /// Returns true if the choice in this place is printed.
    fn is_shown(&self, place: usize, choice: &String) -> bool {
        place < MOST || self.choice.as_ref() == Some(choice) || self.fallback.as_ref() == Some(choice)
    }

    /// Returns a choice with its marks.
    fn marked(&self, choice: &String, allowed: bool) -> String {
        let marks = [
            (self.choice.as_ref() == Some(choice), " (taken)"),
            (self.fallback.as_ref() == Some(choice), " (fallback)"),
            (!allowed, " (may be too slow)"),
        ];
        let marks = marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark);
        whole(choice) + &marks.collect::<String>()
    }

    fn write_predicted(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nBoosted trees decide the order. They predict these slowdowns:")?;
        for (i, Predicted { choice, slowdown, allowed }) in self.predicted.iter().enumerate() {
            if self.is_shown(i, choice) {
                writeln!(f, "  {slowdown:>8.3}  {}", self.marked(choice, *allowed))?;
            }
        }
        Ok(())
    }

    fn write_path(&self, f: &mut fmt::Formatter<'_>, path: &Path) -> fmt::Result {
        for test in &path.tests {
            writeln!(f, "  {test}")?;
        }
        writeln!(f, "reaches a leaf with the evidence of {} training inputs:", path.samples)?;
        writeln!(f, "  {:>8} {:>8} {:>6} {:>9}  choice", "slowdown", "worst", "wins", "measured")?;
        let mut count = 0;
        for (_, e) in path.evidence.iter().enumerate().filter(|(i, e)| self.is_shown(*i, &e.choice)) {
            count += 1;
            let wins = format!("{:.0} %", e.probability * 100.0);
            let (slowdown, worst) = (format!("{:.3}", e.slowdown), format!("{:.3}", e.worst));
            let choice = self.marked(&e.choice, e.allowed);
            writeln!(f, "  {slowdown:>8} {worst:>8} {wins:>6} {:>9}  {choice}", e.measured)?;
        }
        if path.evidence.len() > count {
            writeln!(f, "  and {} more", path.evidence.len() - count)?;
        }
        let of = "the range of the leaf's training inputs";
        match path.outside.as_slice() {
            [] => writeln!(f, "The input is within {of}."),
            outside => writeln!(f, "The input is outside {of}: {}.", outside.join("; ")),
        }
    }
}
