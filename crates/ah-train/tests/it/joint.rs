//! Logs of hundreds of choices, where each input times a few. The truth is known: a matrix product in tiles on 132
//! multiprocessors, in microseconds.

use std::fmt::Write as _;
use std::path::PathBuf;

use ah_model::Target;
use ah_train::{Params, TrainedModel, evaluate, train};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

/// A configuration of the product.
#[derive(Clone, Copy)]
struct Tile {
    m: f64,
    n: f64,
    k: f64,
    stages: f64,
    warps: f64,
}

impl Tile {
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for m in [16.0, 32.0, 64.0, 128.0, 256.0] {
            for n in [16.0, 32.0, 64.0, 128.0, 256.0] {
                for (k, warps) in
                    [(32.0, 2.0), (32.0, 4.0), (32.0, 8.0), (64.0, 4.0), (64.0, 8.0), (128.0, 8.0)]
                {
                    all.extend([2.0, 4.0].map(|stages| Self { m, n, k, stages, warps }));
                }
            }
        }
        all
    }

    fn name(&self) -> String {
        let Self { m, n, k, stages, warps } = self;
        format!("BLOCK_K={k}_BLOCK_M={m}_BLOCK_N={n}_num_stages={stages}_num_warps={warps}")
    }

    fn shared_memory(&self) -> f64 {
        self.stages * (self.m + self.n) * self.k * 2.0
    }

    fn time(&self, [m, n, k]: [f64; 3]) -> f64 {
        let Self { m: tile_m, n: tile_n, k: tile_k, stages, warps } = *self;
        let (tiles, steps) = ((m / tile_m).ceil() * (n / tile_n).ceil(), (k / tile_k).ceil());
        let resident = (232_448.0 / self.shared_memory()).min(16.0 / warps).clamp(1.0, 8.0).floor();
        let waves = (tiles / (132.0 * resident)).ceil() * resident;
        let by_warps = match warps {
            2.0 => 0.75,
            4.0 => 1.0,
            _ if tile_m * tile_n >= 16_384.0 => 1.05,
            _ => 0.8,
        };
        let efficiency = (tile_m * tile_n / 16_384.0).min(1.0).powf(0.25) * by_warps * (1.0 - 0.25 / stages);
        let arithmetic = 2.0 * tile_m * tile_n * tile_k / (4e6 * efficiency);
        let memory = (tile_m + tile_n) * tile_k * 2.0 / (2.5e4 * (1.0 + 0.15 * resident.min(4.0)));
        let spilled = if tile_m * tile_n / (warps * 32.0) > 256.0 { 1.6 } else { 1.0 };
        3.0 + waves * (steps * arithmetic.max(memory) * spilled * 0.35 + 0.6 + 0.1 * stages)
    }
}

fn shapes(count: usize, random: &mut Pcg64) -> Vec<[f64; 3]> {
    let mut size = |least: f64| (2_f64.powf(random.random_range(least..13.0)) / 16.0).ceil() * 16.0;
    (0..count).map(|_| [(size(4.0) / 5.0).ceil(), size(5.0), size(5.0)]).collect()
}

/// A log of a product with these shapes, where each of them times some choices.
struct Product {
    tiles: Vec<Tile>,
    text: String,
}

impl Product {
    fn new(tiles: &[Tile]) -> Self {
        let features = r#""numerical_features": ["M", "N", "K"], "categorical_features": []"#;
        let head =
            format!(r#"{{"name": "product", "shared_memory": 232448, "device_capa": [9, 0], {features}}}"#);
        Self { tiles: tiles.to_vec(), text: format!("{head}\nM,N,K,choice,feedback\n") }
    }

    fn add(&mut self, shape: [f64; 3], tile: &Tile, time: f64) {
        let [m, n, k] = shape;
        let _ = writeln!(self.text, "{m},{n},{k},{},{time}", tile.name());
    }

    /// Adds shapes that each time `count` choices with a noise of 2 %.
    fn sampled(mut self, shapes: &[[f64; 3]], count: usize, random: &mut Pcg64) -> Self {
        let mut order: Vec<usize> = (0..self.tiles.len()).collect();
        for &shape in shapes {
            order.shuffle(random);
            for &at in &order[..count] {
                let noise: f64 = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
                let tile = self.tiles[at];
                self.add(shape, &tile, tile.time(shape) / 1000.0 * (0.02 * noise).exp());
            }
        }
        self
    }

    fn write(&self, folder: &tempfile::TempDir, name: &str) -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, &self.text).unwrap();
        path
    }
}

