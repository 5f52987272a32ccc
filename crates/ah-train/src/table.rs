//! The table that is learned from: rows are inputs, columns are choices, cells the median
//! feedback. Most cells may be missing (in PyTorch's `mm` logs 83 % are), so a row is a short
//! list of cells.
//!
//! Rows are sorted by their text and samples within a cell by their value, so nothing behind
//! this point depends on the order of the log's rows.

use ah_types::{ChoiceId, Log, Value, median};

/// One choice on one input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The choice.
    pub choice: ChoiceId,
    /// Median feedback in milliseconds; infinite where the choice failed.
    pub time: f64,
    /// `ln(time / best time of this input)`, at least 0; infinite where the choice failed.
    pub log_slowdown: f64,
}

/// One input with its measured cells.
#[derive(Clone, Debug)]
pub struct Input {
    /// The features' text as it stands in the log, joined by commas.
    pub text: Box<str>,
    /// The values of the logged features, by slot.
    pub values: Box<[Value]>,
    /// The least median, in milliseconds; infinite where every choice failed.
    pub best: f64,
    cells: std::ops::Range<u32>,
}

/// Inputs × choices.
#[derive(Clone, Debug)]
pub struct Table {
    /// The choices' names, sorted: a [`ChoiceId`] is a position here.
    pub choices: Vec<String>,
    /// Sorted by text.
    pub inputs: Vec<Input>,
    cells: Vec<Cell>,
}

impl Table {
    /// The medians of a log.
    #[must_use]
    pub fn new(log: Log) -> Self {
        let Log { choices, inputs: logged, mut samples, .. } = log;
        let mut order: Vec<u32> = (0_u32..).take(logged.len()).collect();
        order.sort_unstable_by(|&a, &b| logged[a as usize].text.cmp(&logged[b as usize].text));
        let mut rank = vec![0_u32; order.len()];
        for (new, &old) in (0_u32..).zip(&order) {
            rank[old as usize] = new;
        }
        samples.sort_unstable_by(|a, b| {
            (rank[a.input as usize], a.choice)
                .cmp(&(rank[b.input as usize], b.choice))
                .then(a.feedback.total_cmp(&b.feedback))
        });

        let mut logged: Vec<_> = logged.into_iter().map(Some).collect();
        let mut inputs = Vec::with_capacity(order.len());
        let mut cells: Vec<Cell> = Vec::new();
        let mut feedback = Vec::new();
        for row in samples.chunk_by(|a, b| a.input == b.input) {
            let Some(input) = logged[row[0].input as usize].take() else { continue };
            let start = cells.len();
            for cell in row.chunk_by(|a, b| a.choice == b.choice) {
                feedback.clear();
                feedback.extend(cell.iter().map(|s| s.feedback));
                let time = median(&feedback).unwrap_or(f64::INFINITY);
                cells.push(Cell { choice: cell[0].choice, time, log_slowdown: 0.0 });
            }
            let best = cells[start..].iter().map(|c| c.time).fold(f64::INFINITY, f64::min);
            for cell in &mut cells[start..] {
                cell.log_slowdown =
                    if cell.time.is_finite() { (cell.time / best).ln() } else { f64::INFINITY };
            }
            let range = index(start)..index(cells.len());
            inputs.push(Input { text: input.text, values: input.values, best, cells: range });
        }
        Self { choices, inputs, cells }
    }

    /// The measured cells of an input, by choice.
    #[must_use]
    pub fn cells(&self, input: usize) -> &[Cell] {
        let range = &self.inputs[input].cells;
        &self.cells[range.start as usize..range.end as usize]
    }

    /// The cell of a choice on an input, where it was measured.
    #[must_use]
    pub fn cell(&self, input: usize, choice: ChoiceId) -> Option<&Cell> {
        let cells = self.cells(input);
        cells.binary_search_by_key(&choice, |c| c.choice).ok().map(|i| &cells[i])
    }

    /// The id of the choice of this name.
    #[must_use]
    pub fn choice_id(&self, name: &str) -> Option<ChoiceId> {
        let position = self.choices.binary_search_by(|c| c.as_str().cmp(name)).ok()?;
        Some(ChoiceId(index(position)))
    }

    /// True where some choice of the input gave a time.
    #[must_use]
    pub fn is_usable(&self, input: usize) -> bool {
        self.inputs[input].best.is_finite()
    }

    /// The log slowdown of taking the fallback: of the fallback itself where it has a time, of the
    /// slowest choice that has one otherwise (nothing better is known there).
    #[must_use]
    pub fn fallback_price(&self, input: usize, fallback: ChoiceId) -> f64 {
        match self.cell(input, fallback) {
            Some(cell) if cell.time.is_finite() => cell.log_slowdown,
            _ => {
                let finite = self.cells(input).iter().map(|c| c.log_slowdown).filter(|l| l.is_finite());
                finite.fold(0.0, f64::max)
            }
        }
    }

    /// The choice that costs least on these inputs when always taken; where it has no time it is
    /// priced as a fallback that has none.
    ///
    /// `None` for a table without choices.
    #[must_use]
    pub fn best_single(&self, inputs: &[u32]) -> Option<ChoiceId> {
        let mut total = vec![0.0; self.choices.len()];
        for &input in inputs {
            let input = input as usize;
            // Every choice pays the worst time; those that were measured get the difference back.
            let worst = self.fallback_price(input, ChoiceId(u32::MAX));
            for cell in self.cells(input).iter().filter(|c| c.time.is_finite()) {
                total[cell.choice.index()] += cell.log_slowdown - worst;
            }
        }
        let best = (0..total.len()).min_by(|&a, &b| total[a].total_cmp(&total[b]))?;
        Some(ChoiceId(index(best)))
    }
}

/// Ids are u32: a table of 2^32 inputs would not fit into memory.
fn index(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
