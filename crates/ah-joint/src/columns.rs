//! The columns of the joint model: numbers of an input, of a choice, and of both.

use rayon::prelude::*;

/// A column of the joint model; a row is an input and a choice. Its value is the product of its factors.
pub type Column = Vec<Factor>;

/// A number of an input, of a choice, or of both.
#[derive(Clone, Copy, Debug)]
pub enum Factor {
    /// A number of the input.
    Input(usize),
    /// A field of the choice.
    Field(usize),
    /// The number of tiles: `ceil(x / size)`, where a field of the choice cuts a number of the input.
    Tiles(usize, usize),
}

/// The numbers of inputs and choices.
#[derive(Debug)]
pub struct Numbers {
    /// By feature, then by input.
    pub inputs: Vec<Vec<f64>>,
    /// By field, then by choice; at the end the rank of a choice by its effect.
    pub fields: Vec<Vec<f64>>,
}

impl Numbers {
    /// The value of a column; minus infinity if it has none.
    pub fn value(&self, column: &Column, input: u32, choice: u32) -> f64 {
        let of_input = |at: usize| self.inputs[at][input as usize];
        let of_choice = |at: usize| self.fields[at][choice as usize];
        let factor = |factor: &Factor| match *factor {
            Factor::Input(at) => of_input(at),
            Factor::Field(at) => of_choice(at),
            Factor::Tiles(x, size) => (of_input(x) / of_choice(size)).ceil(),
        };
        let value: f64 = column.iter().map(factor).product();
        if value.is_nan() { f64::NEG_INFINITY } else { value + 0.0 }
    }
}

/// Most codes of a column.
const CODES: usize = 255;

/// Columns with the greatest value of each code.
#[derive(Debug)]
pub struct Coding {
    /// The columns, in the order of a row's codes.
    pub columns: Vec<Column>,
    bounds: Vec<Vec<f64>>,
}

impl Coding {
    /// Codes that divide the values of these rows evenly. Columns with one value are left out.
    pub fn new(columns: Vec<Column>, numbers: &Numbers, rows: &[(u32, u32)]) -> Self {
        let bounds = |column: &Column| -> Vec<f64> {
            let value = |&(input, choice): &(u32, u32)| numbers.value(column, input, choice);
            let mut values: Vec<f64> = rows.iter().map(value).collect();
            values.sort_unstable_by(f64::total_cmp);
            let mut bounds: Vec<f64> = values.clone();
            bounds.dedup();
            if bounds.len() > CODES {
                bounds = (1..=CODES).map(|n| values[values.len() * n / CODES - 1]).collect();
                bounds.dedup();
            }
            bounds
        };
        let all = columns.into_par_iter().map(|column| (bounds(&column), column));
        let (bounds, columns) = all.filter(|(bounds, _)| bounds.len() > 1).unzip();
        Self { columns, bounds }
    }

    /// The number of codes of a column.
    pub fn levels(&self, column: usize) -> usize {
        self.bounds[column].len()
    }

    /// The code of a row in a column.
    pub fn code(&self, numbers: &Numbers, column: usize, input: u32, choice: u32) -> u16 {
        let value = numbers.value(&self.columns[column], input, choice);
        let bounds = &self.bounds[column];
        bounds.partition_point(|bound| *bound < value).min(bounds.len() - 1) as u16
    }

    /// The codes of a row.
    pub fn codes(&self, numbers: &Numbers, input: u32, choice: u32) -> Vec<u16> {
        (0..self.columns.len()).map(|column| self.code(numbers, column, input, choice)).collect()
    }
}
