//! `ah-train`: the command line around the library, with code generation as the last step.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ah_cli::{error, exit, is_verbose, keep_foreign, keep_inputs, note, status, stdout, warning};
use ah_model::artefact::write_atomic;
use ah_model::shown::{self, listed};
use ah_model::{ChoiceId, Error, Leaf, Model, Node, RankedChoice, SourceRecord, Target, Tree};
use ah_types::log;
use clap::CommandFactory as _;
use serde_json::json;

use crate::cli::{
    Cli, Command, EvaluateArgs, ExplainArgs, ImportArgs, JudgingArgs, ReportArgs, TableArgs, TrainArgs,
};
use crate::judge::Evaluation;
use crate::{TrainedModel, report};

/// The flags and subcommands, for completions and man pages.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the tool with the arguments of the process.
pub fn main() -> ExitCode {
    let cli: Cli = ah_cli::arguments::parse();
    cli.terminal.apply();
    let threads = match &cli.command {
        None => cli.train.threads,
        Some(Command::Import(args)) => args.train.threads,
        Some(_) => None,
    };
    let done = on_threads(threads, || match &cli.command {
        Some(Command::Evaluate(args)) => evaluate(args).map(|()| exit::SUCCESS),
        Some(Command::Explain(args)) => explain(args).map(|()| exit::SUCCESS),
        Some(Command::Report(args)) => report(args).map(|()| exit::SUCCESS),
        Some(Command::Table(args)) => table(args).map(|()| exit::SUCCESS),
        Some(Command::Import(args)) => import(args),
        None => train(&cli.train, &[]),
    });
    ah_cli::finish(done)
}

/// Runs `work` on this many threads (`None`: one for each core), or on this thread alone if they cannot be started.
/// The result does not depend on their number.
fn on_threads<T: Send>(threads: Option<u16>, work: impl FnOnce() -> T + Send) -> T {
    let count = threads.unwrap_or(0).into();
    match rayon::ThreadPoolBuilder::new().num_threads(count).build() {
        Ok(pool) => pool.install(work),
        Err(error) => {
            warning(&format!("cannot start the threads: {error}; one thread does the work"));
            // Without this pool, the first parallel step would try to start threads again and panic.
            let _ = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
            work()
        }
    }
}

fn import(args: &ImportArgs) -> Result<u8, Error> {
    if let Some(tool) = args.shown_tool() {
        return stdout(ah_import::preset_text(tool)?).map(|()| exit::SUCCESS);
    }
    let report = ah_import::import(&args.params())?;
    warn(&report.warnings);
    status(&report.to_string());
    match args.training() {
        Some(training) => train(&training, &report.warnings),
        None if args.train.json => stdout(&format!("{}\n", json!(report))).map(|()| exit::SUCCESS),
        None => Ok(exit::SUCCESS),
    }
}

/// Learns. The warnings `said` are not repeated.
fn train(args: &TrainArgs, said: &[String]) -> Result<u8, Error> {
    check_outputs(args)?;
    let sources = sources(&args.source)?;
    // The log or a file may name the targets, so they are known only when it is read.
    let mut trained =
        crate::train_checked(&args.params, |plan| check_code(args, &plan.call_site.purpose.targets))?;
    trained.model.provenance.sources = sources;
    if args.check {
        return check(&trained, args);
    }
    warn(trained.warnings.iter().filter(|text| !said.contains(text)));
    let replaced = Model::read(&args.model).ok();
    trained.model.write(&args.model)?;
    if !args.json {
        stdout(&report::summary::trained(&trained))?;
        notes(&report::summary::training_notes(&trained));
        if is_verbose() {
            let sizes = report::sizes::sizes(&trained);
            let evidence = report::summary::evidence(&trained);
            stdout(&format!("{sizes}{}\n{evidence}", trained.plan.settings))?;
            status(&format!("learned in {:.1} s\n", trained.duration.as_secs_f64()));
        }
    }
    status(&format!("wrote {}\n", args.model.display()));
    if let Some(path) = &args.report {
        write_page(&trained.model, &trained.held_out.evaluation, path)?;
    }
    let generated = generate(&trained, args, ah_codegen::WriteMode::Write)?;
    match (&replaced, &generated) {
        (Some(old), _) if old.heuristic != trained.model.heuristic => note(&format!(
            "{} held the heuristic {}, which it does not hold any more; --model names a file for each",
            args.model.display(),
            shown::whole(&old.heuristic)
        )),
        (Some(old), Some(_)) => {
            let targets = generated_targets(&trained.model.purpose.targets).into_iter();
            notes(&targets.filter_map(|to| changed_call(old, &trained.model, to)).collect::<Vec<_>>());
        }
        _ => {}
    }
    if args.json {
        let mut figures = report::summary::json(&trained);
        figures["model"] = json!(args.model);
        let places = |report: ah_codegen::Report| -> Vec<PathBuf> {
            report.generated.into_iter().map(|files| files.output.place).collect()
        };
        figures["generated"] = json!(generated.map(places));
        stdout(&format!("{figures}\n"))?;
    }
    Ok(exit::SUCCESS)
}

