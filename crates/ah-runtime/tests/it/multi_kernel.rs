//! A MultiKernel picks the fastest kernel that supports the input, and remembers it under guards. Time is
//! virtual: each kernel advances the clock itself.

use crate::common;
use crate::common::virtual_kernels;

use std::path::Path;

use ah_runtime::multi_kernel::{Event, MultiKernelBuilder};
use ah_runtime::{AutoHeuristic, Environment, LoadedModel, MultiKernel};
use ah_types::log;
use virtual_kernels::*;

#[test]
fn the_first_call_measures_and_later_ones_remember() {
    let multi = plain().build().unwrap();
    assert_eq!(measured(&multi, 64.0, 100.0, "f32"), "orig");
    for _ in 0..3 {
        assert_eq!(remembered(&multi, 64.0, 100.0, "f32"), "orig");
    }
    assert_eq!(multi.pick(&values(64.0, 100.0, "f32")), Some(0));
    assert_eq!(multi.pick(&values(64.0, 100.0, "f64")), None);
}

#[test]
fn numbers_between_two_powers_of_two_share_a_pick() {
    let multi = plain().build().unwrap();
    assert_eq!(measured(&multi, 64.0, 100.0, "f32"), "orig");
    assert_eq!(remembered(&multi, 64.0, 127.0, "f32"), "orig");
    assert_eq!(measured(&multi, 64.0, 1000.0, "f32"), "pad");
    assert_eq!(measured(&multi, 64.0, 1000.0, "f64"), "pad");
    assert_eq!(remembered(&multi, 64.0, 513.0, "f32"), "pad");
    assert_eq!(remembered(&multi, 33.0, 513.0, "f32"), "pad");
    // A number that is not above 0 has no bucket.
    assert_eq!(measured(&multi, 0.0, 513.0, "f32"), "pad");
    assert_eq!(measured(&multi, -1.0, 513.0, "f32"), "pad");
    let text = multi.explain();
    let line = "\norig takes 320.3 µs while 32 < m <= 64 and 64 < k <= 128 and dtype == \"f32\"; then pad 500.0 µs\n";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("\n- measured [m=64 k=1000 dtype=f32]: pad wins with "), "{text}");
}

#[test]
fn each_value_of_an_exact_feature_is_measured() {
    let multi = plain().exact("m").build().unwrap();
    assert_eq!(measured(&multi, 64.0, 160.0, "f32"), "orig");
    assert_eq!(measured(&multi, 63.0, 160.0, "f32"), "orig");
    assert_eq!(remembered(&multi, 64.0, 144.0, "f32"), "orig");
    assert_eq!(measured(&multi, 64.0, 408.0, "f32"), "pad");
}

#[test]
fn a_kernel_that_does_not_support_the_input_never_runs() {
    let multi = plain()
        .kernel("stream", 1, stream)
        .eligible("stream", |v| v[0].number() == Some(64.0))
        .build()
        .unwrap();
    assert_eq!(measured(&multi, 64.0, 100.0, "f32"), "stream");
    // The same key: the second best measured kernel runs, without measuring again.
    assert_eq!(remembered(&multi, 63.0, 100.0, "f32"), "orig");
    assert_eq!(remembered(&multi, 64.0, 100.0, "f32"), "stream");
    // Here the first measurement is for an input that `stream` does not support.
    assert!(!call(&multi, 63.0, 1000.0, "f64").contains(&"stream"));
    assert_eq!(remembered(&multi, 63.0, 1000.0, "f64"), "pad");
}

#[test]
fn an_input_that_no_measured_kernel_supports_is_measured_again() {
    let multi = MultiKernel::<Kernel>::builder(decision())
        .kernel("broken", 1, broken as Kernel)
        .kernel("stream", 1, stream)
        .kernel("pad", 1, pad)
        .timer(virtual_time)
        .eligible("stream", |v| v[0].number() == Some(64.0))
        .eligible("pad", |v| v[0].number() == Some(63.0))
        .no_cache()
        .build()
        .unwrap();
    assert_eq!(measured(&multi, 64.0, 100.0, "f32"), "stream");
    assert_eq!(measured(&multi, 63.0, 100.0, "f32"), "pad");
    // Both picks are known now, and each runs for its own inputs.
    assert_eq!(remembered(&multi, 64.0, 100.0, "f32"), "stream");
    assert_eq!(remembered(&multi, 63.0, 100.0, "f32"), "pad");
}

#[test]
fn a_kernel_that_fails_never_wins() {
    let multi = plain().kernel("broken", 1, broken).build().unwrap();
    assert_eq!(measured(&multi, 64.0, 100.0, "f32"), "orig");
    assert!(
        multi
            .events()
            .iter()
            .any(|e| e.to_string().starts_with("broken failed for [m=64 k=100 dtype=f32]: out of"))
    );
    let only = MultiKernel::<Kernel>::builder(decision()).kernel("broken", 1, broken as Kernel);
    let only = only.timer(virtual_time).no_cache().build().unwrap();
    let fails = || only.try_run(&values(1.0, 1.0, "f32"), |kernel| kernel(1.0), None).unwrap_err();
    assert_eq!(fails(), "out of shared memory");
    RAN.take();
    fails();
    assert_eq!(RAN.take().len(), 1, "it is not measured again");
}

