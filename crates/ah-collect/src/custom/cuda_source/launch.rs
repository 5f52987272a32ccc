//! The launch of a kernel, as expressions over features and parameters: its sizes, and its arguments, which are buffers and scalars.

use ah_kernels::cuda::source::{Argument, BufferPlan, Element, Fill, Grid, LaunchPlan, NamedFill};
use ah_model::shown::did_you_mean;
use ah_model::{Schema, Value};
use serde_json::{Value as Json, json};

use super::expression::NumberExpression;
use super::format::{ArgumentTable, LaunchTable};

/// A launch as expressions over features and parameters.
#[derive(Debug)]
pub(super) struct LaunchExpressions {
    kernel: String,
    grid: Vec<NumberExpression>,
    block: Vec<NumberExpression>,
    shared_memory: NumberExpression,
}

impl LaunchExpressions {
    pub(super) fn new(table: &str, written: &LaunchTable, names: &Schema) -> Result<Self, String> {
        let number = |key: &str, value: &Json| NumberExpression::new(&format!("{table}.{key}"), value, names);
        let sizes = |key: &str, value: &Json| {
            let Json::Array(values) = value else { return Ok(vec![number(key, value)?]) };
            if !(1..=3).contains(&values.len()) {
                return Err(format!("{table}.{key}: expected one to three sizes, found {}", values.len()));
            }
            values.iter().map(|size| number(key, size)).collect()
        };
        let bytes = written.shared_memory.clone().unwrap_or_else(|| json!(0));
        Ok(Self {
            kernel: written.kernel.clone(),
            grid: sizes("grid", &written.grid)?,
            block: sizes("block", &written.block)?,
            shared_memory: number("shared_memory", &bytes)?,
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
        let shared_memory = small(self.shared_memory.whole(row, 0, 1 << 30)?);
        let grid = Grid { blocks: sizes(&self.grid)?, threads: sizes(&self.block)?, shared_memory };
        Ok(LaunchPlan { kernel: self.kernel.clone(), defines: defines.to_vec(), grid })
    }
}

/// A number that was checked to be at most 2³¹.
fn small(x: u64) -> u32 {
    u32::try_from(x).unwrap_or(u32::MAX)
}

/// The arguments in the order of the kernel's signature, and the buffers among them.
#[derive(Debug)]
pub(super) struct Arguments {
    /// Each with its length.
    buffers: Vec<(BufferPlan, NumberExpression)>,
    /// Each with its value, if it is a scalar.
    arguments: Vec<(Argument, Option<NumberExpression>)>,
}

impl Arguments {
    /// Checks the tables `[[cuda.argument]]`.
    pub(super) fn new(tables: &[ArgumentTable], features: &Schema) -> Result<Self, String> {
        let mut buffers = Vec::new();
        let mut arguments = Vec::new();
        for table in tables {
            let name = &table.name;
            let key = |part: &str| format!("cuda.argument {name:?}: {part}");
            let element = element(&table.element, &key("type"))?;
            match (&table.length, &table.value) {
                (Some(length), None) => {
                    arguments.push((Argument::Buffer(buffers.len()), None));
                    let by_default = if table.output { NamedFill::Nothing } else { NamedFill::Normal };
                    let fill = table.fill.unwrap_or(Fill::Named(by_default));
                    if matches!(fill, Fill::Uniform { from, to } if from > to || from.is_nan() || to.is_nan())
                    {
                        return Err(key("fill: expected from to be at most to"));
                    }
                    let length = NumberExpression::new(&key("length"), length, features)?;
                    let is_output = table.output;
                    let plan = BufferPlan { name: name.clone(), element, length: 0, fill, is_output };
                    buffers.push((plan, length));
                }
                (None, Some(value)) if table.fill.is_none() && !table.output => {
                    if !Element::SCALARS.contains(&element) {
                        let names: Vec<_> = Element::SCALARS.iter().map(|ty| ty.name()).collect();
                        return Err(format!("{}: a scalar is one of {}", key("type"), names.join(", ")));
                    }
                    let value = NumberExpression::new(&key("value"), value, features)?;
                    arguments.push((Argument::Scalar(element, 0.0), Some(value)));
                }
                (None, Some(_)) => return Err(key("a scalar has no fill and is no output")),
                _ => return Err(key("expected either length (a buffer) or value (a scalar)")),
            }
        }
        if !buffers.iter().any(|(buffer, _)| buffer.is_output) {
            let message = "cuda.argument: no buffer is an output, so a wrong result would not be noticed; add output = true";
            return Err(message.to_owned());
        }
        Ok(Self { buffers, arguments })
    }

    /// The buffers and the arguments on an input with these features.
    pub(super) fn plan(&self, features: &[Value]) -> Result<(Vec<BufferPlan>, Vec<Argument>), String> {
        let buffers = self.buffers.iter().map(|(buffer, length)| {
            Ok(BufferPlan { length: length.whole(features, 1, 1 << 44)?, ..buffer.clone() })
        });
        let arguments = self.arguments.iter().map(|(argument, value)| {
            Ok(match (argument, value) {
                (Argument::Scalar(ty, _), Some(value)) => Argument::Scalar(*ty, value.number(features)?),
                (other, _) => *other,
            })
        });
        Ok((buffers.collect::<Result<_, String>>()?, arguments.collect::<Result<_, String>>()?))
    }
}

fn element(name: &str, key: &str) -> Result<Element, String> {
    let found = Element::ALL.into_iter().find(|ty| ty.name() == name);
    found.ok_or_else(|| {
        let names = Element::ALL.map(Element::name);
        let proposal = did_you_mean(name, names);
        format!("{key}: unknown type {name:?}; types are {}{proposal}", names.join(", "))
    })
}
