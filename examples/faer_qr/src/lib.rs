//! A QR factorization by [faer](https://docs.rs/faer) in one thread, whose block size a learned heuristic chooses.
//!
//! faer takes the block size from the number of elements alone, so a tall and a wide matrix get the same one. Its
//! low-level functions take the block size and the size from which panels are factored recursively. [`Blocking`] holds
//! these two, and [`Blocking::learned`] asks the generated crate `qr_blocking` for them.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::householder;
use faer::linalg::qr::no_pivoting::factor::{
    QrParams, qr_in_place, qr_in_place_scratch, recommended_block_size,
};
use faer::{Auto, Conj, Mat, Par};

/// How a factorization proceeds in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocking {
    /// Columns of a block.
    pub block: usize,
    /// Elements of a panel from which it is halved recursively; a smaller one is factored column by column.
    pub threshold: usize,
}

impl Blocking {
    /// The blocking of faer's own `Mat::qr`.
    #[must_use]
    pub fn of_faer(m: usize, n: usize) -> Self {
        let threshold = <QrParams as Auto<f64>>::auto().blocking_threshold;
        Self { block: recommended_block_size::<f64>(m, n), threshold }
    }

    /// Blocks of this many columns, with or without recursion inside them.
    #[must_use]
    pub fn new(block: usize, recursive: bool) -> Self {
        Self { block, threshold: if recursive { 48 * 48 } else { usize::MAX } }
    }

    /// The blocking that the heuristic chooses for a matrix of m rows and n columns; faer's own where it declines.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn learned(m: usize, n: usize) -> Self {
        let choice = qr_blocking::choose(&qr_blocking::Context { m: m as f64, n: n as f64 });
        match choice.and_then(qr_blocking::Choice::config) {
            Some(config) => Self::new(config.block as usize, config.recursive),
            None => Self::of_faer(m, n),
        }
    }
}

/// A factorization A = QR.
#[derive(Clone, Debug)]
pub struct Factors {
    /// R on and above the diagonal, the basis of Q below it.
    pub basis_and_r: Mat<f64>,
    /// The coefficients of Q, as many rows as a block has columns.
    pub coefficients: Mat<f64>,
}

/// Factors a matrix in its own memory.
#[must_use]
pub fn factor(mut matrix: Mat<f64>, blocking: Blocking) -> Factors {
    let (m, n) = matrix.shape();
    let size = m.min(n);
    let block = blocking.block.min(size);
    let mut params: QrParams = <QrParams as Auto<f64>>::auto();
    params.blocking_threshold = blocking.threshold;
    let mut coefficients = Mat::zeros(block, size);
    let scratch = qr_in_place_scratch::<f64>(m, n, block, Par::Seq, params.into());
    let mut memory = MemBuffer::new(scratch);
    qr_in_place(matrix.as_mut(), coefficients.as_mut(), Par::Seq, MemStack::new(&mut memory), params.into());
    Factors { basis_and_r: matrix, coefficients }
}

impl Factors {
    /// The product QR.
    #[must_use]
    pub fn product(&self) -> Mat<f64> {
        let Self { basis_and_r, coefficients } = self;
        let (m, n) = basis_and_r.shape();
        let mut r = Mat::from_fn(m, n, |i, j| if i <= j { basis_and_r[(i, j)] } else { 0.0 });
        let scratch = householder::apply_block_householder_sequence_on_the_left_in_place_scratch::<f64>(
            m,
            coefficients.nrows(),
            n,
        );
        let mut memory = MemBuffer::new(scratch);
        householder::apply_block_householder_sequence_on_the_left_in_place_with_conj(
            basis_and_r.as_ref(),
            coefficients.as_ref(),
            Conj::No,
            r.as_mut(),
            Par::Seq,
            MemStack::new(&mut memory),
        );
        r
    }

    /// Whether the product is `matrix`, up to rounding.
    #[must_use]
    pub fn is_of(&self, matrix: &Mat<f64>) -> bool {
        let tolerance = 1e-14 * (1.0 + matrix.norm_l2());
        (self.product() - matrix).norm_max() <= tolerance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_blocking_factors() {
        for (m, n) in [(1, 1), (5, 3), (3, 5), (40, 40), (130, 17), (17, 130), (200, 150)] {
            let matrix = Mat::from_fn(m, n, |i, j| ((i * 7919 + j * 104_729) % 1009) as f64 / 504.5 - 1.0);
            let blockings =
                [1, 4, 8, 32, 300].into_iter().flat_map(|b| [false, true].map(|r| Blocking::new(b, r)));
            for blocking in blockings.chain([Blocking::of_faer(m, n), Blocking::learned(m, n)]) {
                let factors = factor(matrix.clone(), blocking);
                assert!(factors.is_of(&matrix), "{m} x {n}, {blocking:?}");
                let mut wrong = factors;
                wrong.basis_and_r[(0, 0)] += 1e-6;
                assert!(!wrong.is_of(&matrix));
            }
        }
    }
}