#[test]
fn undefined_features_run_the_fallback() {
    let multi = plain().build().unwrap();
    for values in [&values(f64::NAN, 1.0, "f32")[..], &[1.into()], &[1.into(), 2.into(), 3.into()]] {
        RAN.take();
        multi.try_run(values, |kernel| kernel(1.0), None).unwrap();
        assert_eq!(RAN.take(), ["orig"]);
    }
    assert!(multi.events().is_empty());
}

#[test]
fn beyond_the_limit_nothing_is_measured() {
    let multi = plain().max_picks(3).exact("k").build().unwrap();
    for k in [1000.0, 2000.0, 3000.0] {
        assert_eq!(measured(&multi, 64.0, k, "f32"), "pad");
    }
    for k in [4000.0, 5000.0, 6000.0] {
        assert_eq!(remembered(&multi, 64.0, k, "f32"), "orig");
    }
    assert_eq!(remembered(&multi, 64.0, 2000.0, "f32"), "pad");
    let limits = multi.events().into_iter().filter(|e| matches!(e, Event::Limit { picks: 3, .. })).count();
    assert_eq!(limits, 1, "the limit is reported once");
}

#[test]
fn measurements_that_overlap_keep_the_limit() {
    let multi = plain().max_picks(1).exact("k").build().unwrap();
    let overlaps = std::cell::Cell::new(true);
    let call = |kernel: &Kernel| {
        // As another thread would, while this one measures.
        if overlaps.take() {
            assert_eq!(measured(&multi, 64.0, 2000.0, "f32"), "pad");
        }
        kernel(1000.0)
    };
    multi.try_run(&values(64.0, 1000.0, "f32"), call, None).unwrap();
    let picks = [1000.0, 2000.0].map(|k| multi.pick(&values(64.0, k, "f32")));
    assert_eq!(picks, [None, Some(1)], "{}", multi.explain());
    assert_eq!(remembered(&multi, 64.0, 1000.0, "f32"), "orig");
    let limits = multi.events().into_iter().filter(|e| matches!(e, Event::Limit { picks: 1, .. })).count();
    assert_eq!(limits, 1, "the limit is reported once");
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
fn a_sure_heuristic_decides_and_measuring_is_for_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let log_path = folder.path().join("log.txt");
    let decision = || decision().heuristic(LoadedModel::from(common::pad_mm("Test", None))).log(&log_path);
    let multi = two_at(decision()).no_cache().append_to_log(true).build().unwrap();
    // The model chooses pad from k = 101 on, although orig is faster on the virtual clock.
    assert_eq!(remembered(&multi, 64.0, 101.0, "float32"), "pad");
    assert_eq!(remembered(&multi, 64.0, 100.0, "float32"), "orig");
    // A declining leaf and an unknown category are measured.
    assert_eq!(measured(&multi, 64.0, 101.0, "float64"), "orig");
    assert_eq!(remembered(&multi, 64.0, 101.0, "float64"), "orig");
    assert_eq!(measured(&multi, 64.0, 1001.0, "int8"), "pad");
    // The log has the measurements, for the next heuristic.
    let read = log::read(&[&log_path]).unwrap();
    let inputs: Vec<&str> = read.inputs.iter().map(|i| &*i.text).collect();
    assert_eq!(inputs, ["64,101,float64", "64,1001,int8"]);
    assert!(read.metadata.collection.unwrap().timing.is_some(), "a MultiKernel measures by its policy");
    assert_eq!(read.metadata.choices.unwrap(), ["orig", "pad"]);
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
    doubles.run_on(&[2.into()], &mut x, |kernel, x| kernel(x), None);
    assert_eq!(x, [2.0, 4.0]);
    doubles.run_on(&[2.into()], &mut x, |kernel, x| kernel(x), None);
    assert_eq!(x, [4.0, 8.0]);
}

#[test]
fn threads_that_miss_together_measure_once() {
    let multi = MultiKernel::<fn()>::builder(
        AutoHeuristic::builder("sleep").numerical("n").environment(Environment::default()),
    )
    .kernel("long", 1, (|| std::thread::sleep(std::time::Duration::from_millis(2))) as fn())
    .kernel("short", 1, || std::thread::sleep(std::time::Duration::from_millis(1)))
    .exact("n")
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
fn setting_up_names_what_does_not_fit() {
    let fails = |builder: MultiKernelBuilder<Kernel>, expected: &str| {
        let error = builder.build().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    fails(plain().eligible("nope", |_| true), "no kernel \"nope\"; expected one of orig, pad");
    fails(plain().eligible("orig", |_| true), "choose a fallback that supports every input");
    fails(plain().exact("dtype"), "\"dtype\" is not a numerical feature");
    fails(plain().kernel("pad", 2, pad), "each name once");
    fails(MultiKernel::<Kernel>::builder(decision()), "one or more choices");
}
