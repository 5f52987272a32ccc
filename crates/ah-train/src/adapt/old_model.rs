//! The old model on the new inputs.

use ah_types::{Model, Node, ChoiceId, Objective, Precondition, Sums, Tables};
use rustc_hash::FxHashMap;

use crate::data::{Dataset, domain};
use crate::error::TrainError;
use crate::judge::decisions;

/// The old model on a new log.
pub struct OldModel {
    /// The model with the device, the fallback and the declared conditions of the log.
    pub model: Model,
    /// The table's id of each choice of the model; `None` if the log does not time it.
    pub in_table: Vec<Option<ChoiceId>>,
    /// By node of the tree: the parent. It has a lower number than its children; the root is its own.
    pub parents: Vec<u32>,
    /// The inputs for which the model has an answer, by row of the table.
    inputs: FxHashMap<u32, NewInput>,
}

pub struct NewInput {
    /// The leaf where it ends.
    pub leaf: u32,
    /// The last sum of the boosters' rows, which is the risk; `None` without boosters.
    pub risk: Option<i16>,
    /// The choices that the leaf ranks and the log times.
    pub choices: Vec<OldScore>,
}

/// The old score of a choice on a new input.
pub struct OldScore {
    /// The choice of the table.
    pub choice: ChoiceId,
    /// The score, with that of the boosters.
    pub score: f64,
    /// The new time in the unit of the scores.
    pub time: f64,
}

impl OldModel {
    /// Looks the dataset's inputs up; `None` if the model does not know the fallback.
    ///
    /// # Errors
    /// A declared condition reads features that the model does not have.
    pub fn new(old: &Model, dataset: &Dataset, fallback: ChoiceId) -> Result<Option<Self>, TrainError> {
        let table = &dataset.table;
        let Some(known) = old.choice_id(&table.choices[fallback.index()]) else { return Ok(None) };
        let model = on_log(old, dataset, known)?;
        let in_table: Vec<Option<ChoiceId>> =
            model.choices.iter().map(|name| table.choice_id(name)).collect();
        let (tables, slots) = (Tables::new(&model), decisions::slots(&model, dataset.features.base()));
        let leaves: Vec<u32> = model.tree.leaves().map(|(id, _)| id as u32).collect();
        let is_boosted = !model.boosters.is_empty();
        let in_scores = |log_slowdown| match is_boosted {
            true => Objective::Geomean.saturate(log_slowdown),
            false => log_slowdown,
        };
        let input = |&row: &u32| {
            let values = decisions::values(&model, table, row, &slots);
            let mut sums = Sums::new();
            let reached = tables.reach(&model, &values, &mut sums).ok()?;
            let choices = reached.ranked().filter_map(|ranked| {
                let choice = in_table[ranked.choice as usize]?;
                let cell = table.cell(row, choice).filter(|cell| cell.time.is_finite())?;
                Some(OldScore { choice, score: ranked.score, time: in_scores(cell.log_slowdown) })
            });
            let risk = reached.sums.get(model.choices.len()).copied();
            Some((row, NewInput { leaf: leaves[reached.leaf], risk, choices: choices.collect() }))
        };
        let inputs = dataset.usable.iter().filter_map(input).collect();
        let mut parents = vec![0; model.tree.nodes.len()];
        for (id, node) in (0_u32..).zip(&model.tree.nodes) {
            if let Node::Split { left, right, .. } = node {
                parents[*left as usize] = id;
                parents[*right as usize] = id;
            }
        }
        Ok(Some(Self { model, in_table, parents, inputs }))
    }

    /// Returns an input; `None` if the model has no answer there, for example for an unknown category.
    pub fn input(&self, row: u32) -> Option<&NewInput> {
        self.inputs.get(&row)
    }

    /// Returns the nodes from a leaf up to the root.
    pub fn path(&self, leaf: u32) -> impl Iterator<Item = usize> + '_ {
        let above = |&node: &usize| (node > 0).then(|| self.parents[node] as usize);
        std::iter::successors(Some(leaf as usize), above)
    }
}

/// Returns the model with the device, this fallback and the declared conditions of the log.
fn on_log(model: &Model, dataset: &Dataset, fallback: ChoiceId) -> Result<Model, TrainError> {
    let mut new = Model {
        device: dataset.device().cloned(),
        shared_memory: dataset.metadata.shared_memory,
        device_capa: dataset.metadata.device_capa,
        fallback: Some(fallback),
        ..model.clone()
    };
    let on_model = |condition: &Precondition| -> Result<_, TrainError> {
        let (text, schema) = (&condition.expression, new.features.base());
        let typed = domain::truth(&dataset.optimization, "precondition", text, schema)?;
        Ok(Precondition { typed, expression: text.clone() })
    };
    if !dataset.ad_hoc {
        new.precondition = dataset.precondition.as_ref().map(on_model).transpose()?;
    }
    for (id, condition) in &dataset.eligible {
        if let Some(choice) = new.choice_id(&dataset.table.choices[id.index()]) {
            let condition = on_model(condition)?;
            new.eligible.insert(choice, condition);
        }
    }
    Ok(new)
}
