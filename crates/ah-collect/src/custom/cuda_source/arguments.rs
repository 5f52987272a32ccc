//! The arguments of a kernel: buffers and scalars, as expressions over features.

use ah_kernels::cuda::source::{Argument, BufferPlan, Element, Fill, NamedFill};
use ah_model::shown::did_you_mean;
use ah_model::{Schema, Value};
use toml::Spanned;

use super::expression::NumberExpression;
use super::format::ArgumentTable;
use super::mistake::Mistake;

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
    pub(super) fn new(tables: &[ArgumentTable], features: &Schema) -> Result<Self, Mistake> {
        let (mut buffers, mut arguments) = (Vec::new(), Vec::new());
        for table in tables {
            let name = table.name.get_ref();
            let key = |part: &str| format!("cuda.argument {name:?}: {part}");
            let wrong = |message: &str| Mistake::at(table.name.span(), key(message));
            let element = element(&table.element, &key("type"))?;
            match (&table.length, &table.value) {
                (Some(length), None) => {
                    arguments.push((Argument::Buffer(buffers.len()), None));
                    let by_default = if table.output { NamedFill::Nothing } else { NamedFill::Normal };
                    let fill = table.fill.unwrap_or(Fill::Named(by_default));
                    if matches!(fill, Fill::Uniform { from, to } if from > to || from.is_nan() || to.is_nan())
                    {
                        return Err(wrong("fill: expected from to be at most to"));
                    }
                    let (name, is_output) = (name.clone(), table.output);
                    let length = NumberExpression::new(&key("length"), length, features)?;
                    buffers.push((BufferPlan { name, element, length: 0, fill, is_output }, length));
                }
                (None, Some(value)) if table.fill.is_none() && !table.output => {
                    if !Element::SCALARS.contains(&element) {
                        let names: Vec<_> = Element::SCALARS.iter().map(|ty| ty.name()).collect();
                        let message = format!("{}: a scalar is one of {}", key("type"), names.join(", "));
                        return Err(Mistake::at(table.element.span(), message));
                    }
                    let value = NumberExpression::new(&key("value"), value, features)?;
                    arguments.push((Argument::Scalar(element, 0.0), Some(value)));
                }
                (None, Some(_)) => return Err(wrong("a scalar has no fill and is no output")),
                _ => return Err(wrong("expected either length (a buffer) or value (a scalar)")),
            }
        }
        if !buffers.iter().any(|(buffer, _)| buffer.is_output) {
            return Err(Mistake::anywhere(
                "cuda.argument: no buffer is an output, so a wrong result would not be noticed; add output = true",
            ));
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