fn learn(path: PathBuf) -> TrainedModel {
    train(&Params::new(vec![path], "T")).unwrap()
}

#[test]
fn a_sparse_table_is_learned_and_says_that_it_cannot_judge_itself() {
    let tiles = Tile::all();
    assert_eq!(tiles.len(), 300);
    let learns = |seed: u64| {
        let folder = tempfile::tempdir().unwrap();
        let mut random = Pcg64::seed_from_u64(seed);
        let log = Product::new(&tiles).sampled(&shapes(200, &mut random), 25, &mut random);
        let mut truth = Product::new(&tiles);
        for shape in shapes(500, &mut random) {
            tiles.iter().for_each(|tile| truth.add(shape, tile, tile.time(shape) / 1000.0));
        }
        let trained = learn(log.write(&folder, "log.txt"));
        let judged =
            evaluate(&trained.model, &[truth.write(&folder, "truth.txt")], None, false).unwrap().comparison;
        let found = judged.model.slowdown;
        println!("loses {found:.4}; best single {:.4}", judged.best_single.metrics.slowdown);
        // Its own inputs cannot judge it.
        let summary = ah_train::report::summary::trained(&trained);
        assert!(summary.contains("What it loses is not known: the log times 8 %"), "{summary}");
        assert!(!summary.contains("Loses"), "{summary}");
        assert!(judged.timed.is_none());
        // JSON, `evaluate` and the page say the same of a log that times few choices.
        let sparse = evaluate(&trained.model, &[folder.path().join("log.txt")], None, false).unwrap();
        let figures = serde_json::json!(sparse.comparison);
        assert!(
            figures["model"]["slowdown"].is_null() && figures["model"]["over_limit"].is_null(),
            "{figures}"
        );
        assert!(figures["best_single"]["metrics"]["total"].is_null(), "{figures}");
        let metrics = &trained.model.provenance.metrics["held_out"];
        assert!(metrics["slowdown"].is_null() && metrics["inputs"].is_u64(), "{metrics}");
        let page = ah_train::report::page::html(&trained.model, &sparse);
        assert!(page.contains("What it loses is not known: the log times 8 %"));
        assert!(judged.best_single.metrics.slowdown > 1.2);
        assert!(trained.model.choices.len() <= 64);
        assert!(
            trained
                .held_out
                .evaluation
                .comparison
                .timed
                .is_some_and(|share| (share - 25.0 / 300.0).abs() < 1e-3)
        );
        found
    };
    let mean = [1, 2, 3].map(learns).iter().sum::<f64>() / 3.0;
    assert!(mean <= 1.035, "{mean}");
}

