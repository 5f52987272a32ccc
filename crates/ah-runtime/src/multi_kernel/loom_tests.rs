//! Loom explores the orders of two threads' steps, on the code that programs run.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p ah-runtime --lib loom`. With `CARGO_TARGET_DIR=target/loom` other
//! builds stay valid.

use std::cell::Cell;
use std::sync::Arc;

use ah_types::{Device, Scalar, TimingPolicy};
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

use super::measure::Trial;
use super::{Builder, Dimension, Event, Miss, MultiKernel, POLICY, Watch};
use crate::{AutoHeuristic, Environment, Heuristic, Unsure, register};

thread_local! {
    /// Milliseconds. Loom's threads take turns on one thread, and none is interrupted inside a kernel.
    static CLOCK: Cell<f64> = const { Cell::new(0.0) };
}

type Kernel = fn() -> f64;

const SLOW: usize = 0;
const FAST: usize = 1;

/// Returns a slow fallback and a fast kernel.
fn builder() -> Builder<Kernel> {
    let decision = AutoHeuristic::builder("loom").numerical("n").environment(Environment::default());
    let policy = TimingPolicy { min_samples: 1, max_samples: 1, min_sample_ms: 0.0, ..POLICY };
    MultiKernel::<Kernel>::builder(decision.device(Device::Cpu(ah_types::Cpu {
        model: "loom".to_owned(),
        cores: 2,
        caches: Vec::new(),
        instruction_sets: Vec::new(),
    })))
    .kernel("slow", 1, (|| 2.0) as Kernel)
    .kernel("fast", 1, || 1.0)
    .policy(policy)
    .no_cache()
    .timer(|run| {
        let begin = CLOCK.get();
        run();
        CLOCK.get() - begin
    })
}

fn n(n: f64) -> [Scalar<'static>; 1] {
    [n.into()]
}

/// Runs a call; returns its last kernel.
fn run(multi: &MultiKernel<Kernel>, n: f64) -> usize {
    let ran = Cell::new(0.0);
    let call = |kernel: &Kernel| {
        ran.set(kernel());
        CLOCK.set(CLOCK.get() + ran.get());
    };
    multi.run(&self::n(n), call, None);
    if ran.get() == 2.0 { SLOW } else { FAST }
}

fn measured(multi: &MultiKernel<Kernel>) -> usize {
    multi.events().iter().filter(|event| matches!(event, Event::Measured { .. })).count()
}

/// Returns a MultiKernel that has measured 8. Only the test itself reports watched times.
fn watched() -> Arc<MultiKernel<Kernel>> {
    let watch = Watch { one_in: u32::MAX, limit: 1.5, samples: 1 };
    let multi = Arc::new(builder().watch(watch).build().unwrap());
    run(&multi, 8.0);
    multi
}

/// Explores all orders with up to five preemptions; all tests together take 5 s. With four preemptions, a test has 39 to
/// 6,519 orders. `LOOM_MAX_PREEMPTIONS` sets another bound.
fn model(test: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(builder.preemption_bound.unwrap_or(5));
    builder.max_branches = 10_000;
    builder.check(test);
}

/// Runs both at once.
fn both<A: 'static, B: 'static>(
    multi: &Arc<MultiKernel<Kernel>>,
    a: impl FnOnce(&MultiKernel<Kernel>) -> A + 'static,
    b: impl FnOnce(&MultiKernel<Kernel>) -> B,
) -> (A, B) {
    let theirs = multi.clone();
    let a = thread::spawn(move || a(&theirs));
    let b = b(multi);
    (a.join().unwrap(), b)
}

#[test]
fn of_two_that_miss_one_key_one_measures_and_both_know_it_afterwards() {
    model(|| {
        let multi = Arc::new(builder().build().unwrap());
        let (a, b) = both(&multi, |multi| run(multi, 8.0), |multi| run(multi, 8.0));
        assert!(a == FAST || b == FAST, "the measuring thread runs the pick");
        assert_eq!(measured(&multi), 1);
        assert_eq!(multi.pick(&n(8.0)), Some(FAST));
    });
}

#[test]
fn of_two_keys_neither_pick_is_lost() {
    // The claims of 8 and 10 have different places, so both can be measured at once.
    model(|| {
        let multi = Arc::new(builder().dimension("n", Dimension::exact()).build().unwrap());
        both(&multi, |multi| run(multi, 8.0), |multi| run(multi, 10.0));
        let known = [8.0, 10.0].iter().filter(|&&x| multi.pick(&n(x)).is_some()).count();
        assert_eq!(known, measured(&multi));
        assert!(known >= 1);
    });
}

#[test]
fn a_dimension_becomes_dynamic_while_another_thread_measures() {
    model(|| {
        let multi = Arc::new(builder().build().unwrap());
        run(&multi, 8.0);
        both(&multi, |multi| run(multi, 100.0), |multi| run(multi, 8.0));
        // 100 was measured in the bucket (64, 128]; the first pick still holds for its own bucket.
        assert_eq!((multi.pick(&n(65.0)), multi.pick(&n(5.0))), (Some(FAST), Some(FAST)));
        assert_eq!(measured(&multi), 2);
    });
}

