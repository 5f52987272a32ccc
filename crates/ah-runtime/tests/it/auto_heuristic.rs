//! A decision point answers with the heuristic's choice, or with the fallback and the true reason.

use crate::common;
use crate::common::logger;

use ah_model::{Device, Error, Scalar};
use ah_runtime::Cuda;
use ah_runtime::{
    AutoHeuristic, AutoHeuristicBuilder, Environment, Heuristic, LoadedModel, Model, Reason, Role, Unsure,
    register, registered,
};
use ah_types::{Failure, log};
use common::pad_mm;

/// A decision point whose features have another order than the model's.
fn builder() -> AutoHeuristicBuilder {
    AutoHeuristic::builder("pad_mm")
        .choices(["stream", "pad", "orig"])
        .fallback("orig")
        .categorical("dtype")
        .numerical("k")
        .numerical("m")
        .numerical("unused")
        .environment(Environment::default())
}

fn consulting() -> AutoHeuristic {
    builder().heuristic(LoadedModel::from(pad_mm("Test", None))).build().unwrap()
}

fn values(dtype: &str, k: f64, m: f64) -> [Scalar<'_>; 4] {
    [dtype.into(), k.into(), m.into(), 0.into()]
}

#[test]
fn chooses_by_name_whatever_the_order_of_features_and_choices() {
    let auto = consulting();
    let answer = auto.choose(&values("float32", 101.0, 64.0));
    assert_eq!((answer.choice, answer.index, answer.fallback), ("pad", 1, None));
    let answer = auto.choose(&values("float32", 100.0, 64.0));
    assert_eq!((answer.choice, answer.index, answer.fallback), ("orig", 2, None));
    assert!(answer.is_learned());
}

#[test]
fn a_missing_value_is_undefined() {
    let auto = consulting();
    let answer = auto.choose(&values("float32", f64::NAN, 64.0));
    assert_eq!(answer.fallback, Some(Reason::Unsure(Unsure::Undefined(1))));
}

#[test]
fn an_answer_is_explained() {
    let auto = consulting();
    let text = auto.explain_choice(&values("float32", 101.0, 64.0));
    assert!(text.starts_with("pad_mm: pad\nTest takes pad.\n"), "{text}");
    assert!(text.contains("training inputs"), "{text}");
    let text = auto.explain_choice(&values("float32", 101.0, 7.0));
    assert!(text.contains("Test declines: its precondition does not hold"), "{text}");
    let text = builder().build().unwrap().explain_choice(&values("float32", 101.0, 64.0));
    assert!(text.starts_with("pad_mm: orig (fallback"), "{text}");
}

#[test]
fn declines_with_the_true_reason() {
    let auto = consulting();
    let reason = |dtype, k, m| auto.choose(&values(dtype, k, m)).fallback.unwrap();
    assert_eq!(reason("float64", 101.0, 64.0), Reason::Unsure(Unsure::NoneAllowed));
    assert_eq!(reason("int8", 101.0, 64.0), Reason::Unsure(Unsure::UnknownCategory(2)));
    assert_eq!(reason("float32", f64::NAN, 64.0), Reason::Unsure(Unsure::Undefined(1)));
    assert_eq!(reason("float32", 101.0, 7.0), Reason::Unsure(Unsure::Precondition));
    assert_eq!(auto.choose(&[]).fallback, Some(Reason::Unsure(Unsure::Precondition)));
    let shown = |dtype, k, m| auto.choose(&values(dtype, k, m)).to_string();
    assert_eq!(
        shown("int8", 101.0, 64.0),
        "orig (fallback: unsure: the feature \"dtype\" has a category that training never saw)"
    );
    assert_eq!(
        shown("float32", f64::NAN, 64.0),
        "orig (fallback: unsure: the feature \"k\" is undefined here)"
    );
    assert_eq!(
        shown("float32", 101.0, 7.0),
        "orig (fallback: unsure: the precondition of the heuristic does not hold)"
    );
    let only_orig = auto.choose_among(&values("float32", 101.0, 64.0), &|_| false);
    assert_eq!((only_orig.choice, only_orig.fallback), ("orig", None), "the fallback counts as available");
    let unsure = Unsure::UnknownCategory(2);
    let model = LoadedModel::from(pad_mm("Test", None));
    assert_eq!(
        unsure.explain(&[model.features(), model.derived()].concat()),
        "the feature \"dtype\" has a category that training never saw"
    );
}

