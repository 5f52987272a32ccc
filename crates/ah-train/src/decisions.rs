//! The decisions of a model on a table. Only choices that were measured on an input are offered there.

use ah_model::{ChoiceId, Model, RankedChoice, Reached, Sums, Tables};
use ah_types::SingleChoice;

use crate::data::Table;
use crate::overhead::{CallSite, Footprint, Overhead};

/// The decision for one input.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedInput {
    /// The input.
    pub input: u32,
    /// The offered and allowed choices, best first, as ids of the table: a program that names its choices takes the first. Empty where
    /// the model declines.
    pub ranking: Vec<ChoiceId>,
    /// What the first choice saves against the fallback by the model's scores; infinite where the leaf has no score of the
    /// fallback: negative without boosted trees.
    pub saved: f64,
    /// What the program takes, which may not say which choices it can run.
    pub pick: Pick,
    /// What asking adds to the run of this input.
    pub overhead: Overhead,
}

/// What a program takes on an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The model declines.
    Declined,
    /// A choice that was measured on the input, or failed.
    Measured(ChoiceId),
    /// A choice that nobody measured on the input: it may be slower by any factor.
    Unmeasured,
}

impl JudgedInput {
    /// The choice whose time counts: the one that the program takes, or the fallback where the model declines or nobody measured
    /// it.
    pub fn taken(&self, fallback: ChoiceId) -> ChoiceId {
        match self.pick {
            Pick::Measured(choice) => choice,
            Pick::Declined | Pick::Unmeasured => fallback,
        }
    }

    /// The choice that a program takes which names its choices.
    pub fn ranked(&self, fallback: ChoiceId) -> ChoiceId {
        self.ranking.first().copied().unwrap_or(fallback)
    }

    /// The decisions to take a single choice on these inputs.
    pub fn of_single(single: SingleChoice, table: &Table, inputs: &[u32]) -> Vec<Self> {
        let taken = |input| single.taken(|choice| table.usable(input, choice).is_some());
        inputs.iter().map(|&input| Self::constant(input, taken(input))).collect()
    }

    /// The decision to take one choice, which asks nothing.
    pub fn constant(input: u32, choice: ChoiceId) -> Self {
        let ranking = vec![choice];
        let pick = Pick::Measured(choice);
        Self { input, ranking, saved: 0.0, pick, overhead: Overhead::default() }
    }
}

/// The choice that a model takes on every input; `None` if it depends on the input or on what programs offer.
pub fn constant<'m>(model: &'m Model, call_site: &CallSite) -> Option<&'m str> {
    let adds_scores = !model.boosters.is_empty() || model.costs.is_some();
    let names_choices = call_site.names_choices();
    let mut taken: Vec<ChoiceId> = model.fallback.filter(|_| adds_scores).into_iter().collect();
    for (_, leaf) in model.tree.leaves() {
        let picked = leaf.choose(model.fallback, |_| true).map(|ranked| ranked.choice).or(model.fallback);
        let may_be_taken = |ranked: &&RankedChoice| ranked.allowed && (ranked.expected || names_choices);
        let others = leaf.ranking.iter().filter(may_be_taken).map(|ranked| ranked.choice);
        // The first one that is offered, or any with the scores of boosted trees.
        let others = others.take(if adds_scores { usize::MAX } else { usize::from(names_choices) });
        taken.extend(picked.into_iter().chain(others));
    }
    // Where a choice cannot run everywhere, code asks whether it can.
    let may_lack = |choice: ChoiceId| Some(choice) != model.fallback && model.eligible.contains_key(&choice);
    let first = taken.first().copied().filter(|first| taken.iter().all(|choice| choice == first));
    // Where a tree cannot be walked, the fallback is taken.
    let is_everywhere = |choice: ChoiceId| model.tree.leaves().count() == 1 || Some(choice) == model.fallback;
    let constant = first.filter(|choice| is_everywhere(*choice) && !may_lack(*choice));
    constant.map(|choice| model.choice_name(choice))
}

/// The decisions of `model` on these inputs of `table`, whose values are those of the model's logged features, for a program
/// that asks as `call_site`.
pub fn decide(model: &Model, table: &Table, inputs: &[u32], call_site: &CallSite) -> Vec<JudgedInput> {
    let to_table: Vec<Option<ChoiceId>> = model.choices.iter().map(|c| table.choice_id(c)).collect();
    let tables = Tables::new(model);
    let used = Footprint::of_model(model);
    let mean = call_site.overhead(&used, &used.parts);
    let by_leaf: Vec<Overhead> =
        model.tree.leaves().map(|(node, _)| call_site.overhead(&used, &used.paths[node])).collect();
    let judge = |&input: &u32| {
        let offered = |choice: ChoiceId| to_table[choice.index()].filter(|&c| table.cell(input, c).is_some());
        let values = &*table.inputs[input as usize].values;
        let mut sums = Sums::default();
        let reached = tables.reach(model, values, &mut sums);
        let eligible = |choice| model.is_eligible(choice, values);
        let pick = |reached: &Reached<'_>| reached.pick(|c| eligible(c) && offered(c).is_some());
        let mut ranking = Vec::new();
        let mut saved = 0.0;
        // The fallback counts as offered, also where it has no time.
        if let Ok(reached) = &reached
            && let Some(first) = pick(reached).ok().filter(|first| offered(*first).is_some())
        {
            let all = reached.ranking();
            let score = |choice: ChoiceId| {
                all.iter().find(|ranked| ranked.choice == choice.0).map(|ranked| ranked.score)
            };
            let of_fallback = model.fallback.and_then(score);
            // Boosted trees have much evidence in each leaf: where none saw the fallback, it cannot run.
            let unseen = if model.boosters.is_empty() { f64::NEG_INFINITY } else { f64::INFINITY };
            saved = of_fallback.zip(score(first)).map_or(unseen, |(base, score)| base - score);
            let rest = all.iter().skip_while(|ranked| ranked.choice != first.0);
            let taken = rest.filter(|ranked| ranked.allowed);
            ranking.extend(taken.filter_map(|ranked| offered(ChoiceId(ranked.choice))));
        }
        let picked = reached.and_then(|reached| match call_site.names_choices() {
            true => pick(&reached),
            false => reached.pick_expected(eligible),
        });
        let pick = picked.map_or(Pick::Declined, |choice| match offered(choice) {
            Some(choice) => Pick::Measured(choice),
            None if Some(choice) == model.fallback => Pick::Declined,
            None => Pick::Unmeasured,
        });
        // Where no leaf is reached, the mean of all paths.
        let overhead = reached.map_or(mean, |reached| by_leaf[reached.leaf]);
        JudgedInput { input, ranking, saved, pick, overhead }
    };
    inputs.iter().map(judge).collect()
}