#[test]
fn a_pick_is_found_slow_once_though_two_watch_it() {
    model(|| {
        let multi = watched();
        let judge = |multi: &MultiKernel<Kernel>| multi.picker.judge(FAST, &n(8.0), 1.8);
        both(&multi, judge, |multi| {
            judge(multi);
            run(multi, 8.0);
        });
        // The second measurement confirmed the pick: its promise is now 1.8, so it is no longer slow.
        let slower = |event: &Event| matches!(event, Event::Measured { miss: Miss::Slower { .. }, .. });
        assert_eq!(multi.events().iter().filter(|event| slower(event)).count(), 1);
        assert_eq!(multi.pick(&n(8.0)), Some(FAST));
    });
}

#[test]
fn a_file_does_not_undo_a_measurement() {
    model(|| {
        let multi = watched();
        let from_file = multi.picker.table.load().picks().into_iter().map(|pick| (**pick).clone()).collect();
        multi.picker.judge(FAST, &n(8.0), 1.8);
        both(&multi, |multi| multi.picker.add(from_file), |multi| run(multi, 8.0));
        let table = multi.picker.table.load();
        assert_eq!(table.find(&n(8.0)).map(|pick| pick.promised_ms), Some(1.8));
    });
}

#[test]
fn at_the_limit_neither_measures_more() {
    model(|| {
        let multi = Arc::new(builder().dimension("n", Dimension::exact()).max_picks(1).build().unwrap());
        run(&multi, 8.0);
        both(&multi, |multi| run(multi, 9.0), |multi| run(multi, 10.0));
        assert_eq!((measured(&multi), multi.pick(&n(8.0))), (1, Some(FAST)));
        let reported = multi.events().iter().filter(|event| matches!(event, Event::Limit { .. })).count();
        assert_eq!(reported, 1);
    });
}

#[test]
fn a_panic_while_measuring_gives_the_claim_back() {
    model(|| {
        let multi = Arc::new(builder().build().unwrap());
        both(
            &multi,
            |multi| {
                let panics =
                    std::panic::AssertUnwindSafe(|| multi.picker.missed(&n(8.0), &mut PanickingTrial));
                std::panic::catch_unwind(panics).is_err()
            },
            |multi| run(multi, 8.0),
        );
        run(&multi, 8.0);
        assert_eq!(multi.pick(&n(8.0)), Some(FAST));
    });
}

/// Panics outside of any kernel, so that nothing catches it.
struct PanickingTrial;

impl Trial for PanickingTrial {
    fn repeats(&self) -> bool {
        false
    }
    fn time(&mut self, _: usize, _: u32) -> Result<f64, String> {
        panic!("on purpose")
    }
    fn check(&mut self, _: usize) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn a_panic_of_the_pick_is_remembered_while_another_thread_calls_it() {
    model(|| {
        let multi = Arc::new(builder().build().unwrap());
        run(&multi, 8.0);
        let panicked = |multi: &MultiKernel<Kernel>| multi.picker.panicked(FAST, &n(8.0), "panicked".into());
        both(&multi, panicked, |multi| {
            run(multi, 8.0);
            panicked(multi);
        });
        assert_eq!(multi.pick(&n(8.0)), Some(SLOW));
    });
}

/// Always chooses `slow`.
struct Always;

impl Heuristic for Always {
    fn name(&self) -> &str {
        "Always"
    }
    fn optimization(&self) -> &str {
        "loom"
    }
    fn features(&self) -> Vec<&str> {
        vec!["n"]
    }
    fn choices(&self) -> Vec<&str> {
        vec!["slow"]
    }
    fn admits(&self, _: &Device) -> Result<(), ah_types::DeviceMismatch> {
        Ok(())
    }
    fn decide(&self, _: &[Scalar<'_>], _: &dyn Fn(usize) -> bool) -> Result<usize, Unsure> {
        Ok(0)
    }
    fn ranked(&self, _: &[Scalar<'_>], visit: &mut dyn FnMut(usize)) -> Result<(), Unsure> {
        visit(0);
        Ok(())
    }
}

#[test]
fn a_thread_that_knows_of_a_registration_decides_by_it() {
    model(|| {
        let multi = Arc::new(builder().build().unwrap());
        run(&multi, 8.0);
        let registered = Arc::new(AtomicBool::new(false));
        let flag = registered.clone();
        both(
            &multi,
            move |_| {
                register(Always);
                flag.store(true, Ordering::Release);
            },
            move |multi| {
                let knows = registered.load(Ordering::Acquire);
                let (picked, answer) = (multi.pick(&n(8.0)), multi.decision().choose(&n(8.0)));
                assert!(!knows || (picked == Some(SLOW) && answer.is_learned()));
            },
        );
        assert_eq!(multi.pick(&n(8.0)), Some(SLOW));
    });
}