#[test]
fn takes_the_next_choice_that_is_available() {
    let auto = consulting();
    let answer = auto.choose_among(&values("float32", 101.0, 64.0), &|choice| choice != 1);
    assert_eq!((answer.choice, answer.fallback), ("stream", None));
}

#[test]
fn the_environment_decides_who_consults() {
    let with = |vars: &[(&str, &str)]| {
        let vars: Vec<(String, String)> =
            vars.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let environment = Environment::read(|name| {
            vars.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone().into())
        });
        let model = LoadedModel::from(pad_mm("Test", None));
        let auto = builder().environment(environment).heuristic(model).build().unwrap();
        auto.choose(&values("float32", 101.0, 64.0)).fallback
    };
    assert_eq!(with(&[]), None);
    assert_eq!(with(&[("AUTOHEURISTIC_USE", "mm, pad_mm")]), None);
    assert_eq!(with(&[("AUTOHEURISTIC_USE", "mm")]), Some(Reason::NotEnabled));
    assert_eq!(with(&[("AUTOHEURISTIC_USE", "")]), Some(Reason::NotEnabled));
    assert_eq!(
        with(&[("AUTOHEURISTIC_USE", "pad_mm"), ("AUTOHEURISTIC_COLLECT", "pad_mm")]),
        Some(Reason::Collecting)
    );
}

#[test]
fn the_first_heuristic_for_this_device_and_domain_answers() {
    let gpu = |name: &str| {
        Device::Cuda(Cuda {
            name: name.to_owned(),
            capability: (9, 0),
            multiprocessors: 132,
            shared_memory: 232_448,
            ..Cuda::default()
        })
    };
    let on = |device: Device| {
        builder()
            .heuristic(LoadedModel::from(pad_mm("ForH100", Some(&gpu("NVIDIA H100")))))
            .heuristic(LoadedModel::from(pad_mm("ForH200", Some(&gpu("NVIDIA H200")))))
            .device(device)
            .build()
            .unwrap()
    };
    let h200 = on(gpu("NVIDIA H200"));
    assert_eq!(h200.choose(&values("float32", 101.0, 64.0)).fallback, None);
    let version =
        LoadedModel::from(pad_mm("ForH200", Some(&gpu("NVIDIA H200")))).version().unwrap().to_owned();
    assert_eq!(
        h200.explain().replace(&version, "…"),
        "pad_mm: consults; fallback orig\n  ForH200 serves (version …)\n  ForH100 does not: learned on another device: \"NVIDIA H100\", here \"NVIDIA H200\""
    );
    let a100 = on(gpu("NVIDIA A100"));
    assert_eq!(a100.choose(&values("float32", 101.0, 64.0)).fallback, Some(Reason::Guard));
    let none = builder().build().unwrap();
    assert_eq!(none.choose(&values("float32", 101.0, 64.0)).fallback, Some(Reason::NoHeuristic));
}

#[test]
fn its_own_precondition_counts_first() {
    let model = LoadedModel::from(pad_mm("Test", None));
    let builder = builder().precondition("m * k > 10000");
    let auto = builder.heuristic(model).build().unwrap();
    assert_eq!(auto.choose(&values("float32", 101.0, 64.0)).fallback, Some(Reason::Precondition));
    assert_eq!(auto.choose(&values("float32", 101.0, 640.0)).fallback, None);
}

