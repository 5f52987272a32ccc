//! A product's operands and result on the host, so that a test can compare every element with a reference
//! of its own. The runners compare only some elements, on the device.

use ah_measure::sampling::Rng;
use ah_measure::{BenchmarkRunner, Failure, Subject};
use ah_types::{ChoiceId, Context};

use super::cublas::Matrix;
use super::device::Gpu;
use super::element::Element;

/// Bytes behind every result that no choice may write to.
pub(super) const GUARD: usize = 512;

/// The operands and the result of one choice, row by row.
#[derive(Clone, Debug)]
pub struct HostProduct {
    /// The first operand, m×k.
    pub a: Vec<f64>,
    /// The second operand, k×n.
    pub b: Vec<f64>,
    /// The result, m×n.
    pub c: Vec<f64>,
    /// Whether the choice left the memory behind its result unchanged.
    pub guard_is_intact: bool,
}

/// A runner that can return its operands and its result.
pub(super) trait ProductRunner: BenchmarkRunner {
    /// Returns the device.
    fn gpu(&self) -> &Gpu;
    /// Returns the operands, and the result of `choice`. Behind the result's memory are [`GUARD`] bytes,
    /// which belong to its buffer.
    fn matrices(&self, input: &Self::Input, choice: ChoiceId) -> [(Matrix, Element); 3];
}

/// The products of one optimization on one GPU.
pub struct Products(Box<dyn ProductSource>);

impl Products {
    pub(super) fn new(runner: impl ProductRunner + 'static) -> Self {
        Self(Box::new(runner))
    }

    /// Returns the optimization, the device and the choices.
    #[must_use]
    pub fn subject(&self) -> &Subject {
        self.0.subject()
    }

    /// Computes the product of random operands with one choice. The same state of `rng` gives the same
    /// operands.
    ///
    /// # Errors
    /// [`Failure::Skipped`] if the choice is not offered for this context, and the reasons of
    /// [`BenchmarkRunner::check`].
    pub fn compute(
        &mut self,
        context: &Context,
        choice: ChoiceId,
        rng: &mut Rng,
    ) -> Result<HostProduct, Failure> {
        self.0.compute(context, choice, rng)
    }
}

/// A [`ProductRunner`] whose input type is hidden.
trait ProductSource {
    fn subject(&self) -> &Subject;
    fn compute(&mut self, context: &Context, choice: ChoiceId, rng: &mut Rng)
    -> Result<HostProduct, Failure>;
}

impl<R: ProductRunner> ProductSource for R {
    fn subject(&self) -> &Subject {
        BenchmarkRunner::subject(self)
    }

    fn compute(
        &mut self,
        context: &Context,
        choice: ChoiceId,
        rng: &mut Rng,
    ) -> Result<HostProduct, Failure> {
        let mut input = self.create_input(context, rng)?;
        let [a, b, c] = self.matrices(&input, choice);
        self.gpu().fill(c.0.buffer, 0xff)?;
        self.check(&mut input, choice)?;
        let values = |(matrix, element): (Matrix, Element)| {
            let bytes = self.gpu().read::<u8>(matrix.buffer, matrix.buffer.bytes)?;
            let places = (0..matrix.rows).flat_map(|i| (0..matrix.columns).map(move |j| (i, j)));
            let at = |(i, j)| i * matrix.strides.0 + j * matrix.strides.1;
            Ok::<_, Failure>(places.map(|place| element.value(&bytes, at(place))).collect())
        };
        let guard = self.gpu().read::<u8>(c.0.buffer, c.0.buffer.bytes)?.split_off(c.0.buffer.bytes - GUARD);
        let guard_is_intact = guard.iter().all(|byte| *byte == 0xff);
        Ok(HostProduct { a: values(a)?, b: values(b)?, c: values(c)?, guard_is_intact })
    }
}
