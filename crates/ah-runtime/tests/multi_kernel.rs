//! A MultiKernel picks the fastest kernel that supports the input, remembers it under its guards,
//! and says why when it measures again. Time is virtual: a kernel says what it takes.

mod common;

use std::cell::{Cell, RefCell};
use std::path::Path;

use ah_runtime::multi_kernel::Event;
use ah_runtime::multi_kernel::{Builder, Dimension, Miss, Watch};
use ah_runtime::{AutoHeuristic, Environment, LoadedModel, MultiKernel};
use ah_types::{Scalar, log};

thread_local! {
    /// Milliseconds. Kernels take sums of powers of two, so that no difference is rounded.
    static CLOCK: Cell<f64> = const { Cell::new(0.0) };
    /// Names of the kernels that ran.
    static RAN: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    /// How much slower than usual `stream` is now.
    static STREAM_SLOWDOWN: Cell<f64> = const { Cell::new(1.0) };
}

type Kernel = fn(f64) -> Result<f64, String>;

fn took(name: &'static str, ms: f64) {
    CLOCK.set(CLOCK.get() + ms);
    RAN.with_borrow_mut(|ran| ran.push(name));
}

/// Fast for small k.
fn orig(k: f64) -> Result<f64, String> {
    took("orig", 0.125 + k / 512.0);
    Ok(k * 2.0)
}

/// Fast for large k.
fn pad(k: f64) -> Result<f64, String> {
    took("pad", 0.5);
    Ok(k * 2.0)
}

/// Fastest of all where it runs.
fn stream(k: f64) -> Result<f64, String> {
    took("stream", STREAM_SLOWDOWN.get() / 128.0);
    Ok(k * 2.0)
}

/// Fails at once, so it seems fast.
fn broken(_: f64) -> Result<f64, String> {
    took("broken", 1.0 / 8192.0);
    Err("out of shared memory".to_owned())
}

fn virtual_time(run: &mut dyn FnMut()) -> f64 {
    let begin = CLOCK.get();
    run();
    CLOCK.get() - begin
}

fn decision() -> ah_runtime::Builder {
    AutoHeuristic::builder("pad_mm")
        .numerical("m")
        .numerical("k")
        .categorical("dtype")
        .environment(Environment::default())
}

fn two(environment: Environment) -> Builder<Kernel> {
    MultiKernel::<Kernel>::builder(decision().environment(environment))
        .kernel("orig", 1, orig as Kernel)
        .kernel("pad", 1, pad)
        .timer(virtual_time)
}

fn environment(variables: &[(&str, &Path)]) -> Environment {
    Environment::read(|name| {
        variables.iter().find(|(n, _)| *n == name).map(|(_, value)| value.as_os_str().to_owned())
    })
}

fn cached_in(folder: &Path) -> Environment {
    environment(&[("AUTOHEURISTIC_CACHE_DIR", folder)])
}

fn values(m: f64, k: f64, dtype: &str) -> [Scalar<'_>; 3] {
    [m.into(), k.into(), dtype.into()]
}

/// The kernels that one call ran.
fn call(multi: &MultiKernel<Kernel>, m: f64, k: f64, dtype: &str) -> Vec<&'static str> {
    RAN.take();
    assert_eq!(multi.run(&values(m, k, dtype), |kernel| kernel(k)), Ok(k * 2.0));
    RAN.take()
}

fn measured(multi: &MultiKernel<Kernel>, m: f64, k: f64, dtype: &str) -> &'static str {
    let ran = call(multi, m, k, dtype);
    assert!(ran.len() > 4, "expected a measurement, ran only {ran:?}");
    ran[ran.len() - 1]
}

fn remembered(multi: &MultiKernel<Kernel>, m: f64, k: f64, dtype: &str) -> &'static str {
    let ran = call(multi, m, k, dtype);
    assert_eq!(ran.len(), 1, "expected one run, ran {ran:?}");
    ran[0]
}

fn last_miss(multi: &MultiKernel<Kernel>) -> String {
    match multi.events().pop() {
        Some(Event::Measured { miss, .. }) => miss.to_string(),
        other => panic!("expected a measurement, found {other:?}"),
    }
}

