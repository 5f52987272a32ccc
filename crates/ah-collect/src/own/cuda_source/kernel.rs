//! The checked table `[cuda]`: the choices, and the launch of each on an input.

use std::collections::BTreeMap;
use std::path::Path;

use ah_kernels::cuda::source::{Argument, ArgumentType, BufferPlan, Fill, InputPlan, LaunchPlan, UserSource};
use ah_measure::Failure;
use ah_types::shown::did_you_mean;
use ah_types::{Context, Feature, FeatureKind, Optimization, Schema, Value};
use toml::Spanned;

use super::super::drawn::{self, Draw, ScalarText};
use super::expression::{Condition, Located, NumberExpression};
use super::format::{ArgumentTable, CudaTable, ReferenceTable};
use super::mistake::Mistake;

/// Most threads of a block on every device of today.
const MOST_THREADS: u64 = 1024;
/// More combinations of parameters than this are a mistake.
const MOST_CHOICES: usize = 10_000;
/// The scalars that a kernel can take.
const SCALARS: [ArgumentType; 6] = [
    ArgumentType::Float32,
    ArgumentType::Float64,
    ArgumentType::Int32,
    ArgumentType::UInt32,
    ArgumentType::Int64,
    ArgumentType::UInt64,
];

/// The kernel that a table `[cuda]` describes.
#[derive(Debug)]
pub(super) struct CudaKernel {
    pub(super) source: UserSource,
    pub(super) choices: Vec<CudaChoice>,
    /// In the order of the features; `None` for a feature that is not drawn.
    pub(super) draws: Vec<Option<Draw>>,
    /// Bytes that one run moves.
    pub(super) bytes: Option<NumberExpression>,
    /// Arithmetic operations of one run.
    pub(super) operations: Option<NumberExpression>,
    features: Schema,
    launch: LaunchExpressions,
    /// The constraints that depend on the input.
    constraints: Vec<Condition>,
    reference: Reference,
    buffers: Vec<BufferExpressions>,
    arguments: Vec<ArgumentExpression>,
    tolerance: Option<f64>,
}

/// One configuration of the kernel.
#[derive(Debug)]
pub(super) struct CudaChoice {
    pub(super) name: String,
    /// The parameters' values, in the order of the schema, which has them after the features.
    values: Vec<Value>,
    defines: Vec<String>,
}

#[derive(Debug)]
enum Reference {
    /// The choice of this index.
    Choice(usize),
    /// Another kernel of the source, compiled with the parameters of the first choice.
    Kernel(LaunchExpressions),
}

/// A launch as expressions over features and parameters.
#[derive(Debug)]
struct LaunchExpressions {
    kernel: String,
    grid: Vec<NumberExpression>,
    block: Vec<NumberExpression>,
    shared_memory: Option<NumberExpression>,
}

#[derive(Debug)]
struct BufferExpressions {
    name: String,
    element: ArgumentType,
    length: NumberExpression,
    fill: Fill,
    is_output: bool,
}

#[derive(Debug)]
enum ArgumentExpression {
    Buffer(usize),
    Scalar(ArgumentType, NumberExpression),
}

impl CudaKernel {
    /// Checks a table against its optimization. Paths in it are relative to `folder`.
    pub(super) fn new(
        table: &CudaTable,
        optimization: &Optimization,
        folder: &Path,
    ) -> Result<Self, Mistake> {
        let features = optimization.schema().map_err(|e| Mistake::anywhere(e.to_string()))?;
        let all = with_parameters(&features, &table.parameters)?;
        let conditions =
            table.constraints.iter().map(|c| Condition::new("cuda.constraints", c, &all, features.len()));
        let (of_input, of_parameters): (Vec<_>, Vec<_>) =
            conditions.collect::<Result<Vec<_>, _>>()?.into_iter().partition(|c| c.uses_features);
        let choices = choices(&table.parameters, &features, &of_parameters)?;
        let launch = LaunchExpressions::new(
            "cuda",
            (table.kernel.clone(), &table.grid, &table.block, table.shared_memory.as_ref()),
            &all,
        )?;
        let reference = reference(table.reference.as_ref(), optimization, &choices, &all)?;
        let (buffers, arguments) = arguments(&table.arguments, &features)?;
        let work = |key: &str, value: &Option<Located>| {
            value.as_ref().map(|value| NumberExpression::new(key, value, &features)).transpose()
        };
        let draws = drawn::check(&table.inputs, optimization)
            .map_err(|e| Mistake::anywhere(format!("cuda.inputs{e}")))?;
        Ok(Self {
            bytes: work("cuda.bytes", &table.bytes)?,
            operations: work("cuda.operations", &table.operations)?,
            source: source(table, folder)?,
            tolerance: table.tolerance,
            constraints: of_input,
            choices,
            draws,
            launch,
            reference,
            buffers,
            arguments,
            features,
        })
    }

    /// Returns the values of the features in this context.
    pub(super) fn row(&self, context: &Context) -> Result<Vec<Value>, String> {
        context.row(&self.features).map_err(|e| e.to_string())
    }

