//! The launch of a kernel as expressions over features and parameters.

use ah_kernels::cuda::source::{Grid, LaunchPlan};
use ah_model::{Schema, Value};
use toml::Spanned;

use super::expression::{Located, NumberExpression};
use super::mistake::Mistake;

/// A launch as written.
pub(super) struct WrittenLaunch<'a> {
    pub kernel: &'a str,
    pub grid: &'a Located,
    pub block: &'a Located,
    pub shared_memory: Option<&'a Located>,
}

/// A launch as expressions over features and parameters.
#[derive(Debug)]
pub(super) struct LaunchExpressions {
    kernel: String,
    grid: Vec<NumberExpression>,
    block: Vec<NumberExpression>,
    shared_memory: Option<NumberExpression>,
}

impl LaunchExpressions {
    pub(super) fn new(table: &str, written: &WrittenLaunch<'_>, names: &Schema) -> Result<Self, Mistake> {
        let number =
            |key: &str, value: &Located| NumberExpression::new(&format!("{table}.{key}"), value, names);
        let sizes = |key: &str, value: &Located| {
            let toml::Value::Array(values) = value.get_ref() else { return Ok(vec![number(key, value)?]) };
            if !(1..=3).contains(&values.len()) {
                let message = format!("{table}.{key}: expected one to three sizes, found {}", values.len());
                return Err(Mistake::at(value.span(), message));
            }
            values.iter().map(|size| number(key, &Spanned::new(value.span(), size.clone()))).collect()
        };
        Ok(Self {
            kernel: written.kernel.to_owned(),
            grid: sizes("grid", written.grid)?,
            block: sizes("block", written.block)?,
            shared_memory: written.shared_memory.map(|bytes| number("shared_memory", bytes)).transpose()?,
        })
    }

    pub(super) fn plan(&self, row: &[Value], defines: &[String]) -> Result<LaunchPlan, String> {
        let sizes = |expressions: &[NumberExpression]| {
            let mut sizes = [1; 3];
            for (size, expression) in sizes.iter_mut().zip(expressions) {
                *size = small(expression.whole(row, 1, u64::from(u32::MAX >> 1))?);
            }
            Ok::<_, String>(sizes)
        };
        let shared_memory =
            self.shared_memory.as_ref().map_or(Ok(0), |bytes| bytes.whole(row, 0, 1 << 30))?;
        let (blocks, threads) = (sizes(&self.grid)?, sizes(&self.block)?);
        let grid = Grid { blocks, threads, shared_memory: small(shared_memory) };
        Ok(LaunchPlan { kernel: self.kernel.clone(), defines: defines.to_vec(), grid })
    }
}

/// A number that was checked to be at most 2³¹.
fn small(x: u64) -> u32 {
    u32::try_from(x).unwrap_or(u32::MAX)
}
