//! The columns of the joint model: numbers of an input, of a choice, and of both.

use crate::fields::Field;

/// A column of the joint model; a row is an input and a choice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Column {
    /// The product of some numbers of the input.
    Input(Vec<usize>),
    /// A field of the choice.
    Field(usize),
    /// The rank of the choice by its mean log time.
    Identity,
    /// The number of tiles: the product of `ceil(input's number / choice's field)`.
    Tiles(Vec<Tiling>),
    /// The share of the last tile that is used: `x / (size * ceil(x / size))`.
    Fill(Tiling),
}

/// A field of the choice that cuts a number of the input into tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tiling {
    /// The position of the input's number.
    pub input: usize,
    /// The position of the choice's field.
    pub field: usize,
}

/// The numbers of inputs and choices.
#[derive(Debug)]
pub struct Numbers {
    /// By feature, then by input.
    pub inputs: Vec<Vec<f64>>,
    /// The fields of the choices.
    pub fields: Vec<Field>,
    /// The rank of each choice by its mean log time.
    pub ranks: Vec<f64>,
}

impl Numbers {
    /// Returns the value of a column; NaN if it has none.
    pub fn value(&self, column: &Column, input: usize, choice: usize) -> f64 {
        let tiles = |tiling: &Tiling| (self.inputs[tiling.input][input] / self.size(tiling, choice)).ceil();
        match column {
            Column::Input(factors) => factors.iter().map(|&at| self.inputs[at][input]).product(),
            Column::Field(at) => self.fields[*at].values[choice],
            Column::Identity => self.ranks[choice],
            Column::Tiles(tilings) => tilings.iter().map(tiles).product(),
            Column::Fill(tiling) => {
                self.inputs[tiling.input][input] / (self.size(tiling, choice) * tiles(tiling)).max(1.0)
            }
        }
    }

    fn size(&self, tiling: &Tiling, choice: usize) -> f64 {
        self.fields[tiling.field].values[choice]
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
    /// Returns codes that divide the values of these rows evenly. Columns with one value are left out.
    pub fn new(columns: Vec<Column>, numbers: &Numbers, rows: &[(u32, u32)]) -> Self {
        let bounds = |column: &Column| -> Vec<f64> {
            let value = |&(input, choice): &(u32, u32)| {
                finite(numbers.value(column, input as usize, choice as usize))
            };
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
        let all = columns.into_iter().map(|column| (bounds(&column), column));
        let (bounds, columns) = all.filter(|(bounds, _)| bounds.len() > 1).unzip();
        Self { columns, bounds }
    }

    /// Returns the number of columns.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// Returns the number of codes of a column.
    pub fn levels(&self, column: usize) -> usize {
        self.bounds[column].len()
    }

    /// Returns the code of a row in a column.
    pub fn code(&self, numbers: &Numbers, column: usize, input: u32, choice: u32) -> u16 {
        let value = finite(numbers.value(&self.columns[column], input as usize, choice as usize));
        let bounds = &self.bounds[column];
        bounds.partition_point(|bound| *bound < value).min(bounds.len() - 1) as u16
    }

    /// Returns the codes of a row.
    pub fn codes(&self, numbers: &Numbers, input: u32, choice: u32) -> Vec<u16> {
        (0..self.width()).map(|column| self.code(numbers, column, input, choice)).collect()
    }
}

/// Returns the value with NaN before all others.
fn finite(value: f64) -> f64 {
    if value.is_nan() { f64::NEG_INFINITY } else { value + 0.0 }
}
