//! Eight processes of sixteen threads share one cache and one log and are killed at random: no torn line, no wrong
//! pick, no deadlock.
//!
//! `cargo test` runs a few seconds of it. A whole minute:
//! `cargo test --release -p ah-runtime --test it -- stress:: --ignored --nocapture`
//!
//! The test starts itself again as [`worker`]. Time is virtual, so the right pick of every size is known.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use ah_model::{Feature, Schema};
use ah_runtime::multi_kernel::POLICY;
use ah_runtime::{AutoHeuristic, Environment, MultiKernel, Role};
use ah_types::log::{self, LogWriter, Metadata};

const PROCESSES: u64 = 8;
const THREADS: u64 = 16;
const SIZES: u64 = 300;
const VERSIONS: u64 = 6;

type Kernel = fn(u64);

thread_local! {
    static CLOCK: Cell<f64> = const { Cell::new(0.0) };
    static LAST_RAN: Cell<usize> = const { Cell::new(0) };
}

const KERNELS: [(&str, Kernel); 3] =
    [("orig", |n| ran(0, n)), ("pad", |n| ran(1, n)), ("stream", |n| ran(2, n))];

fn ran(kernel: usize, n: u64) {
    CLOCK.set(CLOCK.get() + takes(kernel, n));
    LAST_RAN.set(kernel);
}

/// Milliseconds, sums of powers of two.
fn takes(kernel: usize, n: u64) -> f64 {
    [0.125 + n as f64 / 512.0, 0.5, 0.0625][kernel]
}

fn supports(kernel: usize, n: u64) -> bool {
    kernel != 2 || n.is_multiple_of(3)
}

/// The fastest kernel; among kernels within the policy's relative error, the first.
fn right_pick(n: u64) -> usize {
    let supported = || (0..3).filter(|&kernel| supports(kernel, n));
    let least = supported().map(|kernel| takes(kernel, n)).min_by(f64::total_cmp).unwrap();
    supported().find(|&kernel| takes(kernel, n) <= least * (1.0 + POLICY.target_relative_error)).unwrap()
}

fn multi_kernel(folder: &Path, version: u64) -> MultiKernel<Kernel> {
    let cache = folder.join("cache");
    let mut environment = Environment::default();
    environment.picks = Some(cache);
    let decision = AutoHeuristic::builder("stress").numerical("n").environment(environment);
    let mut builder = MultiKernel::<Kernel>::builder(decision.log(folder.join("multi_kernel.txt")))
        .exact("n")
        .max_picks(1000)
        .append_to_log(true)
        .eligible("stream", |v| v[0].number().is_some_and(|n| n % 3.0 == 0.0))
        .timer(|run| {
            let begin = CLOCK.get();
            run();
            CLOCK.get() - begin
        });
    for (name, kernel) in KERNELS {
        builder = builder.kernel(name, version, kernel);
    }
    builder.build().unwrap()
}

fn collecting(folder: &Path) -> AutoHeuristic {
    AutoHeuristic::builder("stress")
        .choices(KERNELS.map(|(name, _)| name))
        .numerical("n")
        .environment(Environment::default())
        .role(Role::Collect)
        .log(folder.join("auto_heuristic.txt"))
        .build()
        .unwrap()
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) % n
    }
}

/// One of the processes; does nothing unless the stress test started it.
#[test]
fn worker() {
    let Ok(job) = std::env::var("AH_STRESS_WORKER") else { return };
    let [seed, milliseconds, folder] = job.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{job}") };
    let (seed, folder) = (seed.parse::<u64>().unwrap(), Path::new(folder));
    let end = Instant::now() + Duration::from_millis(milliseconds.parse().unwrap());
    let collecting = collecting(folder);
    let mut random = Random(seed);
    while Instant::now() < end {
        // A new program start: the cache is read again.
        let multi = multi_kernel(folder, random.below(VERSIONS));
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (multi, collecting) = (&multi, &collecting);
                let seed =
                    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (thread + 1) << 20 ^ random.below(1 << 30);
                scope.spawn(move || call_at_random(multi, collecting, Random(seed | 1), end));
            }
        });
    }
}

fn call_at_random(multi: &MultiKernel<Kernel>, collecting: &AutoHeuristic, mut random: Random, end: Instant) {
    for _ in 0..200 {
        if Instant::now() >= end {
            return;
        }
        let n = 1 + random.below(SIZES);
        let values = [n.into()];
        let known = multi.pick(&values);
        assert!(known.is_none_or(|kernel| kernel == right_pick(n)), "n = {n}: a wrong pick, {known:?}");
        let call = |kernel: &Kernel| {
            kernel(n);
            assert!(supports(LAST_RAN.get(), n), "n = {n}: a kernel ran that does not support it");
        };
        multi.run(&values, call);
        let last = LAST_RAN.get();
        assert!(last == right_pick(n) || last == 0, "n = {n}: ran {last}, neither the pick nor the fallback");
        if random.below(20) == 0 {
            let answer = collecting.choose_or_collect(&values, |choice| {
                let kernel = KERNELS.iter().position(|(name, _)| *name == choice).unwrap();
                Ok(vec![takes(kernel, n); 2])
            });
            assert_eq!(answer.choice, "orig");
        }
    }
}