/// A program that names no choices takes only those that are expected, so a choice with a few times was never taken.
#[test]
fn a_choice_that_was_added_later_is_learned_from_a_few_times() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Pcg64::seed_from_u64(9);
    let is_usual =
        |tile: &&Tile| tile.k == 64.0 && tile.stages == 4.0 && tile.warps == 8.0 && tile.m <= 128.0;
    let tiles: Vec<Tile> = Tile::all().iter().filter(is_usual).copied().collect();
    let [shapes, fresh] = [200, 300].map(|count| shapes(count, &mut random));
    // The choice that wins most was added last.
    let fastest = |shape: &[f64; 3]| {
        (0..tiles.len()).min_by(|&a, &b| tiles[a].time(*shape).total_cmp(&tiles[b].time(*shape))).unwrap()
    };
    let wins = |at: &usize| shapes.iter().filter(|shape| fastest(shape) == *at).count();
    let late = (0..tiles.len()).max_by_key(wins).unwrap();
    let (mut log, mut truth) = (Product::new(&tiles), Product::new(&tiles));
    for (at, shape) in shapes.iter().enumerate() {
        let timed = tiles.iter().enumerate().filter(|(choice, _)| *choice != late || at % 10 == 0);
        timed.for_each(|(_, tile)| log.add(*shape, tile, tile.time(*shape) / 1000.0));
    }
    for shape in fresh {
        tiles.iter().for_each(|tile| truth.add(shape, tile, tile.time(shape) / 1000.0));
    }
    let [log, truth] = [log.write(&folder, "log.txt"), truth.write(&folder, "truth.txt")];
    let trained = learn(log.clone());
    assert!(trained.warnings.iter().any(|text| text.contains(&tiles[late].name())), "{:?}", trained.warnings);
    let summary = ah_train::report::summary::trained(&trained);
    assert!(summary.contains("What it loses is not known"), "{summary}");
    let judged =
        evaluate(&trained.model, std::slice::from_ref(&truth), None, false).unwrap().comparison.model;
    println!("loses {:.4}, naming its choices {:.4}", judged.slowdown, judged.ranked_slowdown);
    assert!(judged.slowdown < 1.05 && judged.unmeasured == 0, "{judged:?}");
    // An estimate knows nothing of failures: where some of the few times are failures, nothing is estimated.
    let text = std::fs::read_to_string(&log).unwrap();
    let mut times = 0;
    let lines = text.lines().map(|line| match line.split_once(&format!(",{},", tiles[late].name())) {
        Some((shape, ms)) => {
            times += 1;
            let ms = if times % 3 == 0 { "inf" } else { ms };
            format!("{shape},{},{ms}\n", tiles[late].name())
        }
        None => format!("{line}\n"),
    });
    let failing = folder.path().join("failing.txt");
    std::fs::write(&failing, lines.collect::<String>()).unwrap();
    assert!(learn(failing).held_out.evaluation.comparison.timed.is_none());
    // A promise must not rest on estimates.
    let fallback = Some(tiles[(late + 1) % tiles.len()].name());
    let with_fallback = train(&Params { fallback, ..Params::new(vec![log], "T") }).unwrap();
    assert!(with_fallback.held_out.evaluation.comparison.timed.is_none());
    let warns = |text: &String| text.contains("must not rest on estimates");
    assert!(with_fallback.warnings.iter().any(warns), "{:?}", with_fallback.warnings);
}

/// Where most choices lack times, as in PyTorch's logs of `mm`, each may run on some inputs alone.
#[test]
fn most_choices_are_not_added_later() {
    let (folder, mut random) = (tempfile::tempdir().unwrap(), Pcg64::seed_from_u64(11));
    let tiles: Vec<Tile> = Tile::all().iter().step_by(29).copied().collect();
    let mut log = Product::new(&tiles);
    for (at, shape) in shapes(200, &mut random).into_iter().enumerate() {
        let timed = tiles.iter().enumerate().filter(|(choice, _)| *choice < 2 || choice % 4 == at % 4);
        timed.for_each(|(_, tile)| log.add(shape, tile, tile.time(shape) / 1000.0));
    }
    let trained = learn(log.write(&folder, "log.txt"));
    assert!(trained.held_out.evaluation.comparison.timed.is_none(), "{:?}", trained.warnings);
}

/// The names of these choices have no tiles, so no formula estimates the new one.
#[test]
fn a_choice_that_was_added_later_and_is_not_estimated_is_named() {
    let (folder, mut random) = (tempfile::tempdir().unwrap(), Pcg64::seed_from_u64(10));
    let mut log = Product::new(&[]);
    for (at, [m, n, k]) in shapes(200, &mut random).into_iter().enumerate() {
        let timed = [("old", 2.0), ("other", 1.0 + m / n), ("new", 0.5)];
        for (choice, time) in timed.into_iter().filter(|(choice, _)| *choice != "new" || at % 10 == 0) {
            let _ = writeln!(log.text, "{m},{n},{k},{choice},{time}");
        }
    }
    let warnings = learn(log.write(&folder, "log.txt")).warnings;
    let says = |text: &String| text.contains("20 of 200 inputs time new. It is compared on these alone");
    assert!(warnings.iter().any(says), "{warnings:?}");
}

