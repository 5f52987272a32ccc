//! Kernels that panic or return wrong results: the program goes on with the fallback, and remembers.

use crate::common;
use crate::common::virtual_kernels;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ah_runtime::multi_kernel::{Event, MultiKernelBuilder};
use ah_runtime::{AutoHeuristic, Environment, LoadedModel, MultiKernel, Role};
use virtual_kernels::*;

thread_local!(static PANICS: Cell<bool> = const { Cell::new(true) });

/// The fastest kernel, unless it panics.
fn moody(k: f64) -> Result<f64, String> {
    took("moody", 1.0 / 64.0);
    assert!(!PANICS.get(), "on purpose");
    Ok(k * 2.0)
}

/// The fastest kernel, and wrong.
fn wrong(_: f64) -> Result<f64, String> {
    took("wrong", 1.0 / 128.0);
    Ok(7.0)
}

fn with_moody(environment: Environment) -> MultiKernelBuilder<Kernel> {
    two(environment).kernel("moody", 1, moody)
}

fn failures(multi: &MultiKernel<Kernel>) -> Vec<String> {
    let failed = |event: Event| match event {
        Event::Failed { kernel, reason, .. } => Some(format!("{kernel} {reason}")),
        _ => None,
    };
    multi.events().into_iter().filter_map(failed).collect()
}

#[test]
fn a_kernel_that_panics_while_measured_has_failed() {
    let folder = tempfile::tempdir().unwrap();
    let multi = with_moody(cached_in(folder.path())).build().unwrap();
    PANICS.set(true);
    assert_eq!(measured(&multi, 64.0, 1000.0, "f32"), "pad");
    assert_eq!(failures(&multi), ["moody panicked: on purpose"]);
    assert_eq!(remembered(&multi, 64.0, 1000.0, "f32"), "pad");
    // The next program start reads the failure from the cache.
    let next = with_moody(cached_in(folder.path())).build().unwrap();
    assert_eq!(remembered(&next, 64.0, 1000.0, "f32"), "pad");
}

#[test]
fn a_pick_that_panics_later_gives_way_to_the_fallback_and_then_to_the_second_best() {
    let folder = tempfile::tempdir().unwrap();
    let multi = with_moody(cached_in(folder.path())).build().unwrap();
    PANICS.set(false);
    assert_eq!(measured(&multi, 64.0, 1000.0, "f32"), "moody");
    PANICS.set(true);
    assert_eq!(call(&multi, 64.0, 1000.0, "f32"), ["moody", "orig"], "the result is the fallback's");
    assert_eq!(failures(&multi), ["moody panicked: on purpose"]);
    assert_eq!(remembered(&multi, 64.0, 1000.0, "f32"), "pad");
    let next = with_moody(cached_in(folder.path())).build().unwrap();
    assert_eq!(remembered(&next, 64.0, 1000.0, "f32"), "pad");
}

#[test]
fn a_kernel_that_a_heuristic_or_the_environment_chooses_and_that_panics_is_not_called_again() {
    // The model chooses `pad` for k = 101; here that name is `moody`'s.
    let chosen = decision().heuristic(LoadedModel::from(common::pad_mm("Test", None)));
    let by_heuristic = MultiKernel::<Kernel>::builder(chosen).no_cache();
    let by_heuristic = by_heuristic.kernel("orig", 1, orig as Kernel).kernel("pad", 1, moody);
    let forced = environment(&[("AUTOHEURISTIC_FORCE_KERNEL", std::path::Path::new("2"))]);
    let by_environment = with_moody(forced).no_cache();
    for builder in [by_heuristic, by_environment] {
        let multi = builder.timer(virtual_time).build().unwrap();
        PANICS.set(true);
        assert_eq!(call(&multi, 64.0, 101.0, "float32"), ["moody", "orig"]);
        for _ in 0..3 {
            assert!(!call(&multi, 64.0, 101.0, "float32").contains(&"moody"));
        }
    }
}

#[test]
fn a_panic_of_the_fallback_reaches_the_caller() {
    let only = MultiKernel::<Kernel>::builder(decision()).kernel("moody", 1, moody as Kernel);
    let only = only.timer(virtual_time).no_cache().build().unwrap();
    PANICS.set(true);
    for _ in 0..2 {
        let run = || only.try_run(&values(1.0, 1.0, "f32"), |kernel| kernel(1.0), None);
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    }
}

#[test]
fn a_kernel_that_panics_on_its_callers_input_panics_once() {
    type InPlace = fn(&mut Vec<f64>);
    let doubles = MultiKernel::<InPlace>::builder(
        AutoHeuristic::builder("double").numerical("length").environment(Environment::default()),
    )
    .kernel("slow", 1, (|x| x.iter_mut().for_each(|x| *x *= 2.0)) as InPlace)
    .kernel("moody", 1, |x| {
        x[0] *= 2.0;
        assert!(!PANICS.get(), "half written");
    })
    .timer(|run| {
        run();
        if PANICS.get() { 1.0 } else { 0.5 }
    })
    .no_cache()
    .build()
    .unwrap();
    PANICS.set(true);
    doubles.run_on(&[1.into()], &mut vec![1.0], |kernel, x| kernel(x), None);
    assert_eq!(doubles.pick(&[1.into()]), Some(0), "measuring worked on clones");
    PANICS.set(false);
    let mut x = vec![1.0];
    let forced = environment(&[("AUTOHEURISTIC_FORCE_KERNEL", std::path::Path::new("1"))]);
    let doubles = MultiKernel::<InPlace>::builder(
        AutoHeuristic::builder("double").numerical("length").environment(forced),
    )
    .kernel("slow", 1, (|x| x.iter_mut().for_each(|x| *x *= 2.0)) as InPlace)
    .kernel("moody", 1, |_| assert!(!PANICS.get(), "half written"))
    .build()
    .unwrap();
    PANICS.set(true);
    let mut run = || doubles.run_on(&[1.into()], &mut x, |kernel, x| kernel(x), None);
    assert!(catch_unwind(AssertUnwindSafe(&mut run)).is_err());
    run();
    assert_eq!(x, [2.0], "the second call ran the fallback");
}