fn start(seed: u64, rest: Duration, folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["stress::worker", "--exact", "--quiet", "--test-threads=1"])
        .env("AH_STRESS_WORKER", format!("{seed} {} {}", rest.as_millis(), folder.display()))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

fn stress(duration: Duration) {
    let folder = tempfile::tempdir().unwrap();
    let end = Instant::now() + duration;
    let (mut random, mut killed, mut spoilt) = (Random(0x5eed), 0, 0);
    let mut seeds = 1..;
    let mut next_seed = || seeds.next().unwrap();
    let mut processes: Vec<Child> =
        (0..PROCESSES).map(|_| start(next_seed(), duration, folder.path())).collect();
    while Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20 + random.below(100)));
        let at = usize::try_from(random.below(PROCESSES)).unwrap();
        if let Some(status) = processes[at].try_wait().unwrap() {
            assert!(Instant::now() >= end - Duration::from_millis(200), "a process ended early: {status}");
            break;
        }
        processes[at].kill().unwrap();
        processes[at].wait().unwrap();
        killed += 1;
        processes[at] = start(next_seed(), end.saturating_duration_since(Instant::now()), folder.path());
        if random.below(10) == 0 {
            spoilt += u64::from(spoil(folder.path(), &mut random));
        }
    }
    for mut process in processes {
        let patience = Instant::now() + Duration::from_secs(60);
        let status = loop {
            match process.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > patience => {
                    process.kill().unwrap();
                    panic!("a process does not end: deadlock");
                }
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        assert!(status.success(), "a process failed: {status}; see its message above");
    }

    let picks: usize = (0..VERSIONS)
        .map(|version| {
            let multi = multi_kernel(folder.path(), version);
            let known = (1..=SIZES).filter_map(|n| Some((n, multi.pick(&[n.into()])?)));
            known
                .inspect(|&(n, kernel)| assert_eq!(kernel, right_pick(n), "n = {n}, version {version}"))
                .count()
        })
        .sum();
    let mut rows = 0;
    for name in ["multi_kernel.txt", "auto_heuristic.txt"] {
        let path = folder.path().join(name);
        let read = {
            // Opening the log cuts off a line that the last kill may have torn.
            let first = std::fs::read_to_string(&path).unwrap();
            let metadata: Metadata = serde_json::from_str(first.lines().next().unwrap()).unwrap();
            let schema = Schema::new(metadata.numerical_features.iter().map(Feature::numerical)).unwrap();
            LogWriter::open(&path, &metadata, &schema, None, "write to another file (-o)").unwrap();
            log::read(&[&path]).unwrap()
        };
        let kernels: Vec<usize> =
            read.choices.iter().map(|c| KERNELS.iter().position(|(name, _)| name == c).unwrap()).collect();
        for sample in &read.samples {
            let n: u64 = read.inputs[sample.input as usize].text.parse().unwrap();
            assert_eq!(sample.feedback, takes(kernels[sample.choice.index()], n), "{name}: n = {n}");
        }
        rows += read.samples.len();
    }
    assert!(
        killed > 5 && picks > 100 && rows > 100,
        "too little happened: {killed} kills, {picks} picks, {rows} rows"
    );
    println!(
        "{PROCESSES} processes of {THREADS} threads, {duration:?}: {killed} killed, {spoilt} cache files spoilt; \
         {picks} picks on disk, {rows} log rows, all right"
    );
}

/// Writes nonsense into one of the cache's files.
fn spoil(folder: &Path, random: &mut Random) -> bool {
    let mut files: Vec<PathBuf> = Vec::new();
    for device in std::fs::read_dir(folder.join("cache")).into_iter().flatten().flatten() {
        let inside = std::fs::read_dir(device.path()).into_iter().flatten().flatten().map(|f| f.path());
        files.extend(inside.filter(|path| path.extension().is_some_and(|e| e == "json")));
    }
    files.sort();
    if files.is_empty() {
        return false;
    }
    let at = usize::try_from(random.below(files.len() as u64)).unwrap();
    let nonsense: [&[u8]; 3] = [b"", b"{\"format\": \"autoheuristic-picks\"", &[0xff; 50]];
    let nonsense = nonsense[usize::try_from(random.below(3)).unwrap()];
    std::fs::write(&files[at], nonsense).is_ok()
}

#[test]
fn a_few_seconds_of_stress() {
    stress(Duration::from_secs(3));
}

#[test]
#[ignore = "takes a minute: cargo test --release -p ah-runtime --test it -- stress:: --ignored --nocapture"]
fn a_minute_of_stress() {
    stress(Duration::from_secs(60));
}