    /// Returns the launches on this input.
    ///
    /// # Errors
    /// The input cannot be made, in words.
    pub(super) fn plan(&self, context: &Context) -> Result<InputPlan, String> {
        let features = self.row(context)?;
        let buffers = self.buffers.iter().map(|buffer| {
            Ok(BufferPlan {
                name: buffer.name.clone(),
                element: buffer.element,
                length: buffer.length.whole(&features, 1, 1 << 44)?,
                fill: buffer.fill,
                is_output: buffer.is_output,
            })
        });
        let buffers = buffers.collect::<Result<_, String>>()?;
        let arguments = self.arguments.iter().map(|argument| {
            Ok(match argument {
                ArgumentExpression::Buffer(index) => Argument::Buffer(*index),
                ArgumentExpression::Scalar(ty, value) => Argument::Scalar(*ty, value.number(&features)?),
            })
        });
        let arguments = arguments.collect::<Result<_, String>>()?;
        let launches: Vec<_> = self.choices.iter().map(|choice| self.launch(&features, choice)).collect();
        let reference = match &self.reference {
            Reference::Choice(index) => launches[*index].clone().map_err(|failure| {
                format!("the reference {} cannot run here: {}", self.choices[*index].name, failure.reason())
            })?,
            Reference::Kernel(launch) => {
                let first = &self.choices[0];
                launch.plan(&[features.as_slice(), &first.values].concat(), &first.defines)?
            }
        };
        Ok(InputPlan { buffers, arguments, reference, launches, tolerance: self.tolerance })
    }

    fn launch(&self, features: &[Value], choice: &CudaChoice) -> Result<LaunchPlan, Failure> {
        let row = [features, &choice.values].concat();
        if let Some(broken) = self.constraints.iter().find(|c| !c.holds(&row)) {
            return Err(Failure::skipped(format!("not eligible: {}", broken.text)));
        }
        let plan = self.launch.plan(&row, &choice.defines).map_err(Failure::failed)?;
        let threads: u64 = plan.block.iter().map(|n| u64::from(*n)).product();
        if threads > MOST_THREADS {
            return Err(Failure::skipped(format!(
                "a block has {threads} threads, at most {MOST_THREADS} are possible"
            )));
        }
        Ok(plan)
    }
}

impl LaunchExpressions {
    fn new(
        table: &str,
        (kernel, grid, block, shared_memory): (String, &Located, &Located, Option<&Located>),
        names: &Schema,
    ) -> Result<Self, Mistake> {
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
            kernel,
            grid: sizes("grid", grid)?,
            block: sizes("block", block)?,
            shared_memory: shared_memory.map(|bytes| number("shared_memory", bytes)).transpose()?,
        })
    }

    fn plan(&self, row: &[Value], defines: &[String]) -> Result<LaunchPlan, String> {
        let sizes = |expressions: &[NumberExpression]| {
            let mut sizes = [1; 3];
            for (size, expression) in sizes.iter_mut().zip(expressions) {
                *size = small(expression.whole(row, 1, u64::from(u32::MAX >> 1))?);
            }
            Ok::<_, String>(sizes)
        };
        let shared_memory =
            self.shared_memory.as_ref().map_or(Ok(0), |bytes| bytes.whole(row, 0, 1 << 30))?;
        Ok(LaunchPlan {
            kernel: self.kernel.clone(),
            defines: defines.to_vec(),
            grid: sizes(&self.grid)?,
            block: sizes(&self.block)?,
            shared_memory: small(shared_memory),
        })
    }
}

/// Returns a number that was checked to be at most 2³¹.
fn small(x: u64) -> u32 {
    u32::try_from(x).unwrap_or(u32::MAX)
}

/// Returns the features, followed by the parameters.
fn with_parameters(
    features: &Schema,
    parameters: &BTreeMap<String, Spanned<Vec<ScalarText>>>,
) -> Result<Schema, Mistake> {
    let mut all = features.clone();
    for (name, values) in parameters {
        let wrong =
            |message: String| Mistake::at(values.span(), format!("cuda.parameters.{name}: {message}"));
        let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !starts_well || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(wrong("expected the name of a macro: letters, digits and _".to_owned()));
        }
        let kind = match values.get_ref().as_slice() {
            [] => return Err(wrong("expected at least one value".to_owned())),
            [first, rest @ ..] => {
                let kind = parameter(first).kind();
                if let Some(other) = rest.iter().find(|value| parameter(value).kind() != kind) {
                    return Err(wrong(format!("expected numbers alone or texts alone, found {other:?}")));
                }
                kind
            }
        };
        let feature = match kind {
            FeatureKind::Numerical => Feature::numerical(name),
            FeatureKind::Categorical => Feature::categorical(name),
        };
        all.push(feature).map_err(|_| wrong("a feature has this name too; rename one".to_owned()))?;
    }
    Ok(all)
}

/// Returns the value of a parameter in expressions; truth values are 1 and 0, as the preprocessor needs
/// them.
fn parameter(value: &ScalarText) -> Value {
    match value {
        ScalarText::Bool(b) => Value::from(f64::from(u8::from(*b))),
        other => other.value(),
    }
}

