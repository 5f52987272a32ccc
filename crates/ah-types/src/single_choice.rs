//! The best single choice: what a program without a heuristic would always take.

use ah_model::ChoiceId;

/// A choice to take on every input where it has a time, and another one for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SingleChoice {
    /// The choice.
    pub first: ChoiceId,
    /// The choice for inputs on which `first` has no time; `None` if it has one on every input.
    pub second: Option<ChoiceId>,
}

impl SingleChoice {
    /// The single choice, and a second one where it needs one, with the least mean log slowdown. An input is its weight
    /// and the log slowdown of each choice that has a time; where neither choice has one, the slowest counts. Only choices where
    /// `may` is true are taken.
    ///
    /// The second choice is the best one if inputs without a time cost the slowest choice; the first is the best one if they
    /// cost the second. Then the second is chosen again, on the inputs that the first leaves.
    pub fn best<Times>(
        choices: usize,
        inputs: &(impl Iterator<Item = (f64, Times)> + Clone),
        may: impl Fn(ChoiceId) -> bool,
    ) -> Option<Self>
    where
        Times: Iterator<Item = (ChoiceId, f64)> + Clone,
    {
        // Of equal ones the preferred one, then the first.
        let least = |total: &[Option<f64>], preferred: Option<ChoiceId>| {
            let ids = (0_u32..).map(ChoiceId).take(choices).filter(|&choice| may(choice));
            let ids =
                preferred.into_iter().chain(ids).filter_map(|choice| Some((choice, total[choice.index()]?)));
            ids.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(choice, _)| choice)
        };
        // Every choice pays `missing`, and those with a time the difference. One that has no time at all is not taken.
        let best = |missing: &dyn Fn(&Times) -> f64, counts: &dyn Fn(&Times) -> bool, preferred| {
            let mut total = vec![None; choices];
            for (weight, times) in inputs.clone().filter(|(_, times)| counts(times)) {
                let missing = missing(&times);
                times.for_each(|(choice, loss)| {
                    *total[choice.index()].get_or_insert(0.0) += weight * (loss - missing);
                });
            }
            least(&total, preferred)
        };
        let slowest = |times: &Times| times.clone().map(|(_, loss)| loss).fold(0.0, f64::max);
        let of =
            |times: &Times, choice: ChoiceId| times.clone().find(|(c, _)| *c == choice).map(|(_, loss)| loss);
        let always = best(&slowest, &|_| true, None)?;
        let first =
            best(&|times| of(times, always).unwrap_or_else(|| slowest(times)), &|_| true, Some(always))?;
        let lacks = |times: &Times| of(times, first).is_none();
        let is_partial = inputs.clone().any(|(_, times)| lacks(&times));
        let second =
            if is_partial { best(&slowest, &lacks, None).filter(|second| *second != first) } else { None };
        Some(Self { first, second })
    }

    /// The choice to take on an input.
    pub fn taken(self, has_time: impl Fn(ChoiceId) -> bool) -> ChoiceId {
        self.second.filter(|_| !has_time(self.first)).unwrap_or(self.first)
    }

    /// The names: of the first, and of the second if there is one.
    pub fn names(self, choices: &[String]) -> Vec<String> {
        std::iter::once(self.first).chain(self.second).map(|choice| choices[choice.index()].clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(inputs: &[&[(u32, f64)]]) -> Option<SingleChoice> {
        let inputs = inputs.iter().map(|times| (1.0, times.iter().map(|&(c, loss)| (ChoiceId(c), loss))));
        SingleChoice::best(3, &inputs, |_| true)
    }

    #[test]
    fn a_choice_with_a_time_everywhere_needs_no_second() {
        let single = best(&[&[(0, 0.0), (1, 0.1)], &[(0, 0.5), (1, 0.1), (2, 0.2)]]);
        assert_eq!(single, Some(SingleChoice { first: ChoiceId(1), second: None }));
    }

    #[test]
    fn a_choice_without_a_time_somewhere_has_a_second() {
        // 0 is best where it runs. Elsewhere 2 is better than 1, which is better on the whole.
        let some: &[(u32, f64)] = &[(0, 0.0), (1, 0.3), (2, 2.0)];
        let other: &[(u32, f64)] = &[(1, 0.1), (2, 0.0)];
        let single = best(&[some, some, some, other]).unwrap();
        assert_eq!(single, SingleChoice { first: ChoiceId(0), second: Some(ChoiceId(2)) });
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(single.names(&names), ["a", "c"]);
        assert_eq!(single.taken(|choice| choice != ChoiceId(0)), ChoiceId(2));
    }

    #[test]
    fn a_choice_that_never_has_a_time_is_not_taken() {
        assert_eq!(
            best(&[&[(1, 0.0)], &[(1, 0.2), (2, 0.0)]]),
            Some(SingleChoice { first: ChoiceId(2), second: Some(ChoiceId(1)) })
        );
        assert_eq!(
            best(&[&[(1, 0.0)], &[(1, 0.0)]]),
            Some(SingleChoice { first: ChoiceId(1), second: None })
        );
    }

    #[test]
    fn nothing_without_choices() {
        assert_eq!(SingleChoice::best(0, &std::iter::empty::<(f64, std::iter::Empty<_>)>(), |_| true), None);
    }
}