#[test]
fn a_fast_wrong_kernel_never_wins_if_results_are_compared() {
    let build = || two(Environment::default()).kernel("wrong", 1, wrong).no_cache().build().unwrap();
    for run in 0..50 {
        let (checked, trusting) = (build(), build());
        let k = 900.0 + f64::from(run);
        let values = values(64.0, k, "f32");
        let result = checked.try_run(&values, |kernel| kernel(k), Some(&|expected, found| expected == found));
        assert_eq!(result, Ok(2.0 * k));
        assert_eq!(
            failures(&checked),
            ["wrong wrong result: it does not agree with the fallback's"],
            "the wrong result is reported once"
        );
        assert_eq!(
            trusting.try_run(&values, |kernel| kernel(k), None),
            Ok(7.0),
            "without a comparison it wins"
        );
    }
}

#[test]
fn a_checked_call_trusts_no_pick_that_an_unchecked_one_measured() {
    let folder = tempfile::tempdir().unwrap();
    let build =
        || two(cached_in(folder.path())).kernel("wrong", 1, wrong).exact("k").max_picks(1).build().unwrap();
    let values = values(64.0, 1000.0, "f32");
    let run = |multi: &MultiKernel<Kernel>, checks: bool| {
        RAN.take();
        let agrees = |expected: &Result<f64, String>, found: &Result<f64, String>| expected == found;
        let result = multi.try_run(
            &values,
            |kernel| kernel(1000.0),
            if checks { Some(&agrees as &dyn Fn(&_, &_) -> bool) } else { None },
        );
        (result.unwrap(), RAN.take().len())
    };
    let first = build();
    assert_eq!(run(&first, false).0, 7.0);
    let from_file = build();
    assert_eq!(run(&from_file, false), (7.0, 1), "it is remembered in the file");
    for multi in [first, from_file] {
        let (result, ran) = run(&multi, true);
        assert_eq!(result, 2000.0);
        assert!(ran > 4, "it is measured again");
        assert_eq!(run(&multi, true), (2000.0, 1), "and remembered");
        assert_eq!(run(&multi, false), (2000.0, 1), "a checked pick serves every call");
    }
    assert_eq!(run(&build(), true), (2000.0, 1), "the file knows that it was checked");
}

#[test]
fn outputs_of_kernels_that_write_are_compared() {
    type InPlace = fn(&mut Vec<f64>);
    let build = || {
        MultiKernel::<InPlace>::builder(
            AutoHeuristic::builder("double").numerical("length").environment(Environment::default()),
        )
        .kernel("right", 1, (|x| x.iter_mut().for_each(|x| *x *= 2.0)) as InPlace)
        .kernel("wrong", 1, |x| CLOCK.set(CLOCK.get() - 0.5 + x[0] * 0.0))
        .timer(|run| 1.0 + virtual_time(run))
        .no_cache()
        .build()
        .unwrap()
    };
    let (checked, trusting, mut x, mut y) = (build(), build(), vec![1.0], vec![1.0]);
    checked.run_on(&[1.into()], &mut x, |kernel, x| kernel(x), Some(&|expected, found| expected == found));
    trusting.run_on(&[1.into()], &mut y, |kernel, y| kernel(y), None);
    assert_eq!((x, y), (vec![2.0], vec![1.0]));
}

#[test]
fn results_cannot_be_compared_with_a_failed_fallback() {
    let multi = MultiKernel::<Kernel>::builder(decision()).kernel("broken", 1, broken as Kernel);
    let multi = multi.kernel("wrong", 1, wrong).timer(virtual_time).no_cache().build().unwrap();
    let result = multi.try_run(&values(1.0, 1.0, "f32"), |kernel| kernel(1.0), Some(&|a, b| a == b));
    assert_eq!(result, Err("out of shared memory".to_owned()));
    assert!(
        failures(&multi)[1].contains("the fallback failed: out of shared memory"),
        "{:?}",
        failures(&multi)
    );
}

#[test]
fn a_measurement_of_the_program_that_panics_is_a_failed_choice() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.txt");
    let auto =
        AutoHeuristic::builder("sort").choices(["std", "radix"]).numerical("length").role(Role::Collect);
    let auto = auto.environment(Environment::default()).log(&log).build().unwrap();
    let answer = auto.choose_or_collect(&[7.into()], |choice| match choice {
        "radix" => panic!("on purpose"),
        _ => Ok(vec![0.5]),
    });
    assert_eq!(answer.choice, "std");
    let rows = std::fs::read_to_string(&log).unwrap();
    assert!(rows.ends_with("7,std,0.5\n7,radix,inf\n"), "{rows}");
}