#[test]
fn the_first_call_measures_and_later_ones_remember() {
    let multi = two(Environment::default()).no_cache().build().unwrap();
    assert_eq!(measured(&multi, 64.0, 100.0, "f32"), "orig");
    assert_eq!(last_miss(&multi), "nothing is remembered yet");
    for _ in 0..3 {
        assert_eq!(remembered(&multi, 64.0, 100.0, "f32"), "orig");
    }
    assert_eq!(multi.pick(&values(64.0, 100.0, "f32")), Some(0));
    assert_eq!(multi.pick(&values(64.0, 100.0, "f64")), None);
}

#[test]
fn a_second_value_makes_a_dimension_dynamic_and_names_the_broken_guard() {
    let multi = two(Environment::default()).no_cache().build().unwrap();
    assert_eq!(measured(&multi, 64.0, 100.0, "f32"), "orig");
    // Within the bucket of the first value nothing is measured again.
    assert_eq!(remembered(&multi, 64.0, 127.0, "f32"), "orig");
    assert_eq!(multi.events().pop().unwrap().to_string(), "k is dynamic from now on: it was 100 and is 127");
    assert_eq!(measured(&multi, 64.0, 1000.0, "f32"), "pad");
    assert_eq!(last_miss(&multi), "the guard 64 < k <= 128 is broken by k = 1000");
    assert_eq!(measured(&multi, 64.0, 1000.0, "f64"), "pad");
    assert_eq!(last_miss(&multi), "the guard dtype == \"f32\" is broken by dtype = f64");
    assert_eq!(remembered(&multi, 64.0, 513.0, "f32"), "pad");
    let text = multi.explain();
    assert!(
        text.contains(
            "\norig takes 0.3203 ms while m == 64 and 64 < k <= 128 and dtype == \"f32\"; then pad 0.5 ms\n"
        ),
        "{text}"
    );
    assert!(
        text.contains("\n- measured [m=64 k=1000 dtype=f32], because the guard 64 < k <= 128 is broken"),
        "{text}"
    );
}

#[test]
fn dimensions_can_be_exact_finer_or_by_divisibility() {
    let multi = two(Environment::default())
        .dimension("m", Dimension::exact())
        .dimension("k", Dimension::dynamic().halvings(1).divisible_by(16))
        .no_cache()
        .build()
        .unwrap();
    assert_eq!(measured(&multi, 64.0, 160.0, "f32"), "orig");
    assert_eq!(measured(&multi, 65.0, 160.0, "f32"), "orig");
    assert_eq!(remembered(&multi, 64.0, 144.0, "f32"), "orig");
    assert_eq!(measured(&multi, 64.0, 145.0, "f32"), "orig");
    assert_eq!(last_miss(&multi), "the guard 128 < k <= 192 and k % 16 == 0 is broken by k = 145");
    assert_eq!(measured(&multi, 64.0, 208.0, "f32"), "pad");
}

#[test]
fn a_kernel_that_does_not_support_the_input_never_runs() {
    let multi = two(Environment::default())
        .kernel("stream", 1, stream)
        .eligible("stream", |v| v[0].number() == Some(64.0))
        .dimension("m", Dimension::dynamic())
        .no_cache()
        .build()
        .unwrap();
    assert_eq!(measured(&multi, 64.0, 100.0, "f32"), "stream");
    // The same key; the next best that was measured runs, without measuring again.
    assert_eq!(remembered(&multi, 63.0, 100.0, "f32"), "orig");
    assert_eq!(remembered(&multi, 64.0, 100.0, "f32"), "stream");
    // Measured first where it is not eligible.
    assert!(!call(&multi, 63.0, 1000.0, "f64").contains(&"stream"));
    assert_eq!(remembered(&multi, 63.0, 1000.0, "f64"), "pad");
}

#[test]
fn a_kernel_that_fails_never_wins() {
    let multi = two(Environment::default()).kernel("broken", 1, broken).no_cache().build().unwrap();
    assert_eq!(measured(&multi, 64.0, 100.0, "f32"), "orig");
    assert!(
        multi
            .events()
            .iter()
            .any(|e| e.to_string().starts_with("broken failed for [m=64 k=100 dtype=f32]: out of"))
    );
    let only = MultiKernel::<Kernel>::builder(decision()).kernel("broken", 1, broken as Kernel);
    let only = only.timer(virtual_time).no_cache().build().unwrap();
    let fails = || only.run(&values(1.0, 1.0, "f32"), |kernel| kernel(1.0)).unwrap_err();
    assert_eq!(fails(), "out of shared memory");
    RAN.take();
    fails();
    assert_eq!(RAN.take().len(), 1, "it is not measured again");
}