/// Returns every combination of the parameters that these conditions allow.
fn choices(
    parameters: &BTreeMap<String, Spanned<Vec<ScalarText>>>,
    features: &Schema,
    conditions: &[Condition],
) -> Result<Vec<CudaChoice>, Mistake> {
    let mut combinations: Vec<Vec<(&str, Value)>> = vec![Vec::new()];
    for (name, values) in parameters {
        combinations = combinations
            .iter()
            .flat_map(|combination| {
                let longer = |value| [combination.as_slice(), &[(name.as_str(), parameter(value))]].concat();
                values.get_ref().iter().map(longer).collect::<Vec<_>>()
            })
            .collect();
        if combinations.len() > MOST_CHOICES {
            return Err(Mistake::at(
                values.span(),
                format!("cuda.parameters: more than {MOST_CHOICES} combinations; list fewer values"),
            ));
        }
    }
    let mut choices: Vec<CudaChoice> = Vec::new();
    let unknown = vec![Value::from(f64::NAN); features.len()];
    for combination in combinations {
        let values: Vec<Value> = combination.iter().map(|(_, value)| value.clone()).collect();
        let row = [unknown.as_slice(), &values].concat();
        if !conditions.iter().all(|condition| condition.holds(&row)) {
            continue;
        }
        // A value in a choice's name ends at the first underscore.
        let plain = |value: &Value| value.to_string().replace(['_', '='], "-");
        let parts: Vec<String> =
            combination.iter().map(|(name, value)| format!("{name}={}", plain(value))).collect();
        let name = parts.join("_");
        if choices.iter().any(|choice| choice.name == name) {
            return Err(Mistake::anywhere(format!("cuda.parameters: the choice {name:?} is there twice")));
        }
        let defines = combination.iter().map(|(name, value)| format!("{name}={value}")).collect();
        choices.push(CudaChoice { name, values, defines });
    }
    if choices.len() < 2 {
        return Err(Mistake::anywhere(format!(
            "cuda.parameters: the constraints leave {} choices, at least two are needed",
            choices.len()
        )));
    }
    Ok(choices)
}

fn reference(
    value: Option<&Located>,
    optimization: &Optimization,
    choices: &[CudaChoice],
    names: &Schema,
) -> Result<Reference, Mistake> {
    let position = |name: &str| choices.iter().position(|choice| choice.name == name);
    let Some(value) = value else {
        return Ok(Reference::Choice(
            optimization.fallback.iter().find_map(|name| position(name)).unwrap_or(0),
        ));
    };
    let wrong = |message: String| Mistake::at(value.span(), format!("cuda.reference: {message}"));
    match value.get_ref() {
        toml::Value::String(name) => position(name).map(Reference::Choice).ok_or_else(|| {
            let proposal = did_you_mean(name, choices.iter().map(|choice| &choice.name));
            wrong(format!("{name:?} is none of the {} choices{proposal}", choices.len()))
        }),
        table => {
            let table: ReferenceTable =
                table.clone().try_into().map_err(|e: toml::de::Error| wrong(e.message().to_owned()))?;
            let here = |inner: toml::Value| Spanned::new(value.span(), inner);
            let shared_memory = table.shared_memory.map(here);
            let launch = (table.kernel, &here(table.grid), &here(table.block), shared_memory.as_ref());
            LaunchExpressions::new("cuda.reference", launch, names).map(Reference::Kernel)
        }
    }
}

fn arguments(
    tables: &[ArgumentTable],
    features: &Schema,
) -> Result<(Vec<BufferExpressions>, Vec<ArgumentExpression>), Mistake> {
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
                if !SCALARS.contains(&element) {
                    let names: Vec<_> = SCALARS.iter().map(|ty| ty.name()).collect();
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
    Ok((buffers, arguments))
}

fn element(name: &Spanned<String>, key: &str) -> Result<ArgumentType, Mistake> {
    let found = ArgumentType::ALL.into_iter().find(|ty| ty.name() == name.get_ref());
    found.ok_or_else(|| {
        let names = ArgumentType::ALL.map(ArgumentType::name);
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
        #[allow(clippy::cast_precision_loss)]
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

fn source(table: &CudaTable, folder: &Path) -> Result<UserSource, Mistake> {
    let path = folder.join(table.source.get_ref());
    let text = std::fs::read_to_string(&path).map_err(|e| {
        Mistake::at(table.source.span(), format!("cuda.source: cannot read {}: {e}", path.display()))
    })?;
    if !text.contains(table.kernel.as_str()) {
        return Err(Mistake::at(
            table.source.span(),
            format!("cuda.kernel: {} does not mention {:?}", path.display(), table.kernel),
        ));
    }
    // Headers beside the source, as a compiler finds them.
    let own = path.parent().map(Path::to_owned);
    let include = own.into_iter().chain(table.include.iter().map(|inner| folder.join(inner))).collect();
    let file = path
        .file_name()
        .map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    Ok(UserSource { file, text, include, options: table.options.clone() })
}
