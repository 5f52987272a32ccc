use super::MatMatMul;

/// Cost model of matmul kernels, learned by autoheuristic-rs. It expects of a kernel of tile `mr` x `nr`
///
/// `factor * (c0 + c1 * k + c2 * M * N + c3 * M * N * k) + restream * M * (N / nr) * k` seconds,
///
/// where `M` and `N` are `m` and `n` rounded up to whole tiles. `c0` to `c3` are fit per kernel to relative errors, so a
/// short matmul counts as much as a long one. `leaf` sorts shapes into at most 8 classes; each has a factor per kernel for
/// the error that the formula makes there. `restream` is that of `LinearCostModel`.
#[derive(Debug)]
pub struct FormulaCostModel<'a> {
    pub default_kernel: &'a str,
    pub kernels: &'a [&'a str],
    pub coeffs: &'a [[f64; 4]],
    /// The class of a shape (m, k, n), or none where a quotient is undefined.
    pub leaf: fn(usize, usize, usize) -> Option<usize>,
    /// By class and kernel.
    pub factors: &'a [&'a [f64]],
    pub restream: f64,
}

impl FormulaCostModel<'_> {
    /// The seconds that the kernel at `ix` is expected to take.
    fn predicted(
        &self,
        ix: usize,
        factor: f64,
        (m, k, n): (usize, usize, usize),
        (mr, nr): (usize, usize),
    ) -> f64 {
        let [c0, c1, c2, c3] = self.coeffs[ix];
        let (rows, columns, k) =
            (m.next_multiple_of(mr) as f64, n.next_multiple_of(nr) as f64, k as f64);
        let formula = c0 + c1 * k + c2 * (rows * columns) + c3 * (rows * columns) * k;
        factor * formula + self.restream * rows * (columns / nr as f64) * k
    }

    /// The kernel that is expected to be the fastest one; the default where a dimension is unknown.
    pub fn pick(
        &self,
        impls: &[Box<dyn MatMatMul>],
        m: Option<usize>,
        k: Option<usize>,
        n: Option<usize>,
    ) -> Box<dyn MatMatMul> {
        let best = || {
            let shape @ (m, k, n) = (m?, k?, n?);
            let factors = self.factors[(self.leaf)(m, k, n)?];
            let cost = |imp: &Box<dyn MatMatMul>| {
                let ix = self.kernels.iter().position(|name| *name == imp.name())?;
                Some(self.predicted(ix, factors[ix], shape, (imp.mr(), imp.nr())))
            };
            let costs = impls.iter().filter_map(|imp| Some((cost(imp)?, imp)));
            costs.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, imp)| imp)
        };
        let default =
            || impls.iter().find(|imp| imp.name() == self.default_kernel).or(impls.first());
        best().or_else(default).expect("no mmm kernel to pick from").clone()
    }
}