#[test]
fn undefined_features_run_the_fallback() {
    let multi = two(Environment::default()).no_cache().build().unwrap();
    for values in [&values(f64::NAN, 1.0, "f32")[..], &[1.into()], &[1.into(), 2.into(), 3.into()]] {
        RAN.take();
        multi.run(values, |kernel| kernel(1.0)).unwrap();
        assert_eq!(RAN.take(), ["orig"]);
    }
    assert!(multi.events().is_empty());
}

#[test]
fn beyond_the_limit_nothing_is_measured() {
    let multi = two(Environment::default())
        .max_picks(3)
        .dimension("k", Dimension::exact())
        .no_cache()
        .build()
        .unwrap();
    for k in [1000.0, 2000.0, 3000.0] {
        assert_eq!(measured(&multi, 64.0, k, "f32"), "pad");
    }
    for k in [4000.0, 5000.0, 6000.0] {
        assert_eq!(remembered(&multi, 64.0, k, "f32"), "orig");
    }
    assert_eq!(remembered(&multi, 64.0, 2000.0, "f32"), "pad");
    let limits = multi.events().into_iter().filter(|e| matches!(e, Event::Limit { picks: 3, .. })).count();
    assert_eq!(limits, 1, "it is said once");
}

#[test]
fn picks_outlive_the_program_until_kernels_versions_or_device_change() {
    let folder = tempfile::tempdir().unwrap();
    let build = || two(cached_in(folder.path())).build().unwrap();
    assert_eq!(measured(&build(), 64.0, 1000.0, "f32"), "pad");
    assert_eq!(remembered(&build(), 64.0, 1000.0, "f32"), "pad");
    let newer = MultiKernel::<Kernel>::builder(decision().environment(cached_in(folder.path())))
        .kernel("orig", 2, orig as Kernel)
        .kernel("pad", 1, pad)
        .timer(virtual_time);
    assert_eq!(measured(&newer.build().unwrap(), 64.0, 1000.0, "f32"), "pad");
    let more = two(cached_in(folder.path())).kernel("stream", 1, stream);
    assert_eq!(measured(&more.build().unwrap(), 64.0, 1000.0, "f32"), "stream");
    let mut device = ah_types::Device::this_cpu();
    if let ah_types::Device::Cpu(cpu) = &mut device {
        cpu.model.push_str(" II");
    }
    let elsewhere =
        MultiKernel::<Kernel>::builder(decision().environment(cached_in(folder.path())).device(device))
            .kernel("orig", 1, orig as Kernel)
            .kernel("pad", 1, pad)
            .timer(virtual_time);
    assert_eq!(measured(&elsewhere.build().unwrap(), 64.0, 1000.0, "f32"), "pad");
    // The first one is still there.
    assert_eq!(remembered(&build(), 64.0, 1000.0, "f32"), "pad");
    let without = environment(&[
        ("AUTOHEURISTIC_CACHE_DIR", folder.path()),
        ("AUTOHEURISTIC_DISABLE_CACHE", Path::new("1")),
    ]);
    assert_eq!(measured(&two(without).build().unwrap(), 64.0, 1000.0, "f32"), "pad");
}

#[test]
fn what_another_process_measured_meanwhile_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let build = || two(cached_in(folder.path())).build().unwrap();
    let (ours, theirs) = (build(), build());
    assert_eq!(measured(&theirs, 64.0, 1000.0, "f32"), "pad");
    assert_eq!(remembered(&ours, 64.0, 1000.0, "f32"), "pad");
    assert!(matches!(ours.events().pop(), Some(Event::Found { .. })));
    // Both write; neither loses what the other wrote, and dimensions that one of them found dynamic are.
    assert_eq!(measured(&ours, 64.0, 100.0, "f32"), "orig");
    assert_eq!(measured(&theirs, 64.0, 5000.0, "f32"), "pad");
    let third = build();
    assert_eq!(remembered(&third, 64.0, 101.0, "f32"), "orig");
    assert_eq!(remembered(&third, 64.0, 1001.0, "f32"), "pad");
    assert_eq!(remembered(&third, 64.0, 5001.0, "f32"), "pad");
}

