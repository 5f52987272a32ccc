use ah_train::RawParams;
use ah_train::fitted::{Fitted, Ranking};
use ah_train::learners::{Preset, Rows, Soft};
use ah_train::search::{Configuration, Folds, fit_all};
use ah_train::split::{self, SplitBy};
use ah_train::targets::COST_ONE;
use ah_train::task::Task;
use ah_types::ChoiceId;
use rayon::prelude::*;
use statrs::distribution::{Binomial, DiscreteCDF};

type Method = (&'static str, fn(&[Ranking], ChoiceId, f64) -> Option<usize>);

fn walk(r: &[Ranking], fb: ChoiceId, t: f64) -> Option<usize> {
    // t in 0..=1 maps to the present grid
    let tau = if t >= 1.0 { f64::INFINITY } else if t <= 0.0 { 0.0 } else { 1e-5 * (0.9_f64 / 1e-5).powf(t) };
    ah_train::calibrate::pick(r, fb, tau)
}
fn lambda(t: f64) -> f64 {
    if t >= 1.0 { 0.0 } else { 1e3 * (1e-6_f64).powf(t) }
}
fn argmin(r: &[Ranking], fb: ChoiceId, t: f64) -> Option<usize> {
    let l = lambda(t);
    let key = |x: &Ranking| x.score + l * if x.choice == fb { 0.0 } else { x.risk };
    let best = (0..r.len()).min_by(|&a, &b| key(&r[a]).total_cmp(&key(&r[b])))?;
    Some(best)
}
fn gainwalk(r: &[Ranking], fb: ChoiceId, t: f64) -> Option<usize> {
    let l = lambda(t);
    let f = r.iter().find(|x| x.choice == fb).map_or(f64::INFINITY, |x| x.score);
    (0..r.len()).find(|&i| r[i].choice == fb || l * r[i].risk <= f - r[i].score)
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| args.iter().find_map(|a| a.strip_prefix(name)?.strip_prefix('=').map(str::to_owned));
    let runs: u64 = option("runs").and_then(|r| r.parse().ok()).unwrap_or(20);
    let depth: usize = option("depth").and_then(|r| r.parse().ok()).unwrap_or(8);
    let leaf: usize = option("leaf").and_then(|r| r.parse().ok()).unwrap_or(3);
    let mu: f64 = option("mu").and_then(|r| r.parse().ok()).unwrap_or(0.0);
    let (target, level) = (0.01, 0.02);
    let methods: [Method; 2] = [("walk", walk), ("argmin", argmin)];
    let _ = gainwalk;
    let steps: Vec<f64> = (0..=60).map(|i| f64::from(i) / 60.0).collect();
    for log in args.iter().filter(|a| !a.contains('=')) {
        let params = RawParams::new(vec![log.into()], "T").check().expect("sound parameters");
        let task = Task::read(&params, None).expect("a sound log");
        let keys = split::keys(&task.table, &task.features, &[], SplitBy::Input, &task.usable);
        let config = [Configuration::Soft(Soft::preset(Preset::C, depth, leaf))];
        // per run: per method: (tau index, [steps](viol, loss)) , n
        let run = |seed: u64| {
            let (test, train) = split::hold_out(&task.usable, &keys, 0.8, seed, "explore");
            let (test, train) = if test.len() < train.len() { (test, train) } else { (train, test) };
            let fb = task.fallback(&train);
            let targets = task.targets(fb, &[]);
            let pen = task.targets(fb, &[]).penalised(&task.table, fb, 1.05, mu);
            let fit = |inputs: &[u32]| -> Fitted {
                let rows = Rows { columns: &task.columns, inputs };
                let mut f = fit_all(&config, &rows, &pen).expect("fits");
                f.assess(&task.table, &rows, fb, 1.05);
                f
            };
            let judge = |f: &Fitted, inputs: &[u32]| {
                // [method][step] (viol, loss, decided)
                let mut out = vec![vec![(0_u32, 0.0_f64, 0_u32); steps.len()]; methods.len()];
                let mut r = Vec::new();
                for &i in inputs {
                    f.rank(&task.columns, &targets, i, &mut r);
                    let price = task.table.fallback_price(i as usize, fb);
                    let base = task.table.cell(i as usize, fb).filter(|c| c.time.is_finite()).map(|c| c.time);
                    for (m, out) in methods.iter().zip(&mut out) {
                        for (s, o) in steps.iter().zip(out) {
                            match m.1(&r, fb, *s) {
                                None => o.1 += price,
                                Some(at) => {
                                    o.2 += u32::from(r[at].choice != fb);
                                    o.1 += f64::from(r[at].cost) / COST_ONE;
                                    let t = task.table.cell(i as usize, r[at].choice).map_or(f64::INFINITY, |c| c.time);
                                    o.0 += u32::from(base.is_some_and(|b| t.is_finite() && t > 1.05 * b));
                                }
                            }
                        }
                    }
                }
                out
            };
            let kt: Vec<String> = split::keys(&task.table, &task.features, &[], SplitBy::Input, &train);
            let folds = Folds::new(&task.table, &train, &kt, 5, seed);
            let oof: Vec<_> = folds.parts.iter().map(|(a, b)| judge(&fit(a), b)).collect();
            let test_out = judge(&fit(&train), &test);
            let n = train.len() as u64;
            let bin = Binomial::new(target, n).unwrap();
            let taus: Vec<Option<usize>> = (0..methods.len())
                .map(|m| {
                    let mut last = None;
                    for s in 0..steps.len() {
                        let k: u32 = oof.iter().map(|o| o[m][s].0).sum();
                        if bin.cdf(u64::from(k)) > level { break; }
                        last = Some(s);
                    }
                    last
                })
                .collect();
            (taus, test_out, test.len())
        };
        let results: Vec<_> = (0..runs).into_par_iter().map(run).collect();
        let n: f64 = results.iter().map(|r| r.2 as f64).sum();
        println!("{} n_test/run {}", log.rsplit('/').next().unwrap(), results[0].2);
        for (m, (name, _)) in methods.iter().enumerate() {
            let (mut v, mut l, mut d, mut none) = (0.0, 0.0, 0.0, 0);
            let mut broken = 0;
            for r in &results {
                match r.0[m] {
                    None => { none += 1; l += r.1[m][0].1; }
                    Some(s) => { let o = r.1[m][s]; v += f64::from(o.0); l += o.1; d += f64::from(o.2);
                        let b = Binomial::new(target, r.2 as u64).unwrap();
                        broken += u32::from(o.0 > 0 && b.sf(u64::from(o.0) - 1) < 0.05); }
                }
            }
            // frontier: the loss at pooled test share 1% and 0.6%
            let at = |share: f64| {
                let mut best = f64::NAN;
                for s in 0..steps.len() {
                    let k: f64 = results.iter().map(|r| f64::from(r.1[m][s].0)).sum();
                    if k / n > share { break; }
                    best = results.iter().map(|r| r.1[m][s].1).sum::<f64>() / n;
                }
                best.exp()
            };
            let always = results.iter().map(|r| r.1[m][steps.len() - 1].1).sum::<f64>() / n;
            let va: f64 = results.iter().map(|r| f64::from(r.1[m][steps.len() - 1].0)).sum::<f64>() / n;
            println!("  {name:9} promise: loss {:.4} share {:.2}% decided {:.1}% none {none} surely broken {broken} | frontier 1%: {:.4} .6%: {:.4} .4%: {:.4} | always {:.4} {:.2}%",
                (l / n).exp(), v / n * 100.0, d / n * 100.0, at(0.01), at(0.006), at(0.004), always.exp(), va * 100.0);
        }
    }
}
