//! How far the times of one choice on one input differ, and what may change them: a feature that no flag names, or the place in a
//! list.

use ah_model::math::ln;
use ah_model::shown::{listed, quoted};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::contents::{Contents, TableRow, Time};
use crate::params::ImportParams;
use crate::watched::Watched;
use crate::words::is_label;

/// Times of one choice on one input that differ by more than this factor are not repetitions: they more likely belong to
/// different inputs, and a feature that distinguishes these was not given.
const APART: f64 = 2.0;

/// The most times among which a reason for differences is looked for.
const MOST_COMPARED: usize = 200_000;

/// A column matters where its values explain this share of how far the times of one input and choice differ.
const EXPLAINED: f64 = 0.7;

/// Times in different rows that differ by less, as a logarithm, are repetitions.
const LEAST_BY_COLUMN: f64 = 0.03;

/// Times in one list that differ by less, as a logarithm, are repetitions: the first run may be slow.
const LEAST_BY_PLACE: f64 = 0.35;

/// How far a time is from the others of its pair: its input and its choice.
struct Deviation {
    row: usize,
    pair: (u32, u32),
    /// The place in a list of times.
    place: u32,
    /// The logarithm of its time less the mean of all.
    log: f64,
}

impl Contents {
    /// A sentence about rows that give one choice on one input different times.
    pub fn differences(&self, params: &ImportParams) -> Option<String> {
        // The least and the greatest time of each pair; of the repetitions in a row, the least counts.
        let mut pairs: FxHashMap<(u32, u32), [Time; 2]> = FxHashMap::default();
        for times in self.times.chunk_by(|a, b| (a.row, a.choice) == (b.row, b.choice)) {
            let least = times.iter().copied().min_by(|a, b| a.ms.total_cmp(&b.ms))?;
            let [low, high] = pairs.entry(self.pair(&least)).or_insert([least; 2]);
            if least.ms < low.ms {
                *low = least;
            }
            if least.ms > high.ms {
                *high = least;
            }
        }
        let apart = || pairs.values().filter(|[low, high]| high.ms > APART * low.ms);
        let Some([low, high]) = apart().min_by_key(|[low, high]| low.row.min(high.row)) else {
            return self.explained();
        };
        let place = |time: &Time| {
            let TableRow { table, number, .. } = &self.rows[time.row as usize];
            format!("{}:{number}", params.tables[*table as usize].display())
        };
        let unused = listed(self.roles.unused().map(|column| &column.name));
        let others = match &*unused {
            "" => String::new(),
            unused => format!(" Columns without a role: {unused}."),
        };
        Some(format!(
            "rows contradict each other (pairs of an input and a choice: {}). The first: {} takes {:.3} times as long as {}. Is a feature \
             missing from --features?{others}",
            apart().count(),
            place(high),
            high.ms / low.ms,
            place(low),
        ))
    }

    /// The input and the choice of a time.
    fn pair(&self, time: &Time) -> (u32, u32) {
        (self.input(time), time.choice)
    }

    /// The times of the pairs that have several.
    fn deviations(&self) -> Vec<Deviation> {
        let times = &self.times[..self.times.len().min(MOST_COMPARED)];
        let is_finite = |time: &&Time| time.ms.is_finite();
        // The sum of the logarithms of each pair, and their number.
        let mut sums: FxHashMap<(u32, u32), (f64, u32)> = FxHashMap::default();
        for time in times.iter().filter(is_finite) {
            let (sum, count) = sums.entry(self.pair(time)).or_default();
            (*sum, *count) = (*sum + ln(time.ms), *count + 1);
        }
        sums.retain(|_, (_, count)| *count > 1);
        let mut deviations = Vec::new();
        for of_list in times.chunk_by(|a, b| (a.row, a.choice) == (b.row, b.choice)) {
            for (place, time) in (0..).zip(of_list).filter(|(_, time)| is_finite(time)) {
                let pair = self.pair(time);
                if let Some((sum, count)) = sums.get(&pair) {
                    let log = ln(time.ms) - sum / f64::from(*count);
                    deviations.push(Deviation { row: time.row as usize, pair, place, log });
                }
            }
        }
        deviations
    }

    /// A sentence about what changes the times of a choice on an input: a column without a role, or the place in a list.
    fn explained(&self) -> Option<String> {
        let times = self.deviations();
        let pairs = times.iter().map(|time| time.pair).collect::<FxHashSet<_>>().len();
        let free = times.len() - pairs;
        let all: f64 = times.iter().map(|time| time.log * time.log).sum();
        let exceed = |least: f64| all > least * least * free as f64;
        let explains = |value: &dyn Fn(&Deviation) -> u32| {
            let mut sums: FxHashMap<(u32, u32), (f64, f64)> = FxHashMap::default();
            for time in &times {
                let (sum, count) = sums.entry((time.pair.1, value(time))).or_default();
                (*sum, *count) = (*sum + time.log, *count + 1.0);
            }
            let explained: f64 = sums.values().map(|(sum, count)| sum * sum / count).sum();
            free >= 3 * sums.len() && explained > EXPLAINED * all
        };
        // Each pair has each value once, as in a grid, so that they may be better and worse.
        let is_factor = |value: &dyn Fn(&Deviation) -> u32| {
            let values: FxHashSet<u32> = times.iter().map(value).collect();
            let cells: FxHashSet<_> = times.iter().map(|time| (time.pair, value(time))).collect();
            pairs > 2 && cells.len() == times.len() && times.len() == pairs * values.len()
        };
        let matters = |watched: &&Watched| {
            let value = |time: &Deviation| watched.number(time.row).into();
            let is_open = exceed(LEAST_BY_COLUMN) && !watched.has_many && !is_label(&watched.name);
            is_open && (explains(&value) || is_factor(&value))
        };
        if let Some(Watched { name, .. }) = self.watched.values().find(matters) {
            return Some(format!(
                "column {} may change the times of one choice on one input. Is it a part of --choice or --features? Or keep some rows with \
                 --where",
                quoted(name)
            ));
        }
        (exceed(LEAST_BY_PLACE) && explains(&|time| time.place)).then(|| {
            "the times of a row differ by their place: if they are no repetitions, name one of them, as in --time COLUMN.0".to_owned()
        })
    }
}