/// The hashes of files.
fn sources(paths: &[PathBuf]) -> Result<Vec<SourceRecord>, Error> {
    let record = |path: &PathBuf| {
        let bytes = std::fs::read(path).map_err(Error::io(path, "read the source of the choices"))?;
        Ok(SourceRecord {
            file: path.display().to_string(),
            blake3: blake3::hash(&bytes).to_hex().to_string(),
        })
    };
    paths.iter().map(record).collect()
}

/// The features that callers of this target's code give now and did not give before, and those no longer given, in a sentence.
fn changed_call(old: &Model, new: &Model, target: &ah_codegen::Generator) -> Option<String> {
    let [before, now] = [ah_codegen::given(old, target)?, ah_codegen::given(new, target)?];
    let only = |some: &[&str], others: &[&str]| {
        Some(listed(some.iter().filter(|name| !others.contains(name)))).filter(|names| !names.is_empty())
    };
    let added = only(&now, &before).map(|names| format!("must give {names} now"));
    let gone = only(&before, &now).map(|names| format!("do not give {names} any more"));
    let change = [added, gone].into_iter().flatten().collect::<Vec<_>>().join(" and ");
    (!change.is_empty()).then(|| {
        format!(
            "the call changes ({}): callers {change}. Code takes every feature of the log, but one that takes time to compute \
             only where it reads it",
            target.target.name()
        )
    })
}

/// Checks, before anything is read, that the command writes over no file that it reads or that it did not write itself.
fn check_outputs(args: &TrainArgs) -> Result<(), Error> {
    let params = &args.params;
    let mut read: Vec<PathBuf> =
        params.logs.iter().chain(&params.optimization).chain(&params.weights).cloned().collect();
    keep_inputs("model", &args.model, &read)?;
    if !args.check {
        keep_foreign("model", &args.model, Model::FORMAT)?;
    }
    if let Some(report) = &args.report {
        read.push(args.model.clone());
        keep_inputs("report", report, &read)?;
        keep_foreign("report", report, ah_cli::page::MARK)?;
    }
    Ok(())
}

/// Checks, before minutes of learning, that code can be written where it is to be: that of a model which takes one choice.
fn check_code(args: &TrainArgs, targets: &[Target]) -> Result<(), Error> {
    let targets = generated_targets(targets);
    ah_codegen::check_into(args.into.as_deref(), &targets)?;
    if args.no_codegen || targets.is_empty() {
        return Ok(());
    }
    let ranking = vec![RankedChoice { measured: 1, allowed: true, ..RankedChoice::default() }];
    let constant = Model {
        heuristic: args.params.heuristic_name.clone(),
        choices: vec!["only".to_owned()],
        fallback: Some(ChoiceId(0)),
        tree: Tree { nodes: vec![Node::Leaf(Leaf { samples: 1, ranking })] },
        ..Model::default()
    };
    let request = ah_codegen::Request::new(&constant, &targets, &args.out);
    let mode = ah_codegen::WriteMode::Check;
    ah_codegen::generate(&ah_codegen::Request { mode, into: args.into.as_deref(), ..request }).map(drop)
}

/// Compares a training with the model and the code that are there, and prints the difference. The tool's version may differ.
fn check(trained: &TrainedModel, args: &TrainArgs) -> Result<u8, Error> {
    let mut there = Model::read(&args.model)?;
    there.provenance.tool.clone_from(&trained.model.provenance.tool);
    // Numbers are compared as the file has them.
    let model = ah_codegen::difference(&args.model, &there.to_json(), &trained.model.to_json());
    let report = generate(trained, args, ah_codegen::WriteMode::Check)?;
    let code = report.map(|report| report.diff()).unwrap_or_default();
    if model.is_empty() && code.is_empty() {
        status(&format!("{} is current\n", args.model.display()));
        return Ok(exit::SUCCESS);
    }
    stdout(&format!("{model}{code}"))?;
    let path = if model.is_empty() { args.into.as_ref().unwrap_or(&args.out) } else { &args.model };
    let command = ah_cli::arguments::command_without(&[&["--check"]]);
    let now = &trained.model.provenance.logs;
    let mut logs = std::mem::replace(&mut there.provenance.logs, now.clone()).into_iter().zip(now);
    let why = match logs.find(|(old, new)| old != *new) {
        Some((old, new)) if there.to_json() == trained.model.to_json() => format!(
            "only its log differs: {} (BLAKE3 {:.8}) in the file, {} (BLAKE3 {:.8}) given",
            old.file, old.blake3, new.file, new.blake3
        ),
        _ => match changed_source(&there.provenance.sources, &trained.model.provenance.sources) {
            Some(change) => change,
            None => "learning again gives another one".to_owned(),
        },
    };
    error(&format!("{} is stale: {why}; run: {command}", path.display()));
    Ok(exit::CHECK_FAILED)
}