#[test]
fn collecting_appends_a_log_that_training_reads_and_takes_the_fallback() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("logs/pad_mm.txt");
    let auto = builder().role(Role::Collect).log(&path).build().unwrap();
    let mut asked = Vec::new();
    let answer = auto.choose_or_collect(&values("float32", 101.0, 64.0), |choice| {
        asked.push(choice.to_owned());
        match choice {
            "stream" => Err(Failure::skipped("no such instructions")),
            "pad" => Ok(vec![0.5, 0.25]),
            _ => Err(Failure::failed("wrong result")),
        }
    });
    assert_eq!((answer.choice, answer.fallback), ("orig", Some(Reason::Collecting)));
    assert_eq!(asked, ["stream", "pad", "orig"]);
    let measured = || Ok(vec![2.0]);
    assert!(auto.record_timings(&values("float32", 5.0, 64.0), [("pad", measured())]).unwrap());
    let unknown = auto.record_timings(&values("float32", 5.0, 64.0), [("nope", measured())]);
    assert!(
        unknown
            .unwrap_err()
            .to_string()
            .contains("\"nope\" is none of the decision point's: stream, pad, orig")
    );
    let undefined = auto.record_timings(&values("float32", f64::NAN, 64.0), [("pad", measured())]);
    assert!(undefined.unwrap_err().to_string().contains("\"k\""));
    // Times that training would refuse, with the whole log.
    let good = values("float32", 5.0, 64.0);
    for ms in [0.0, -0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
        let refused = auto.record_timings(&good, [("stream", measured()), ("pad", Ok(vec![1.0, ms]))]);
        let expected = format!("the choice \"pad\": expected a time in milliseconds above 0, found {ms}");
        assert_eq!(refused.unwrap_err().to_string(), expected);
        assert_eq!(auto.choose_or_collect(&good, |_| Ok(vec![ms])).choice, "orig");
    }
    let more = [&good[..], &[1.into()]].concat();
    let refused = auto.record_timings(&more, [("pad", measured())]).unwrap_err().to_string();
    assert_eq!(refused, "expected 4 values, one for each feature, found 5");
    for none in
        [vec![], vec![("pad", Ok(vec![]))], vec![("pad", Err(Failure::skipped("no such instructions")))]]
    {
        assert!(!auto.record_timings(&good, none).unwrap(), "there is nothing to append");
    }

    let read = log::read(&[&path]).unwrap();
    assert_eq!(read.metadata.name, "pad_mm");
    let collection = read.metadata.collection.unwrap();
    assert_eq!(collection.timing, None, "the program's clock follows no policy");
    let inputs: Vec<&str> = read.inputs.iter().map(|i| &*i.text).collect();
    assert_eq!(inputs, ["float32,101,64,0", "float32,5,64,0"]);
    assert_eq!(
        std::fs::read_to_string(&path).unwrap().lines().skip(1).collect::<Vec<_>>(),
        [
            "dtype,k,m,unused,choice,feedback",
            "float32,101,64,0,pad,0.5",
            "float32,101,64,0,pad,0.25",
            "float32,101,64,0,orig,inf",
            "float32,5,64,0,pad,2",
        ]
    );
    // A run that does not collect records nothing.
    let path = folder.path().join("none.txt");
    let auto = builder().role(Role::Consult).log(&path).build().unwrap();
    assert!(!auto.record_timings(&values("float32", 5.0, 64.0), [("pad", measured())]).unwrap());
    assert!(!path.exists());
}

#[test]
fn setting_up_names_what_does_not_fit() {
    let fails = |builder: AutoHeuristicBuilder, expected: &str| {
        let error = builder.build().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    fails(AutoHeuristic::builder("x"), "one or more choices");
    fails(AutoHeuristic::builder("x").choices(["a", "a"]), "each name once");
    fails(AutoHeuristic::builder("x").choices(["a"]).fallback("b"), "\"b\" is not among the choices a");
    fails(builder().numerical("k"), "\"k\" occurs twice");
    fails(builder().precondition("m +"), "precondition: ");
    fails(builder().precondition("m + 1"), "a truth value");
    fails(builder().precondition("q > 1"), "\"q\"");
    fails(builder().model("/no/such/model.json"), "/no/such/model.json");
    let other =
        AutoHeuristic::builder("mm").choices(["a"]).heuristic(LoadedModel::from(pad_mm("Test", None)));
    let Err(Error::Usage(why)) = other.build() else { panic!("it decides another optimization") };
    assert!(why.contains("decides") && why.contains("give it to that decision point"), "{why}");
}

/// The text with `from`, which it must hold, replaced.
fn changed(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "no {from} in {text}");
    text.replace(from, to)
}

#[test]
fn models_in_folders_are_found_and_other_files_are_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let build = || {
        let mut environment = Environment::default();
        environment.model_folders = vec![folder.path().join("none"), folder.path().to_owned()];
        builder().environment(environment).build().unwrap()
    };
    let model = pad_mm("In a folder", None);
    let text = model.to_json();
    let newer = changed(&text, "\"version\": ", "\"version\": 9");
    for (name, broken) in [("1", "{"), ("2", ""), ("3", &text[..text.len() / 2]), ("4", &newer)] {
        std::fs::write(folder.path().join(name).with_extension("json"), broken).unwrap();
    }
    model.write(&folder.path().join("model.json")).unwrap();
    let first = build();
    assert_eq!(first.explain().matches("serves").count(), 1, "{}", first.explain());
    // A later decision point of the same program has the same models.
    std::fs::remove_file(folder.path().join("model.json")).unwrap();
    for auto in [first, build()] {
        let answer = auto.choose(&values("float32", 101.0, 64.0));
        assert_eq!((answer.choice, answer.fallback), ("pad", None));
    }
}