fn only_file(folder: &Path) -> std::path::PathBuf {
    let mut found = Vec::new();
    for device in std::fs::read_dir(folder).unwrap() {
        for file in std::fs::read_dir(device.unwrap().path()).unwrap() {
            found.extend(Some(file.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "json")));
        }
    }
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn a_hostile_cache_is_ignored_and_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let build = || two(cached_in(folder.path())).build().unwrap();
    assert_eq!(measured(&build(), 64.0, 1000.0, "f32"), "pad");
    let path = only_file(folder.path());
    let good = std::fs::read_to_string(&path).unwrap();
    let swap = |from: &str, to: &str| {
        assert!(good.contains(from), "{from} is not in {good}");
        good.replace(from, to).into_bytes()
    };
    let hostile = [
        Vec::new(),
        b"{".to_vec(),
        vec![0xff; 100],
        vec![b'['; 1_000_000],
        swap("\"kernel\": \"pad\"", "\"kernel\": \"rm -rf\""),
        swap("\"version\": \"1\"", "\"version\": \"0\""),
        swap("\"equals\": 1000.0", "\"equals\": 1e999"),
        swap("\"equals\": 1000.0", "\"above\": -5.0"),
        swap("\"equals\": 1000.0", "\"above\": 7.0, \"up_to\": 0.0"),
        swap("\"equals\": 1000.0", "\"is\": \"f32\""),
        swap("\"equals\": 1000.0", "\"equals\": 1000.0, \"above\": 0.0"),
        swap("\"feature\": \"k\"", "\"feature\": \"m\""),
        swap("\"pad\": 0.5", "\"pad\": null"),
        swap("\"pad\": 0.5", "\"pad\": -1"),
        swap("\"promised_ms\": 0.5", "\"promised_ms\": -0.5"),
        swap("autoheuristic-picks", "other"),
        good.as_bytes()[..good.len() / 2].to_vec(),
    ];
    for text in hostile {
        std::fs::write(&path, &text).unwrap();
        let what = String::from_utf8_lossy(&text[..text.len().min(2000)]).into_owned();
        let multi = build();
        assert_eq!(multi.pick(&values(64.0, 1000.0, "f32")), None, "taken from {what}");
        assert_eq!(measured(&multi, 64.0, 1000.0, "f32"), "pad");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), good, "after {what}");
    }
    // Not even a file.
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert_eq!(measured(&build(), 64.0, 1000.0, "f32"), "pad");
}

#[test]
fn the_cache_stays_below_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let limited = environment(&[
        ("AUTOHEURISTIC_CACHE_DIR", folder.path()),
        ("AUTOHEURISTIC_CACHE_LIMIT", Path::new("3K")),
    ]);
    for version in 0..10 {
        let multi = MultiKernel::<Kernel>::builder(decision().environment(limited.clone()))
            .kernel("orig", version, orig as Kernel)
            .kernel("pad", 1, pad)
            .timer(virtual_time)
            .build()
            .unwrap();
        assert_eq!(measured(&multi, 64.0, 1000.0, "f32"), "pad");
    }
    let device = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let files = std::fs::read_dir(device)
        .unwrap()
        .flatten()
        .filter(|f| f.path().extension().is_some_and(|e| e == "json"));
    let sizes: Vec<u64> = files.map(|f| f.metadata().unwrap().len()).collect();
    assert!(!sizes.is_empty() && sizes.iter().sum::<u64>() <= 3 << 10, "{sizes:?}");
}

#[test]
fn the_environment_forces_a_kernel_that_supports_the_input() {
    let forced = |text: &str| {
        two(environment(&[("AUTOHEURISTIC_FORCE_KERNEL", Path::new(text))]))
            .kernel("stream", 1, stream)
            .eligible("stream", |v| v[0].number() == Some(64.0))
            .no_cache()
            .build()
            .unwrap()
    };
    assert_eq!(remembered(&forced("1"), 64.0, 100.0, "f32"), "pad");
    assert_eq!(remembered(&forced("0,pad_mm=2"), 64.0, 100.0, "f32"), "stream");
    assert_eq!(remembered(&forced("pad_mm=2"), 63.0, 100.0, "f32"), "orig");
    assert_eq!(measured(&forced("mm=1"), 64.0, 100.0, "f32"), "stream");
    assert_eq!(measured(&forced("7"), 64.0, 100.0, "f32"), "stream");
    assert_eq!(measured(&forced("nonsense"), 64.0, 100.0, "f32"), "stream");
}