/// Boosted trees in Python take as long as a product here; one tree takes a third of a microsecond.
#[test]
fn a_sparse_table_has_trees_of_a_few_sizes_in_python() {
    let (tiles, folder, mut random) = (Tile::all(), tempfile::tempdir().unwrap(), Pcg64::seed_from_u64(1));
    let mut log = Product::new(&tiles).sampled(&shapes(200, &mut random), 25, &mut random);
    log.text = log.text.replace("[9, 0]", "[0, 0]");
    let params =
        Params { targets: vec![Target::Python], ..Params::new(vec![log.write(&folder, "log.txt")], "T") };
    let model = train(&params).unwrap().model;
    assert!(model.boosters.is_empty() && model.leaf_count() > 1, "{} leaves", model.leaf_count());
    assert!(model.tree.leaves().all(|(_, leaf)| leaf.ranking.iter().all(|ranked| ranked.measured > 0)));
}

/// A decision takes time, and one that always takes the same choice saves none.
#[test]
fn where_one_choice_is_the_fastest_nobody_needs_to_ask() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Pcg64::seed_from_u64(4);
    let tiles = &Tile::all()[..40];
    let mut log = Product::new(tiles);
    for shape in shapes(60, &mut random) {
        for (rank, tile) in tiles.iter().enumerate().filter(|_| random.random_bool(0.8)) {
            log.add(shape, tile, (1.0 + 0.1 * rank as f64) * shape[0] / 1000.0);
        }
    }
    let trained = learn(log.write(&folder, "log.txt"));
    assert!(trained.held_out.evaluation.comparison.timed.is_some());
    assert_eq!((trained.model.boosters.len(), trained.model.leaf_count()), (0, 1));
}

#[test]
fn what_a_leaf_ranks_was_measured_and_what_fails_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Pcg64::seed_from_u64(2);
    let tiles: Vec<Tile> = Tile::all().into_iter().step_by(3).collect();
    let mut log = Product::new(&tiles);
    let fails = |tile: &Tile| tile.shared_memory() > 60_000.0;
    for shape in shapes(100, &mut random) {
        for tile in &tiles {
            if random.random::<f64>() < 0.2 {
                log.add(shape, tile, if fails(tile) { f64::INFINITY } else { tile.time(shape) / 1000.0 });
            }
        }
    }
    let trained = learn(log.write(&folder, "log.txt"));
    let failing: Vec<String> = tiles.iter().filter(|tile| fails(tile)).map(Tile::name).collect();
    assert!(!failing.is_empty());
    assert!(trained.model.choices.iter().all(|choice| !failing.contains(choice)));
    for (_, leaf) in trained.model.tree.leaves() {
        assert!(leaf.ranking.iter().all(|ranked| ranked.measured > 0));
    }
}

#[test]
fn threads_and_the_order_of_rows_do_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Pcg64::seed_from_u64(3);
    let tiles: Vec<Tile> = Tile::all().into_iter().step_by(6).collect();
    let log = Product::new(&tiles).sampled(&shapes(60, &mut random), 12, &mut random);
    let model = |text: &str, threads: usize| {
        let path = folder.path().join("log.txt");
        std::fs::write(&path, text).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut model = pool.install(|| learn(path)).model;
        // The bytes of the log differ, and only they may.
        model.provenance.logs.clear();
        model.to_json()
    };
    let mut lines: Vec<&str> = log.text.lines().collect();
    lines[2..].shuffle(&mut random);
    assert_eq!(model(&(lines.join("\n") + "\n"), 3), model(&log.text, 1));
}

#[test]
fn choices_of_other_fields_of_texts_and_of_none_are_learned() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Pcg64::seed_from_u64(4);
    let (mut log, mut truth) = (Product::new(&[]), Product::new(&[]));
    let names: Vec<String> = (0..48)
        .map(|at| match at % 3 {
            0 => format!("order={}_unroll={}", ["rows", "columns", "blocks"][at % 5 % 3], at),
            1 => format!("vector={at}"),
            _ => format!("library {at}"),
        })
        .collect();
    for [m, n, k] in shapes(80, &mut random) {
        for (at, name) in names.iter().enumerate() {
            // The first ones are for few rows, the last ones for many.
            let row = format!("{m},{n},{k},{name},{}\n", 1.0 + (m.log2() / 11.0 - at as f64 / 48.0).abs());
            if random.random::<f64>() < 0.3 {
                log.text += &row;
            }
            truth.text += &row;
        }
    }
    let trained = learn(log.write(&folder, "log.txt"));
    let unknown = &trained.held_out.evaluation.comparison.model;
    assert!(unknown.slowdown.is_nan() && unknown.inputs > 0, "{unknown:?}");
    let metrics =
        evaluate(&trained.model, &[truth.write(&folder, "truth.txt")], None, false).unwrap().comparison;
    println!("loses {:.4}, best single {:.4}", metrics.model.slowdown, metrics.best_single.metrics.slowdown);
    assert!(metrics.model.slowdown < metrics.best_single.metrics.slowdown);
}