#[test]
fn registering_serves_decision_points_that_exist_already() {
    let build = |name: &str| {
        AutoHeuristic::builder(name)
            .choices(["orig", "pad"])
            .numerical("m")
            .numerical("k")
            .categorical("dtype")
            .environment(Environment::default())
            .build()
            .unwrap()
    };
    let mut model = pad_mm("Registered", None);
    model.optimization = "registered_late".to_owned();
    let auto = build("registered_late");
    let values = [64.into(), 101.into(), "float32".into()];
    assert_eq!(auto.choose(&values).fallback, Some(Reason::NoHeuristic));
    register(LoadedModel::from(model.clone()));
    assert_eq!((auto.choose(&values).choice, auto.choose(&values).fallback), ("pad", None));
    // A second registration of the same name replaces the first.
    model.choices = vec!["a".to_owned(), "b".to_owned(), "c".to_owned()];
    register(LoadedModel::from(model));
    assert_eq!(registered("registered_late").len(), 1);
    assert_eq!(auto.choose(&values).fallback, Some(Reason::Guard));
    assert_eq!(build("other").choose(&values).fallback, Some(Reason::NoHeuristic));
}

#[test]
fn a_given_heuristic_that_can_never_decide_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    let model = pad_mm("Test", None);
    model.write(&path).unwrap();
    let build = |builder: AutoHeuristicBuilder| {
        let by_model = builder.model(&path).build();
        by_model
            .map_err(|error| error.to_string())
            .map(|auto| auto.choose(&values("float32", 101.0, 64.0)).fallback)
    };
    assert_eq!(build(builder()), Ok(None));
    let refused = |misfit: &str| Err(format!("pad_mm: cannot decide with Test: {misfit}"));
    assert_eq!(
        build(builder().fallback("pad")),
        refused("its fallback is \"orig\", the decision point's is \"pad\"")
    );
    assert_eq!(
        build(builder().choices(["a", "b"]).fallback("a")),
        refused("its fallback is \"orig\", the decision point's is \"a\"")
    );
    let point = || {
        let point = AutoHeuristic::builder("pad_mm").choices(["orig", "pad"]);
        point.environment(Environment::default()).numerical("m")
    };
    assert_eq!(
        build(point().categorical("dtype")),
        refused("it needs the feature \"k\", which the decision point lacks")
    );
    assert_eq!(
        build(point().categorical("k").categorical("dtype")),
        refused("its feature \"k\" is numerical, the decision point's is categorical")
    );
    let Err(error) = builder()
        .heuristic(LoadedModel::from(Model { fallback: None, ..model }))
        .choices(["a"])
        .fallback("a")
        .build()
    else {
        panic!("it has none of the choices")
    };
    assert!(error.to_string().ends_with("none of its choices is one of the decision point's"), "{error}");
}

#[test]
fn a_given_model_of_another_device_is_a_warning() {
    logger::start();
    let cuda = Device::Cuda(Cuda { name: "Elsewhere".to_owned(), ..Cuda::default() });
    let model = LoadedModel::from(pad_mm("Elsewhere", Some(&cuda)));
    let auto =
        builder().heuristic(model).device(Device::Cuda(Cuda { name: "Here".to_owned(), ..Cuda::default() }));
    let auto = auto.build().unwrap();
    assert_eq!(auto.choose(&values("float32", 101.0, 64.0)).fallback, Some(Reason::Guard));
    let warning = "WARN: pad_mm: does not decide with Elsewhere: learned on another device: \"Elsewhere\", here \"Here\"";
    assert_eq!(logger::LINES.lock().unwrap().iter().filter(|line| **line == warning).count(), 1);
}

