//! Views of leaves, and of trees as branches.

use ah_types::{Leaf, RankedChoice};
use serde::Serialize;

use super::viewer::Viewer;
use crate::lower::{Condition, Event, Source};
use crate::printing::evidence::{evidence, leaf_comment};
use crate::printing::language::{Language, ValueKind};
use crate::printing::paths::paths;
use crate::printing::text::number;

#[derive(Debug, Serialize)]
pub struct LeafView {
    index: usize,
    /// The number of ranked choices in this leaf and those before it.
    end: usize,
    /// Its choice and the evidence, for a comment.
    comment: String,
    /// The conditions on its path and the evidence, as string literals.
    path: String,
    evidence: String,
    /// The choice for a program that does not list its choices, if every choice is eligible and there are no boosters.
    best: Option<String>,
    /// The choices, in the order of the leaf.
    ranking: Vec<RankedView>,
}

#[derive(Debug, Serialize)]
pub struct RankedView {
    choice: String,
    score: String,
    share: String,
    allowed: bool,
    expected: bool,
}

/// A line of a tree that is printed as branches.
#[derive(Debug, Serialize)]
pub struct LineView {
    indent: String,
    #[serde(flatten)]
    step: LineStep,
}

#[derive(Debug, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum LineStep {
    /// A derived feature takes a logged one, which the path did not use before.
    Convert {
        name: String,
        value: String,
    },
    /// A derived feature is computed; it may be undefined.
    Compute {
        name: String,
        r#type: String,
        value: String,
    },
    /// The tree needs a feature for the first time on this path.
    Need {
        slot: usize,
        name: String,
        kind: ValueKind,
        r#type: String,
        logged: bool,
        /// True if training saw it missing.
        missing: bool,
        /// The source of its value; `None` if the variable has it already.
        value: Option<String>,
        /// The condition for a category that is not in the training data.
        unknown: Option<String>,
    },
    If {
        condition: String,
    },
    ElseIf {
        condition: String,
    },
    Else,
    End,
    Leaf {
        index: usize,
    },
}

impl<L: Language> Viewer<'_, L> {
    pub(super) fn leaves(&self) -> Vec<LeafView> {
        let model = self.lowered.model;
        let paths = paths(model);
        let mut end = 0;
        let view = |(index, (_, leaf)): (usize, (usize, &Leaf))| {
            end += leaf.ranking.len();
            let best = leaf.choose(model.fallback).map(|ranked| ranked.choice);
            LeafView {
                index,
                end,
                comment: leaf_comment(self.lowered, leaf, best),
                path: self.language.string(&paths[index]),
                evidence: self.language.string(&evidence(leaf, best)),
                best: best.map(|choice| self.language.choice(choice)),
                ranking: leaf.ranking.iter().map(|ranked| self.ranked(ranked)).collect(),
            }
        };
        model.tree.leaves().enumerate().map(view).collect()
    }

    fn ranked(&self, ranked: &RankedChoice) -> RankedView {
        RankedView {
            choice: self.language.choice(ranked.choice),
            // Avoids -0.0.
            score: number(ranked.score + 0.0),
            share: number(ranked.probability),
            allowed: ranked.allowed,
            expected: ranked.expected,
        }
    }

    /// Returns the lines of a tree. Levels below the first are indented by this many spaces.
    pub(super) fn tree(&self, events: &[(usize, Event<'_>)], indentation: usize) -> Vec<LineView> {
        let line = |(level, event): &(usize, Event<'_>)| {
            let indent = " ".repeat(4 + indentation * level);
            self.step(event).map(|step| LineView { indent, step })
        };
        events.iter().filter_map(line).collect()
    }

    /// Returns what the language does at an event.
    pub(super) fn step(&self, event: &Event<'_>) -> Option<LineStep> {
        Some(match event {
            Event::Use(slot) => {
                LineStep::Convert { name: self.identifier(*slot), value: self.language.convert(*slot)? }
            }
            Event::Compute(slot, arguments) => LineStep::Compute {
                name: self.identifier(*slot),
                r#type: self.language.type_name(*slot),
                value: self.language.compute(*slot, arguments),
            },
            Event::Need(slot, source) => {
                let logged = self.lowered.derived_type(*slot).is_none();
                LineStep::Need {
                    slot: *slot,
                    name: self.identifier(*slot),
                    kind: ValueKind::of(self.lowered, *slot),
                    r#type: self.language.type_name(*slot),
                    logged,
                    missing: self.lowered.is_missing(*slot),
                    value: match source {
                        Source::Derived(arguments) => Some(self.language.compute(*slot, arguments)),
                        Source::Logged => self.language.read(*slot).or_else(|| self.language.convert(*slot)),
                        Source::Known => self.language.read(*slot).filter(|_| logged),
                    },
                    unknown: self.unknown(*slot),
                }
            }
            Event::If(condition, false) => LineStep::If { condition: self.condition(condition) },
            Event::If(condition, true) => LineStep::ElseIf { condition: self.condition(condition) },
            Event::Else => LineStep::Else,
            Event::End => LineStep::End,
            Event::Leaf(index) => LineStep::Leaf { index: *index },
        })
    }

    pub(super) fn condition(&self, condition: &Condition<'_>) -> String {
        match condition {
            Condition::AtMost(slot, threshold) => self.language.at_most(*slot, *threshold),
            Condition::IsIn(slot, categories) => self.language.is_in(*slot, categories),
            Condition::Holds(slot) => self.identifier(*slot),
        }
    }

    pub(super) fn unknown(&self, slot: usize) -> Option<String> {
        let (model, name) = (self.lowered.model, self.identifier(slot));
        match ValueKind::of(self.lowered, slot) {
            ValueKind::Integer | ValueKind::Number => None,
            ValueKind::Category => Some(self.language.unseen(slot)),
            ValueKind::Truth => match (model.knows(slot, "True"), model.knows(slot, "False")) {
                (true, true) => None,
                (true, false) => Some(self.language.negated(&name)),
                (false, true) => Some(name),
                (false, false) => Some(self.language.truth(true).alone()),
            },
        }
    }
}
