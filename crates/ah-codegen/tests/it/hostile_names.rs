//! Names from logs may be hostile: their text never becomes code.

use crate::hostile;
use crate::models;

use proptest::prelude::*;

fn name() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(models::ODD).prop_map(str::to_owned);
    let joined = prop::collection::vec(odd.clone(), 1..4).prop_map(|parts| parts.concat());
    let breaking = "[\"'\\\\\n\r*/#{}%`?()\\[\\]; a0_-]{0,24}";
    let structured = "[a\"_]{1,3}=[0-9.a\"]{1,3}(_[b\\\\' ]{1,3}=(True|[a\n\"]{1,2}))?";
    prop_oneof![odd, joined, any::<String>(), breaking, "[a-zA-Z_][a-zA-Z0-9_ -]{0,9}", structured]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn names_stay_names(seed: u64, depth in 0_usize..14, names in prop::collection::vec(name(), 0..60)) {
        hostile::check(seed, depth, &names);
    }
}