/// Without fields nobody can tell a choice that was not timed from one that cannot run.
#[test]
fn few_times_of_choices_without_fields_are_warned_about() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Pcg64::seed_from_u64(8);
    let (mut log, mut named) = (Product::new(&[]), Product::new(&[]));
    for [m, n, k] in shapes(60, &mut random) {
        for at in (0..48).filter(|_| random.random::<f64>() < 0.3) {
            let _ = writeln!(log.text, "{m},{n},{k},option {at},{}", 1 + at % 7);
            let _ = writeln!(named.text, "{m},{n},{k},option={at},{}", 1 + at % 7);
        }
    }
    let warnings = |log: &Product, name: &str| {
        std::fs::write(folder.path().join(name), &log.text).unwrap();
        let warnings = learn(folder.path().join(name)).warnings;
        warnings.into_iter().filter(|text| text.contains("have no fields")).collect::<Vec<_>>()
    };
    let found = warnings(&log, "log.txt");
    assert!(
        found.len() == 1 && found[0].contains("of 48 choices") && found[0].contains("KEY=VALUE"),
        "{found:?}"
    );
    assert_eq!(warnings(&named, "named.txt"), Vec::<String>::new());
}

/// A tile of more rows than the input has cannot run, so inputs time few sets of choices, again and again.
#[test]
fn choices_that_cannot_run_are_not_estimated() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Pcg64::seed_from_u64(6);
    let tiles: Vec<Tile> = Tile::all().into_iter().step_by(3).collect();
    let mut log = Product::new(&tiles);
    for shape in shapes(200, &mut random) {
        let can_run = |tile: &&Tile| tile.m <= shape[0].max(16.0) && tile.m * 16.0 >= shape[0].min(4096.0);
        tiles.iter().filter(can_run).for_each(|tile| log.add(shape, tile, tile.time(shape) / 1000.0));
    }
    let trained = learn(log.write(&folder, "log.txt"));
    assert!(trained.portfolio.is_none() && trained.held_out.evaluation.comparison.timed.is_none());
    let summary = ah_train::report::summary::trained(&trained);
    assert!(summary.contains("Loses"), "{summary}");
    let slowdown = trained.held_out.evaluation.comparison.model.slowdown;
    assert!(slowdown < 1.1, "{slowdown}");
}

#[test]
fn times_that_cannot_be_compared_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Pcg64::seed_from_u64(7);
    let mut log = Product::new(&[]);
    for (at, [m, n, k]) in shapes(20, &mut random).into_iter().enumerate() {
        // Each of 10,000 choices has one time.
        for choice in at * 500..(at + 1) * 500 {
            let _ =
                writeln!(log.text, "{m},{n},{k},tile={}_unroll={},{}", choice / 8, choice % 8, choice + 1);
        }
    }
    let path = folder.path().join("log.txt");
    std::fs::write(&path, &log.text).unwrap();
    let refused = train(&Params::new(vec![path], "T")).err().unwrap().to_string();
    assert!(refused.contains("3 timed choices an input, found 0.0 of 10000"), "{refused}");
}

#[test]
fn a_dense_log_of_many_choices_keeps_few() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Pcg64::seed_from_u64(5);
    let tiles = Tile::all();
    let log = Product::new(&tiles).sampled(&shapes(120, &mut random), tiles.len(), &mut random);
    let trained = learn(log.write(&folder, "log.txt"));
    let portfolio = trained.portfolio.as_ref().unwrap();
    assert!(trained.held_out.evaluation.comparison.timed.is_none());
    assert!((1.0..1.1).contains(&portfolio.slowdown));
    assert_eq!(trained.model.choices, portfolio.choices);
    assert_eq!(portfolio.choices.len(), 24);
}
