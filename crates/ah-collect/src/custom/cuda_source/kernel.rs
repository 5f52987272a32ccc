//! The checked table `[cuda]`: the choices, and the launch of each on an input.

use std::path::Path;

use ah_kernels::ServeFn;
use ah_kernels::cuda::source::{InputPlan, LaunchPlan, UserKernel, UserSource};
use ah_measure::Failure;
use ah_measure::draws::{self, Inputs};
use ah_model::artefact::read_text;
use ah_model::shown::did_you_mean;
use ah_model::{Context, Precondition, Schema, Value};
use ah_types::Optimization;
use toml::Spanned;

use super::arguments::Arguments;
use super::expression::{Located, condition};
use super::format::{CudaTable, ReferenceTable};
use super::launch::{LaunchExpressions, WrittenLaunch};
use super::mistake::Mistake;
use super::parameters::{self, CudaChoice};
use crate::eligibility::refusal;

/// Most threads of a block on every device of today.
const MOST_THREADS: u64 = 1024;

/// The kernel that a table `[cuda]` describes.
#[derive(Debug)]
pub(crate) struct CudaKernel {
    source: UserSource,
    choices: Vec<CudaChoice>,
    inputs: Inputs,
    features: Schema,
    launch: LaunchExpressions,
    /// The constraints that depend on the input.
    constraints: Vec<Precondition>,
    reference: Reference,
    arguments: Arguments,
    tolerance: Option<f64>,
}

#[derive(Debug)]
enum Reference {
    /// The choice of this index.
    Choice(usize),
    /// Another kernel of the source, compiled with the parameters of the first choice.
    Kernel(LaunchExpressions),
}

impl CudaKernel {
    /// Checks a table against its optimization. Paths in it are relative to `folder`.
    pub(in crate::custom) fn new(
        table: &CudaTable,
        optimization: &Optimization,
        folder: &Path,
    ) -> Result<Self, Mistake> {
        let features = optimization.schema().map_err(|e| Mistake::anywhere(e.to_string()))?;
        let all = parameters::extend(&features, &table.parameters)?;
        let conditions = table.constraints.iter().map(|c| condition("cuda.constraints", c, &all));
        let conditions = conditions.collect::<Result<Vec<_>, _>>()?.into_iter();
        let (of_input, of_parameters): (Vec<_>, Vec<_>) = conditions.partition(|condition: &Precondition| {
            let mut uses = false;
            condition.typed.for_each_feature(&mut |slot| uses |= slot.index < features.len());
            uses
        });
        let choices = parameters::choices(&table.parameters, &features, &of_parameters)?;
        let written = WrittenLaunch {
            kernel: &table.kernel,
            grid: &table.grid,
            block: &table.block,
            shared_memory: table.shared_memory.as_ref(),
        };
        let launch = LaunchExpressions::new("cuda", &written, &all)?;
        let reference = reference(table.reference.as_ref(), optimization, &choices, &all)?;
        let arguments = Arguments::new(&table.arguments, &features)?;
        draws::check(&table.inputs, optimization)
            .map_err(|e| Mistake::anywhere(format!("cuda.inputs{e}")))?;
        Ok(Self {
            source: source(table, folder)?,
            tolerance: table.tolerance,
            constraints: of_input,
            choices,
            inputs: table.inputs.clone(),
            launch,
            reference,
            arguments,
            features,
        })
    }

    /// The names of the choices.
    pub(in crate::custom) fn names(&self) -> Vec<String> {
        self.choices.iter().map(|choice| choice.name.clone()).collect()
    }

    /// The worker of this kernel on the GPU of this index.
    pub(crate) fn serve_fn(self, optimization: Optimization, device: u32) -> ServeFn {
        let kernel = UserKernel {
            source: self.source.clone(),
            optimization,
            choices: self.names(),
            defines: self.choices.iter().map(|choice| choice.defines.clone()).collect(),
            inputs: self.inputs.clone(),
            plan: Box::new(move |context| self.plan(context)),
        };
        kernel.serve_fn(device)
    }

    /// The launches on this input.
    pub(super) fn plan(&self, context: &Context) -> Result<InputPlan, String> {
        let features = context.row(&self.features)?;
        let (buffers, arguments) = self.arguments.plan(&features)?;
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
        if let Some(refused) = self.constraints.iter().find_map(|c| refusal(c, &row)) {
            return Err(refused);
        }
        let plan = self.launch.plan(&row, &choice.defines).map_err(Failure::failed)?;
        let threads: u64 = plan.grid.threads.iter().map(|n| u64::from(*n)).product();
        if threads > MOST_THREADS {
            return Err(Failure::skipped(format!(
                "a block has {threads} threads, at most {MOST_THREADS} are possible"
            )));
        }
        Ok(plan)
    }
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
            let written = WrittenLaunch {
                kernel: &table.kernel,
                grid: &here(table.grid),
                block: &here(table.block),
                shared_memory: shared_memory.as_ref(),
            };
            LaunchExpressions::new("cuda.reference", &written, names).map(Reference::Kernel)
        }
    }
}

/// The largest source that is read.
const MAX_MIB: u64 = 64;

fn source(table: &CudaTable, folder: &Path) -> Result<UserSource, Mistake> {
    let path = folder.join(table.source.get_ref());
    let text = read_text(&path, MAX_MIB).map_err(|e| {
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
    let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(UserSource { file, text, include, options: table.options.clone() })
}