#[test]
fn a_recording_is_looked_up_without_measuring() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("pad_mm.json");
    let first = two(Environment::default()).no_cache().record(&recording).build().unwrap();
    assert_eq!(measured(&first, 64.0, 1000.0, "f32"), "pad");
    assert_eq!(measured(&first, 64.0, 100.0, "f32"), "orig");

    let text = std::fs::read_to_string(&recording).unwrap();
    let by_environment = environment(&[("AUTOHEURISTIC_LOOKUP", folder.path())]);
    for second in [
        two(Environment::default()).lookup(&recording).build().unwrap(),
        two(Environment::default()).lookup_text(&text).build().unwrap(),
        two(by_environment).build().unwrap(),
    ] {
        assert_eq!(remembered(&second, 64.0, 1001.0, "f32"), "pad");
        assert_eq!(remembered(&second, 64.0, 100.0, "f32"), "orig");
        assert_eq!(remembered(&second, 64.0, 9000.0, "f32"), "orig");
        assert!(matches!(second.events().pop(), Some(Event::NotRecorded { .. })));
    }
    // Of other kernels it is ignored, and nothing is measured still.
    let other = two(Environment::default()).kernel("stream", 1, stream).lookup(&recording).build().unwrap();
    assert_eq!(remembered(&other, 64.0, 1001.0, "f32"), "orig");
    let missing = two(Environment::default()).lookup(folder.path().join("none.json")).build().unwrap();
    assert_eq!(remembered(&missing, 64.0, 1001.0, "f32"), "orig");
}

#[test]
fn a_sure_heuristic_decides_and_measuring_is_for_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let log_path = folder.path().join("log.txt");
    let decision = || decision().heuristic(LoadedModel::from(common::pad_mm("Test", None))).log(&log_path);
    let build = || {
        MultiKernel::<Kernel>::builder(decision())
            .kernel("orig", 1, orig as Kernel)
            .kernel("pad", 1, pad)
            .timer(virtual_time)
            .no_cache()
            .append_to_log(true)
    };
    let multi = build().build().unwrap();
    // By the model pad wins from k = 101 on, whatever the clock says.
    assert_eq!(remembered(&multi, 64.0, 101.0, "float32"), "pad");
    assert_eq!(remembered(&multi, 64.0, 100.0, "float32"), "orig");
    // Unsure by its leaf, and by an unknown category: measured.
    assert_eq!(measured(&multi, 64.0, 101.0, "float64"), "orig");
    assert_eq!(remembered(&multi, 64.0, 101.0, "float64"), "orig");
    assert_eq!(measured(&multi, 64.0, 1001.0, "int8"), "pad");
    // What was measured is in the log, for the next heuristic.
    let read = log::read(&[&log_path]).unwrap();
    let inputs: Vec<&str> = read.inputs.iter().map(|i| &*i.text).collect();
    assert_eq!(inputs, ["64,101,float64", "64,1001,int8"]);
    assert_eq!(read.metadata.choices.unwrap(), ["orig", "pad"]);
}

#[test]
fn the_metrics_table_has_a_line_for_each_pick() {
    let folder = tempfile::tempdir().unwrap();
    let multi = two(environment(&[("AUTOHEURISTIC_METRICS", folder.path())]))
        .kernel("broken", 1, broken)
        .kernel("stream", 1, stream)
        .eligible("stream", |_| false)
        .no_cache()
        .build()
        .unwrap();
    measured(&multi, 64.0, 1900.0, "f,32");
    measured(&multi, 64.0, 150.0, "f32");
    assert_eq!(
        std::fs::read_to_string(folder.path().join("pad_mm.csv")).unwrap(),
        "m,k,dtype,picked,speedup_over_second,orig_ms,pad_ms,broken_ms,stream_ms\n\
         64,1900,\"f,32\",pad,7.6719,3.8359375,0.5,inf,\n\
         64,150,f32,orig,1.1963,0.41796875,0.5,inf,\n"
    );
}

