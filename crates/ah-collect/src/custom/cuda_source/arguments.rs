//! The arguments of a kernel: buffers and scalars, as expressions over features.

use ah_kernels::cuda::source::{Argument, BufferPlan, Element, Fill};
use ah_types::shown::did_you_mean;
use ah_types::{Schema, Value};
use toml::Spanned;

use super::expression::NumberExpression;
use super::format::ArgumentTable;
use super::mistake::Mistake;

/// The arguments in the order of the kernel's signature, and the buffers among them.
#[derive(Debug)]
pub(super) struct Arguments {
    buffers: Vec<BufferExpressions>,
    arguments: Vec<ArgumentExpression>,
}

#[derive(Debug)]
struct BufferExpressions {
    name: String,
    element: Element,
    length: NumberExpression,
    fill: Fill,
    is_output: bool,
}

#[derive(Debug)]
enum ArgumentExpression {
    Buffer(usize),
    Scalar(Element, NumberExpression),
}

impl Arguments {
    /// Checks the tables `[[cuda.argument]]`.
    pub(super) fn new(tables: &[ArgumentTable], features: &Schema) -> Result<Self, Mistake> {
        let (mut buffers, mut arguments) = (Vec::new(), Vec::new());
        for table in tables {
            let name = table.name.get_ref();
            let key = |part: &str| format!("cuda.argument {name:?}: {part}");
            let wrong = |message: &str| Mistake::at(table.name.span(), key(message));
            let element = element(&table.element, &key("type"))?;
            match (&table.length, &table.value) {
                (Some(length), None) => {
                    arguments.push(ArgumentExpression::Buffer(buffers.len()));
                    buffers.push(BufferExpressions {
                        name: name.clone(),
                        element,
                        length: NumberExpression::new(&key("length"), length, features)?,
                        fill: fill(table, &key("fill"))?,
                        is_output: table.output,
                    });
                }
                (None, Some(value)) if table.fill.is_none() && !table.output => {
                    if !Element::SCALARS.contains(&element) {
                        let names: Vec<_> = Element::SCALARS.iter().map(|ty| ty.name()).collect();
                        let message = format!("{}: a scalar is one of {}", key("type"), names.join(", "));
                        return Err(Mistake::at(table.element.span(), message));
                    }
                    let value = NumberExpression::new(&key("value"), value, features)?;
                    arguments.push(ArgumentExpression::Scalar(element, value));
                }
                (None, Some(_)) => return Err(wrong("a scalar has no fill and is no output")),
                _ => return Err(wrong("expected either length (a buffer) or value (a scalar)")),
            }
        }
        if !buffers.iter().any(|buffer| buffer.is_output) {
            return Err(Mistake::anywhere(
                "cuda.argument: no buffer is an output, so a wrong result would not be noticed; add output = true",
            ));
        }
        Ok(Self { buffers, arguments })
    }

    /// Returns the buffers and the arguments on an input with these features.
    pub(super) fn plan(&self, features: &[Value]) -> Result<(Vec<BufferPlan>, Vec<Argument>), String> {
        let buffers = self.buffers.iter().map(|buffer| {
            Ok(BufferPlan {
                name: buffer.name.clone(),
                element: buffer.element,
                length: buffer.length.whole(features, 1, 1 << 44)?,
                fill: buffer.fill,
                is_output: buffer.is_output,
            })
        });
        let arguments = self.arguments.iter().map(|argument| {
            Ok(match argument {
                ArgumentExpression::Buffer(index) => Argument::Buffer(*index),
                ArgumentExpression::Scalar(ty, value) => Argument::Scalar(*ty, value.number(features)?),
            })
        });
        Ok((buffers.collect::<Result<_, String>>()?, arguments.collect::<Result<_, String>>()?))
    }
}

fn element(name: &Spanned<String>, key: &str) -> Result<Element, Mistake> {
    let found = Element::ALL.into_iter().find(|ty| ty.name() == name.get_ref());
    found.ok_or_else(|| {
        let names = Element::ALL.map(Element::name);
        let proposal = did_you_mean(name.get_ref(), names);
        let message =
            format!("{key}: unknown type {:?}; types are {}{proposal}", name.get_ref(), names.join(", "));
        Mistake::at(name.span(), message)
    })
}

fn fill(table: &ArgumentTable, key: &str) -> Result<Fill, Mistake> {
    let Some(value) = &table.fill else {
        return Ok(if table.output { Fill::Nothing } else { Fill::Normal });
    };
    let number = |value: &toml::Value| match value {
        toml::Value::Integer(x) => Some(*x as f64),
        toml::Value::Float(x) => Some(*x),
        _ => None,
    };
    let uniform = |range: &toml::Table| {
        let [from, to] = ["from", "to"].map(|name| range.get(name).and_then(number));
        (range.len() == 2).then_some(())?;
        Some(Fill::Uniform(from?, to?)).filter(|_| from <= to)
    };
    let found = match value.get_ref() {
        toml::Value::String(name) => match name.as_str() {
            "nothing" => Some(Fill::Nothing),
            "index" => Some(Fill::Index),
            "normal" => Some(Fill::Normal),
            _ => None,
        },
        toml::Value::Table(range) => uniform(range),
        other => number(other).map(Fill::Constant),
    };
    found.ok_or_else(|| {
        let expected = "expected \"normal\", \"index\", \"nothing\", a number or { from = 0, to = 9 }";
        let found = value.get_ref();
        let found = found.as_str().map_or_else(|| found.type_str().to_owned(), |text| format!("{text:?}"));
        Mistake::at(value.span(), format!("{key}: {expected}, found {found}"))
    })
}