/// How the sources of the choices differ from those that were measured, in a sentence.
fn changed_source(measured: &[SourceRecord], now: &[SourceRecord]) -> Option<String> {
    let changed = now.iter().find(|source| !measured.contains(source))?;
    let was = measured.iter().find(|source| source.file == changed.file);
    let was = was.map_or("no hash".to_owned(), |source| format!("BLAKE3 {:.8}", source.blake3));
    let SourceRecord { file, blake3 } = changed;
    Some(format!(
        "{file} changed since the choices were measured ({was} in the model, BLAKE3 {blake3:.8} now); measure them again"
    ))
}

/// The targets for which there is code to generate: a model file needs none, and a table a log with its inputs.
fn generated_targets(targets: &[Target]) -> Vec<&'static ah_codegen::Generator> {
    let code = |target: &Target| ah_codegen::GENERATORS.iter().find(|code| code.target == *target);
    targets.iter().filter_map(code).collect()
}

/// The last step of the one command that learns and generates: code for each target that it learned for.
fn generate(
    trained: &TrainedModel,
    args: &TrainArgs,
    mode: ah_codegen::WriteMode,
) -> Result<Option<ah_codegen::Report>, Error> {
    let learned = &trained.model.purpose.targets;
    let targets = generated_targets(learned);
    if mode == ah_codegen::WriteMode::Write && learned.contains(&Target::Table) {
        let model = args.model.display();
        status(&format!("table: run ah-train table {model} LOG, with a log of the table's inputs\n"));
    }
    if args.no_codegen || targets.is_empty() {
        return Ok(None);
    }
    let report = ah_codegen::generate(&ah_codegen::Request {
        mode,
        into: args.into.as_deref(),
        runtime: args.runtime_path.as_deref(),
        ..ah_codegen::Request::new(&trained.model, &targets, &args.out)
    })?;
    status(&report.to_string());
    report.warnings().for_each(warning);
    Ok(Some(report))
}

/// Judges a model on logs. `output` is the file that `field` names, which must be none of those that are read, and begin with
/// `mark` where it has one.
fn judge(
    args: &JudgingArgs,
    field: &'static str,
    output: Option<&Path>,
    mark: Option<&str>,
) -> Result<(Model, Evaluation), Error> {
    let JudgingArgs { model, logs, weights, skip_bad_rows } = args;
    let read: Vec<PathBuf> = logs.iter().chain([model]).chain(weights).cloned().collect();
    output.map_or(Ok(()), |path| keep_inputs(field, path, &read))?;
    output.zip(mark).map_or(Ok(()), |(path, mark)| keep_foreign(field, path, mark))?;
    let model = Model::read(model)?;
    let evaluation = crate::evaluate(&model, logs, weights.as_deref(), *skip_bad_rows)?;
    warn(&evaluation.warnings);
    Ok((model, evaluation))
}

fn evaluate(args: &EvaluateArgs) -> Result<(), Error> {
    let (model, evaluation) = judge(&args.judging, "decisions", args.decisions.as_deref(), None)?;
    if let Some(path) = &args.decisions {
        evaluation.write_decisions(path)?;
    }
    let Evaluation { comparison, warnings, .. } = &evaluation;
    if args.json {
        let mut figures = json!(comparison);
        figures["name"] = json!(model.heuristic);
        figures["warnings"] = json!(warnings);
        figures["notes"] = json!(report::summary::notes(comparison));
        return stdout(&format!("{figures}\n"));
    }
    stdout(&report::summary::evaluated(&model.heuristic, comparison))?;
    notes(&report::summary::notes(comparison));
    Ok(())
}

fn report(args: &ReportArgs) -> Result<(), Error> {
    let (model, evaluation) = judge(&args.judging, "output", Some(&args.output), Some(ah_cli::page::MARK))?;
    write_page(&model, &evaluation, &args.output)
}

fn write_page(model: &Model, evaluation: &Evaluation, path: &Path) -> Result<(), Error> {
    report::page::write(model, evaluation, path)?;
    status(&format!("wrote {}\n", path.display()));
    Ok(())
}

/// Writes the table of a model's decisions on the inputs of logs.
fn table(args: &TableArgs) -> Result<(), Error> {
    let TableArgs { model, logs, output } = args;
    let read: Vec<PathBuf> = logs.iter().chain([model]).cloned().collect();
    keep_inputs("output", output, &read)?;
    keep_foreign("output", output, crate::table::MARK)?;
    let text = crate::table::table(&Model::read(model)?, &log::read(logs)?)?;
    write_atomic(output, text.as_bytes()).map_err(Error::io(output, "write"))?;
    status(&format!("wrote {}; each row has its proof, or why it keeps the default\n", output.display()));
    Ok(())
}

fn explain(args: &ExplainArgs) -> Result<(), Error> {
    let model = Model::read(&args.model)?;
    stdout(&crate::explain(&model, &args.input, &args.offered)?)
}

fn warn<'w>(warnings: impl IntoIterator<Item = &'w String>) {
    warnings.into_iter().for_each(|text| warning(text));
}

fn notes(notes: &[String]) {
    notes.iter().for_each(|text| note(text));
}
