//! Explains a model's decision on one input, in words.

use crate::math::exp2;
use std::fmt::Write as _;

use ah_decide::Ranked;

use super::data::Model;
use super::tables::{Sums, Tables};
use crate::choice::ChoiceId;
use crate::clause::Clause;
use crate::context::Value;
use crate::row::Row;
use crate::shown::whole;
use crate::tree::RankedChoice;
use crate::unsure::Unsure;

/// The most choices of a leaf that are printed.
const MOST_LISTED: usize = 5;

impl Model {
    /// Explains the decision for these values of the logged features: the choice, the conditions of its path, and the leaf's
    /// evidence. `offered` are the choices that the program offers; `None` if it does not list them.
    pub fn explain(&self, values: &[Value], offered: Option<&dyn Fn(ChoiceId) -> bool>) -> String {
        let tables = Tables::new(self);
        let mut sums = Sums::default();
        let reached = tables.reach(self, values, &mut sums);
        let eligible = |choice| self.is_eligible(choice, values);
        let decision = reached.and_then(|reached| match offered {
            Some(offered) => reached.pick(|choice| eligible(choice) && offered(choice)),
            None => reached.pick_expected(eligible),
        });
        let names: Vec<&str> = self.features.all().features().iter().map(|f| f.name.as_str()).collect();
        let mut text = match decision {
            Ok(choice) => format!("{} takes {}.\n", self.heuristic, whole(self.choice_name(choice))),
            Err(unsure) => {
                let reason = match (&self.precondition, unsure) {
                    (Some(p), Unsure::Precondition) => {
                        format!("its precondition does not hold: {}", p.expression)
                    }
                    _ => unsure.explain(&names),
                };
                let takes = |choice| format!(" The program takes {}.", whole(self.choice_name(choice)));
                let takes = self.fallback.map(takes).unwrap_or_default();
                format!("{} declines: {reason}.{takes}\n", self.heuristic)
            }
        };
        let taken = Taken { model: self, choice: decision.ok() };
        // `fmt::Write` for a `String` never fails.
        let _ = taken.write_path(&mut text, values);
        if self.is_by_choice() {
            let ranking = reached.map(|reached| reached.ranking()).unwrap_or_default();
            let _ = taken.write_predicted(&mut text, &ranking);
        }
        text
    }
}

/// What a model takes; `None` where it declines.
struct Taken<'m> {
    model: &'m Model,
    choice: Option<ChoiceId>,
}

impl Taken<'_> {
    /// The name of a choice with its marks; `None` for one that is not printed in this place.
    fn marked(&self, place: usize, choice: ChoiceId, allowed: bool) -> Option<String> {
        let is_taken = self.choice == Some(choice);
        let is_fallback = self.model.fallback == Some(choice);
        let marks = [(is_taken, " (taken)"), (is_fallback, " (fallback)"), (!allowed, " (may be too slow)")];
        let marks = marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark);
        let is_printed = place < MOST_LISTED || is_taken || is_fallback;
        is_printed.then(|| whole(self.model.choice_name(choice)) + &marks.collect::<String>())
    }

    /// Writes the path through the tree, and what training saw at its end; nothing if it reaches no leaf.
    fn write_path(&self, text: &mut String, values: &[Value]) -> std::fmt::Result {
        let model = self.model;
        let logged = model.row(values);
        let row = model.features.row(&logged);
        let path = model.tree.path(|column| model.column_value(column, &row));
        let Ok((leaf, _, tests)) = path else { return Ok(()) };
        writeln!(text)?;
        for clause in Clause::all(tests) {
            let name = &model.features.all().features()[clause.slot].name;
            let value = match (row.category(clause.slot), row.number(clause.slot)) {
                (Some(""), _) => "missing".to_owned(),
                (Some(category), _) => whole(category),
                (None, number) if number.is_nan() => "missing".to_owned(),
                (None, number) => number.to_string(),
            };
            let missing = model.missing.contains(&clause.slot);
            let words = clause.words(name, missing, &model.categories[clause.slot], whole);
            writeln!(text, "  {} = {value}: {words}", whole(name))?;
        }
        // Where few inputs reach such a leaf, its evidence is that of a larger part of the tree.
        let and_near = if model.is_by_choice() { ", which reach it or leaves near it" } else { "" };
        writeln!(text, "reaches a leaf with the evidence of {} training inputs{and_near}:", leaf.samples)?;
        writeln!(text, "  {:>8} {:>8} {:>6} {:>9}  choice", "slowdown", "worst", "wins", "measured")?;
        let mut rest = leaf.ranking.len();
        for (place, e) in leaf.ranking.iter().enumerate() {
            let Some(choice) = self.marked(place, e.choice, e.allowed) else { continue };
            rest -= 1;
            let wins = format!("{:.0} %", e.probability * 100.0);
            let RankedChoice { slowdown, worst, measured, .. } = e;
            writeln!(text, "  {slowdown:>8.3} {worst:>8.3} {wins:>6} {measured:>9}  {choice}")?;
        }
        if rest > 0 {
            writeln!(text, "  and {rest} more")?;
        }
        if leaf.inputs_without(|choice| !model.is_eligible(choice, values)) == 0 && leaf.samples > 0 {
            let promise = match (&model.promise, self.choice) {
                (None, _) => "",
                (_, Some(choice)) if Some(choice) != model.fallback => ", and the promise does not cover it",
                _ => ", and the fallback keeps the promise",
            };
            writeln!(
                text,
                "No training input is like this one: each could run a choice that this one cannot{promise}."
            )?;
        }
        Ok(())
    }

    /// Writes the slowdowns that the boosters or the formula predict for the choices of the leaf, best first, up to 10.
    fn write_predicted(&self, text: &mut String, ranking: &[Ranked]) -> std::fmt::Result {
        let Some(best) = ranking.first().map(|ranked| ranked.score) else { return Ok(()) };
        let is_on_formula = self.model.costs.is_some();
        let what = if is_on_formula { "A cost formula and the trees on it" } else { "Boosted trees" };
        writeln!(text, "\n{what} decide the order. They predict these slowdowns:")?;
        for (place, ranked) in ranking.iter().enumerate() {
            let slowdown = match (is_on_formula, self.model.boosters.is_empty()) {
                (false, _) => self.model.purpose.objective.slowdown(ranked.score),
                (true, true) => ranked.score / best,
                // Half of the trees on a formula predict the slowdown a second time.
                (true, false) => exp2((ranked.score - best) / 2.0),
            };
            if let Some(choice) = self.marked(place, ChoiceId(ranked.choice), ranked.allowed) {
                writeln!(text, "  {:>8.3}  {choice}", slowdown.clamp(1.0, 10.0))?;
            }
        }
        Ok(())
    }
}