#[test]
fn watching_finds_a_pick_that_became_slow() {
    let watch = Watch { one_in: 1, limit: 1.5, samples: 3 };
    let multi =
        two(Environment::default()).kernel("stream", 1, stream).watch(watch).no_cache().build().unwrap();
    STREAM_SLOWDOWN.set(1.0);
    assert_eq!(measured(&multi, 64.0, 100.0, "f32"), "stream");
    for _ in 0..10 {
        assert_eq!(remembered(&multi, 64.0, 100.0, "f32"), "stream");
    }
    STREAM_SLOWDOWN.set(10.0);
    for _ in 0..3 - 10 % 3 {
        assert_eq!(remembered(&multi, 64.0, 100.0, "f32"), "stream");
    }
    for _ in 0..3 {
        call(&multi, 64.0, 100.0, "f32");
    }
    // 0.08 ms is still less than 0.32 ms: measured again it wins again, and the promise is what was seen.
    let again: Vec<_> = multi.events().into_iter().skip(1).collect();
    assert_eq!(again.len(), 1, "{again:?}");
    assert!(
        again[0].to_string().contains("because stream was promised to take 0.007812 ms and takes 0.07812 ms"),
        "{}",
        again[0]
    );
    for _ in 0..10 {
        assert_eq!(remembered(&multi, 64.0, 100.0, "f32"), "stream");
    }
    STREAM_SLOWDOWN.set(100.0);
    for _ in 0..7 {
        call(&multi, 64.0, 100.0, "f32");
    }
    assert_eq!(remembered(&multi, 64.0, 100.0, "f32"), "orig");
    assert!(matches!(multi.events().pop(), Some(Event::Measured { miss: Miss::Slower { .. }, .. })));
}

#[test]
fn kernels_that_write_their_input_are_measured_on_clones() {
    type InPlace = fn(&mut Vec<f64>);
    let doubles = MultiKernel::<InPlace>::builder(AutoHeuristic::builder("double").numerical("length"))
        .kernel("one", 1, (|x| x.iter_mut().for_each(|x| *x *= 2.0)) as InPlace)
        .kernel("two", 1, |x| x.iter_mut().for_each(|x| *x += *x))
        .no_cache()
        .build()
        .unwrap();
    let mut x = vec![1.0, 2.0];
    doubles.run_on(&[2.into()], &mut x, |kernel, x| kernel(x));
    assert_eq!(x, [2.0, 4.0]);
    doubles.run_on(&[2.into()], &mut x, |kernel, x| kernel(x));
    assert_eq!(x, [4.0, 8.0]);
}

#[test]
fn threads_that_miss_together_measure_once() {
    let multi = MultiKernel::<fn()>::builder(
        AutoHeuristic::builder("sleep").numerical("n").environment(Environment::default()),
    )
    .kernel("long", 1, (|| std::thread::sleep(std::time::Duration::from_millis(2))) as fn())
    .kernel("short", 1, || std::thread::sleep(std::time::Duration::from_millis(1)))
    .dimension("n", Dimension::exact())
    .no_cache()
    .build()
    .unwrap();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for n in 0..4 {
                    multi.run(&[n.into()], |kernel| kernel());
                }
            });
        }
    });
    let count = multi.events().iter().filter(|e| matches!(e, Event::Measured { .. })).count();
    assert!((1..=4).contains(&count), "{}", multi.explain());
}

#[test]
fn setting_up_says_what_does_not_fit() {
    let fails = |builder: Builder<Kernel>, expected: &str| {
        let error = builder.build().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    let two = || two(Environment::default()).no_cache();
    fails(two().eligible("nope", |_| true), "\"nope\" is none of orig, pad");
    fails(two().eligible("orig", |_| true), "make a kernel that supports every input the fallback");
    fails(two().dimension("dtype", Dimension::exact()), "\"dtype\" is not a numerical feature");
    fails(two().kernel("pad", 2, pad), "distinct names");
    fails(MultiKernel::<Kernel>::builder(decision()), "one or more choices");
}
