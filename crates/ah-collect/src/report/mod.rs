//! `ah-collect report`: the facts of a log, what it covers, and how well its times repeat.

mod coverage;
mod facts;
mod noise;
mod podium;
mod repeats;

pub use coverage::LogReport;
pub use facts::LogFacts;
pub use noise::RepeatNoise;
#[cfg(feature = "kernels")]
pub(crate) use podium::{Podium, medians};
pub use repeats::Repeats;

#[cfg(test)]
mod tests {
    use ah_types::Optimization;
    use ah_types::log::Log;

    use super::*;

    fn log(rows: &str) -> Log {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.txt");
        let head =
            r#"{"name":"x","device_capa":[0,0],"numerical_features":["size"],"categorical_features":[]}"#;
        std::fs::write(&path, format!("{head}\nsize,choice,feedback\n{rows}")).unwrap();
        ah_types::log::read(&[path]).unwrap()
    }

    #[test]
    fn wins_and_losses_of_single_choices() {
        let optimization = Optimization::from_toml(
            "name = \"x\"\nfallback = [\"a\"]\n[[feature]]\nname = \"size\"\nkind = \"numerical\"",
        )
        .unwrap();
        // a loses 2 on size 2 and 2 on size 3; b loses 4 on size 1; c is not measured on size 1.
        let log = log("1,a,1\n1,b,4\n2,a,2\n2,b,1\n2,c,inf\n3,a,2\n3,b,1\n3,c,1.5\n");
        let facts = LogFacts::of(&log, &optimization);
        assert_eq!(facts.wins, [("b".to_owned(), 2), ("a".to_owned(), 1)]);
        assert_eq!((facts.inputs, facts.failures), (3, 1));
        let (name, loss) = facts.always_fallback.clone().unwrap();
        assert_eq!(name, "a");
        assert!((loss - 4_f64.powf(1.0 / 3.0)).abs() < 1e-12, "{loss}");
        // c where it has a time, else a: 1, 2 and 1.5.
        let (name, best) = facts.best_single.clone().unwrap();
        assert_eq!(name, "c, else a");
        assert!((best - 3_f64.powf(1.0 / 3.0)).abs() < 1e-12, "{best}");
        assert!(facts.to_string().contains("wins: b 66.7 %, a 33.3 %"), "{facts}");
    }

    #[test]
    fn repeats_are_compared_by_name() {
        let first = log("1,a,1\n1,b,2\n2,a,1.00\n2,b,1.01\n3,a,1\n");
        // The other order gives other ids; size 2's winner changes within 3 %; size 3 is missing.
        let second = log("2,b,1\n2,a,1.02\n1,b,2\n1,a,1.1\n");
        let noise = RepeatNoise::between(&first, &second).unwrap();
        assert_eq!((noise.inputs, noise.pairs, noise.clear), (2, 4, 1));
        assert_eq!((noise.winner_changes, noise.clear_winner_changes), (0.5, 0.0));
        assert!((noise.p95_deviation - 0.1).abs() < 1e-9, "{noise:?}");
        assert_eq!(RepeatNoise::between(&first, &log("9,a,1\n")), None);
    }
}
