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
use serde_json::Value as Json;

use super::format::{CudaTable, LaunchTable};
use super::launch::{Arguments, LaunchExpressions};
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
    ) -> Result<Self, String> {
        let features = optimization.schema().map_err(|e| e.to_string())?;
        let all = parameters::extend(&features, &table.parameters)?;
        let condition = |text: &String| {
            Precondition::new(text, &all).map_err(|e| format!("cuda.constraints: {text:?}: {e}"))
        };
        let conditions = table.constraints.iter().map(condition).collect::<Result<Vec<_>, _>>()?.into_iter();
        let (of_input, of_parameters): (Vec<_>, Vec<_>) = conditions.partition(|condition: &Precondition| {
            let mut uses = false;
            condition.typed.for_each_feature(&mut |slot| uses |= slot.index < features.len());
            uses
        });
        let choices = parameters::choices(&table.parameters, &features, &of_parameters)?;
        let written = LaunchTable {
            kernel: table.kernel.clone(),
            grid: table.grid.clone(),
            block: table.block.clone(),
            shared_memory: table.shared_memory.clone(),
        };
        let launch = LaunchExpressions::new("cuda", &written, &all)?;
        let reference = reference(table.reference.as_ref(), optimization, &choices, &all)?;
        let arguments = Arguments::new(&table.arguments, &features)?;
        draws::check(&table.inputs, optimization).map_err(|e| format!("cuda.inputs{e}"))?;
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
    value: Option<&Json>,
    optimization: &Optimization,
    choices: &[CudaChoice],
    names: &Schema,
) -> Result<Reference, String> {
    let position = |name: &str| choices.iter().position(|choice| choice.name == name);
    let wrong = |message: String| format!("cuda.reference: {message}");
    match value {
        None => {
            let fallback = optimization.fallback.iter().find_map(|name| position(name));
            Ok(Reference::Choice(fallback.unwrap_or(0)))
        }
        Some(Json::String(name)) => position(name).map(Reference::Choice).ok_or_else(|| {
            let proposal = did_you_mean(name, choices.iter().map(|choice| &choice.name));
            wrong(format!("{name:?} is none of the {} choices{proposal}", choices.len()))
        }),
        Some(table) => {
            let written: LaunchTable =
                serde_json::from_value(table.clone()).map_err(|e| wrong(e.to_string()))?;
            LaunchExpressions::new("cuda.reference", &written, names).map(Reference::Kernel)
        }
    }
}

/// The largest source that is read.
const MAX_MIB: u64 = 64;

fn source(table: &CudaTable, folder: &Path) -> Result<UserSource, String> {
    let path = folder.join(&table.source);
    let text =
        read_text(&path, MAX_MIB).map_err(|e| format!("cuda.source: cannot read {}: {e}", path.display()))?;
    if !text.contains(table.kernel.as_str()) {
        return Err(format!("cuda.kernel: {} does not mention {:?}", path.display(), table.kernel));
    }
    // Headers beside the source, as a compiler finds them.
    let own = path.parent().map(Path::to_owned);
    let include = own.into_iter().chain(table.include.iter().map(|inner| folder.join(inner))).collect();
    let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(UserSource { file, text, include, options: table.options.clone() })
}

/// The launches on an input, without a GPU.
#[cfg(test)]
mod tests {
    use std::path::Path;

    use ah_kernels::cuda::source::{Argument, Element, Fill, Grid, LaunchPlan, NamedFill};
    use ah_measure::Failure;
    use ah_model::Context;

    use super::CudaKernel;
    use crate::custom::file::{CustomChoices, OptimizationFile};

    fn example() -> CudaKernel {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/cuda/rms_norm.toml");
        match OptimizationFile::read(&path).unwrap().choices {
            Some(CustomChoices::Cuda(kernel)) => *kernel,
            other => panic!("{other:?}"),
        }
    }

    fn plan_of(source: &CudaKernel, choice: &str, rows: u64, columns: u64) -> Result<LaunchPlan, Failure> {
        let context = Context::new().with("rows", rows).with("columns", columns);
        let index = source.names().iter().position(|name| name == choice).unwrap();
        source.plan(&context).unwrap().launches[index].clone()
    }

    #[test]
    fn sizes_follow_features_and_parameters() {
        let source = example();
        let plan = plan_of(&source, "CACHE=1_ROWS=4_THREADS=128_VECTOR=4", 1001, 512).unwrap();
        assert_eq!(plan.kernel, "rms_norm");
        assert_eq!(plan.defines, ["CACHE=1", "ROWS=4", "THREADS=128", "VECTOR=4"]);
        let Grid { blocks, threads, shared_memory } = plan.grid;
        assert_eq!((blocks, threads, shared_memory), ([251, 1, 1], [128, 4, 1], 4 * 512 * 4));
    }

    #[test]
    fn a_constraint_that_names_features_is_asked_on_each_input() {
        let source = example();
        let refused = |choice, columns| plan_of(&source, choice, 8, columns).unwrap_err();
        let odd = refused("CACHE=0_ROWS=1_THREADS=128_VECTOR=4", 511);
        assert_eq!(odd, Failure::skipped("not eligible: columns % VECTOR == 0"));
        let long = refused("CACHE=1_ROWS=4_THREADS=128_VECTOR=4", 16384);
        assert_eq!(long, Failure::skipped("not eligible: CACHE * ROWS * columns * 4 <= 200 * 1024"));
        assert!(plan_of(&source, "CACHE=1_ROWS=1_THREADS=128_VECTOR=4", 8, 16384).is_ok());
    }

    #[test]
    fn buffers_scalars_and_the_reference() {
        let context = Context::new().with("rows", 3_u64).with("columns", 50_u64);
        let plan = example().plan(&context).unwrap();
        let shown: Vec<_> =
            plan.buffers.iter().map(|b| (b.name.as_str(), b.length, b.fill, b.is_output)).collect();
        assert_eq!(
            shown,
            [
                ("x", 150, Fill::Named(NamedFill::Normal), false),
                ("weight", 50, Fill::Uniform { from: 0.5, to: 1.5 }, false),
                ("y", 150, Fill::Named(NamedFill::Nothing), true)
            ]
        );
        assert_eq!(plan.arguments[2..4], [Argument::Buffer(2), Argument::Scalar(Element::I32, 3.0)]);
        assert_eq!(plan.reference.kernel, "rms_norm_in_float64");
        assert_eq!((plan.reference.grid.blocks, plan.reference.grid.threads), ([3, 1, 1], [256, 1, 1]));
    }

    #[test]
    fn an_input_that_makes_no_sense_is_refused_in_words() {
        let source = example();
        let refused = |context: Context| source.plan(&context).unwrap_err();
        let half = refused(Context::new().with("rows", 1.5).with("columns", 3_u64));
        assert!(half.contains("cuda.argument \"x\": length is 4.5, expected a whole number"), "{half}");
        assert!(refused(Context::new().with("rows", 1_u64)).contains("columns"));
    }
}
