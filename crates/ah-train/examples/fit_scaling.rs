//! One fit of the learner `soft` to unlimited depth: `fit_scaling ROWS [THREADS [FOLDER]]`.
//!
//! 40 features (half of them with 2 to 64 values, half continuous) and 22 choices; the winner follows from
//! a few features with noise. With one winner for each row the soft targets are one-hot, and their
//! variance is Gini's impurity: scikit-learn's DecisionTreeClassifier does the same work.
//! With FOLDER, the matrix is written there for `scripts/compare-scikit-learn.sh`.

use std::time::Instant;

use ah_train::columns::Columns;
use ah_train::learners::{Learner, Preset, Rows, Soft};
use ah_train::targets::Targets;
use linfa::DatasetBase;
use rand::{Rng, SeedableRng};

/// The matrix by column, and the winners.
fn matrix(rows: usize) -> (Vec<Vec<f64>>, Vec<usize>) {
    let mut random = rand_pcg::Pcg64::seed_from_u64(1);
    let column = |c: usize, random: &mut rand_pcg::Pcg64| -> Vec<f64> {
        let values = 2_u32 << (c % 6);
        let value = |random: &mut rand_pcg::Pcg64| match c % 2 {
            0 => f64::from(random.random_range(0..values)),
            _ => f64::from(random.random::<f32>()),
        };
        (0..rows).map(|_| value(random)).collect()
    };
    let columns: Vec<Vec<f64>> = (0..40).map(|c| column(c, &mut random)).collect();
    let winner = |row: usize| {
        let x = |c: usize| columns[c][row];
        let rule = (x(1) * 4.0) as usize * 5 + (x(3) * 3.0) as usize * 2 + x(0) as usize;
        if random.random_bool(0.2) { random.random_range(0..22) } else { rule % 22 }
    };
    let winners = (0..rows).map(winner).collect();
    (columns, winners)
}

fn main() -> std::io::Result<()> {
    let mut args = std::env::args().skip(1);
    let rows: usize = args.next().and_then(|a| a.parse().ok()).unwrap_or(100_000);
    let threads: usize = args.next().and_then(|a| a.parse().ok()).unwrap_or(1);
    let (values, winners) = matrix(rows);
    if let Some(folder) = args.next() {
        let folder = std::path::PathBuf::from(folder);
        let numbers: Vec<u8> = values.iter().flatten().flat_map(|x| (*x as f32).to_le_bytes()).collect();
        std::fs::write(folder.join("features.f32"), numbers)?;
        let labels: Vec<u8> = winners.iter().map(|w| *w as u8).collect();
        std::fs::write(folder.join("labels.u8"), labels)?;
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    pool.install(|| {
        let start = Instant::now();
        let columns = Columns::from_numbers(&values, 512);
        drop(values);
        let targets = Targets::from_winners(&winners);
        let ready = start.elapsed().as_secs_f64();
        let inputs: Vec<u32> = (0..rows as u32).collect();
        let dataset = DatasetBase::new(Rows { columns: &columns, inputs: &inputs }, &targets);
        let soft = Soft { min_gain: 0.0, sweeps: 0, ..Soft::preset(Preset::A, 64, 1) };
        let start = Instant::now();
        let tree = Learner::grow(&soft, &dataset).expect("grows");
        println!(
            "ah-train soft: {rows} x 40 x 22, {threads} thread(s): columns and targets {ready:.2} s, fit {:.2} s, {} leaves, depth {}",
            start.elapsed().as_secs_f64(),
            tree.leaves(),
            tree.depth()
        );
    });
    Ok(())
}
