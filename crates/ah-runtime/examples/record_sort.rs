//! A program that chooses between two sorts, and collects the timings to learn from while it runs.
//!
//! ```sh
//! run="cargo run --release -p ah-runtime --example record_sort"
//! AUTOHEURISTIC_COLLECT=sort AUTOHEURISTIC_LOG_PATH=target/sort.txt $run    # measures every choice
//! cargo run --release -p ah-train -- target/sort.txt --heuristic-name Sort --model target/sort/model.json
//! AUTOHEURISTIC_PATH=target/sort $run                                       # asks the heuristic
//! ```

use std::collections::BTreeMap;
use std::time::Instant;

use ah_runtime::AutoHeuristic;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sort = AutoHeuristic::builder("sort")
        .choices(["std", "insertion"])
        .numerical("length")
        .numerical("ascending")
        .build()?;
    let mut taken: BTreeMap<String, u32> = BTreeMap::new();
    for input in inputs() {
        let ascending = input.windows(2).filter(|pair| pair[0] <= pair[1]).count();
        // Collecting, this measures every choice and answers with the fallback; else it asks the heuristic.
        let answer = sort.choose_or_collect(&[input.len().into(), ascending.into()], |choice| {
            let feedback = (0..5).map(|_| {
                let mut numbers = input.clone();
                let begin = Instant::now();
                run(choice, &mut numbers);
                begin.elapsed().as_secs_f64() * 1e3
            });
            Ok(feedback.collect())
        });
        run(answer.choice, &mut input.clone());
        *taken.entry(answer.to_string()).or_default() += 1;
    }
    println!("{}\n{taken:?}", sort.explain());
    Ok(())
}

fn run(choice: &str, numbers: &mut [u32]) {
    if choice == "std" {
        return numbers.sort();
    }
    for at in 1..numbers.len() {
        let mut place = at;
        while place > 0 && numbers[place - 1] > numbers[place] {
            numbers.swap(place - 1, place);
            place -= 1;
        }
    }
}

/// 500 inputs of 2 to 2,000 numbers: ascending, except for a share of 0 to 100 %.
fn inputs() -> impl Iterator<Item = Vec<u32>> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = move |n: u32| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        u32::try_from((state >> 33) % u64::from(n)).unwrap_or(0)
    };
    (0..500_i32).map(move |i| {
        let (length, percent) = (2 + below(1 << (1 + i % 11)), below(101));
        (0..length).map(|at| if below(100) < percent { below(length) } else { at }).collect()
    })
}