#[test]
fn a_model_in_a_folder_that_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    pad_mm("Test", None).write(&folder.path().join("model.json")).unwrap();
    let build = |builder: AutoHeuristicBuilder| {
        let mut environment = Environment::default();
        environment.model_folders = vec![folder.path().to_owned()];
        builder.environment(environment).build().unwrap()
    };
    let refused = build(builder().fallback("pad"));
    assert_eq!(refused.choose(&values("float32", 101.0, 64.0)).fallback, Some(Reason::Guard));
    let expected = "Test does not: its fallback is \"orig\", the decision point's is \"pad\"";
    assert!(refused.explain().contains(expected), "{}", refused.explain());
    let swapped = AutoHeuristic::builder("pad_mm").choices(["orig", "pad"]);
    let swapped = build(swapped.categorical("m").numerical("k").numerical("dtype"));
    let expected = "Test does not: its feature \"m\" is numerical, the decision point's is categorical";
    assert!(swapped.explain().contains(expected), "{}", swapped.explain());
}

#[test]
fn threads_decide_while_models_are_swapped() {
    // The models differ for k = 101 (pad or orig) and agree for k = 100 (orig).
    let mut first = pad_mm("Swapped", None);
    first.optimization = "swapped".to_owned();
    let second = changed(&first.to_json(), "\"threshold\":100", "\"threshold\":500");
    let models = [first, Model::parse(&second).unwrap()];
    register(LoadedModel::from(models[0].clone()));
    let auto = AutoHeuristic::builder("swapped").choices(["stream", "pad", "orig"]).fallback("orig");
    let auto = auto.categorical("dtype").numerical("k").numerical("m").environment(Environment::default());
    let auto = auto.build().unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        let decide = || {
            let mut seen = [0_u32; 2];
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let below = auto.choose(&values("float32", 100.0, 64.0));
                assert_eq!((below.choice, below.fallback), ("orig", None));
                let above = auto.choose(&values("float32", 101.0, 64.0));
                assert_eq!(above.fallback, None);
                seen[usize::from(above.choice == "orig")] += 1;
            }
            seen
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(decide)).collect();
        for swap in 0..40 {
            register(LoadedModel::from(models[swap % 2].clone()));
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        threads.into_iter().map(|t| t.join().unwrap()).fold([0, 0], |a, b| [a[0] + b[0], a[1] + b[1]])
    });
    assert!(seen[0] > 100 && seen[1] > 100, "both models decided: {seen:?}");
}

/// Makes all decision points look for their heuristics again.
fn bind_again() {
    let mut model = pad_mm("Unrelated", None);
    model.optimization = "unrelated".to_owned();
    register(LoadedModel::from(model));
}

#[test]
fn choices_that_only_one_side_has_are_explained_and_warned_of_once() {
    logger::start();
    let mut model = pad_mm("Differs", None);
    model.optimization = "differs".to_owned();
    let decision = AutoHeuristic::builder("differs")
        .choices(["orig", "pad", "split"])
        .heuristic(LoadedModel::from(model));
    let decision =
        decision.numerical("m").numerical("k").categorical("dtype").environment(Environment::default());
    let auto = decision.build().unwrap();
    let difference = "it never takes split, which it does not know; the program lacks its stream";
    assert!(auto.explain().contains(&format!("; {difference}")), "{}", auto.explain());
    for _ in 0..3 {
        bind_again();
        let _ = auto.choose(&values("float32", 101.0, 64.0));
    }
    let warning = format!("WARN: differs: Differs: {difference}");
    assert_eq!(logger::LINES.lock().unwrap().iter().filter(|line| **line == warning).count(), 1);
}

#[test]
fn a_warning_is_given_once_however_often_heuristics_are_bound() {
    logger::start();
    let folder = tempfile::tempdir().unwrap();
    let mut model = pad_mm("Bound again", None);
    model.optimization = "bound_again".to_owned();
    model.write(&folder.path().join("model.json")).unwrap();
    let mut environment = Environment::default();
    environment.model_folders = vec![folder.path().to_owned()];
    let decision = AutoHeuristic::builder("bound_again").choices(["orig", "pad"]).fallback("pad");
    let decision = decision.numerical("m").numerical("k").categorical("dtype").environment(environment);
    let auto = decision.build().unwrap();
    for _ in 0..3 {
        bind_again();
        let _ = auto.choose(&values("float32", 101.0, 64.0));
    }
    let logged = logger::LINES.lock().unwrap();
    let warnings: Vec<&String> =
        logged.iter().filter(|line| line.starts_with("WARN: bound_again:")).collect();
    assert_eq!(warnings.len(), 2, "another fallback, and it as the reason of the fallback: {warnings:#?}");
    assert_ne!(warnings[0], warnings[1]);
}
