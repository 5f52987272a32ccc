//! cuBLAS, called as PyTorch's `torch.mm` calls it.

use std::ffi::{c_int, c_void};

use cudarc::cublas::{result, sys};

use super::arena::{Allocation, Buffer};
use super::device::Gpu;
use super::element::Element;
use super::error::CudaError;
use super::library::Library;

/// PyTorch's workspace for cuBLAS: 32 MiB on Hopper, 8.125 MiB before
/// (`parseChosenWorkspaceSize` in ATen/cuda/CUDABlas).
const WORKSPACE_HOPPER: usize = 32 << 20;
const WORKSPACE: usize = 4096 * 1024 * 2 + 16 * 8 * 1024;

/// A matrix in device memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix {
    pub(crate) buffer: Buffer,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Elements between neighbours along each dimension; one of them is 1.
    pub(crate) strides: (usize, usize),
}

impl Matrix {
    /// Returns a matrix whose rows follow each other without a gap.
    pub(crate) fn row_major(buffer: Buffer, rows: usize, columns: usize) -> Self {
        Self { buffer, rows, columns, strides: (columns, 1) }
    }

    pub(crate) fn is_column_major(&self) -> bool {
        self.strides.0 == 1 && self.strides.1 != 1
    }

    /// Returns the larger stride, or the length of a row or column if that is larger: the stride of a
    /// dimension of size 1 may be anything.
    pub(crate) fn leading(&self) -> usize {
        if self.is_column_major() { self.strides.1.max(self.rows) } else { self.strides.0.max(self.columns) }
    }
}

/// c = a · b, all of the same element type; c is row-major with `c.strides.0` between rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    pub(crate) element: Element,
    pub(crate) tf32: bool,
    pub(crate) a: Matrix,
    pub(crate) b: Matrix,
    pub(crate) c: Matrix,
}

/// A handle with its workspace.
pub(crate) struct Cublas {
    handle: sys::cublasHandle_t,
    _workspace: Allocation,
}

// SAFETY: any thread may use a handle, one at a time; `&mut` or a single owner ensures that.
unsafe impl Send for Cublas {}

impl Cublas {
    pub(crate) fn new(gpu: &Gpu) -> Result<Self, CudaError> {
        Library::Cublas.require()?;
        gpu.enter()?;
        let bytes = if gpu.identity().capability.0 >= 9 { WORKSPACE_HOPPER } else { WORKSPACE };
        let workspace = Allocation::new(gpu.context(), bytes)?;
        let handle = result::create_handle().map_err(CudaError::blas("open cuBLAS"))?;
        let cublas = Self { handle, _workspace: workspace };
        let buffer = cublas._workspace.buffer();
        // SAFETY: handle, stream and workspace are alive, and the workspace lives as long as the handle.
        unsafe {
            result::set_stream(handle, gpu.stream().cast()).map_err(CudaError::blas("open cuBLAS"))?;
            sys::cublasSetWorkspace_v2(handle, buffer.address as *mut c_void, bytes)
                .result()
                .map_err(CudaError::blas("give cuBLAS its workspace"))?;
        }
        Ok(cublas)
    }

    /// Starts a product. cuBLAS counts in columns, so it computes cᵀ = bᵀ · aᵀ.
    pub(crate) fn product(&self, p: &Product) -> Result<(), CudaError> {
        let doing = "multiply with cuBLAS";
        let int = |x: usize| {
            c_int::try_from(x).map_err(|_| CudaError::Blas {
                doing: "fit a size into 31 bits for cuBLAS",
                status: sys::cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE,
            })
        };
        let op = |m: &Matrix| {
            if m.is_column_major() {
                sys::cublasOperation_t::CUBLAS_OP_T
            } else {
                sys::cublasOperation_t::CUBLAS_OP_N
            }
        };
        let (m, k, n) = (int(p.a.rows)?, int(p.a.columns)?, int(p.b.columns)?);
        let (lda, ldb, ldc) = (int(p.a.leading())?, int(p.b.leading())?, int(p.c.leading())?);
        let (one, zero) = (1_f32, 0_f32);
        let (a, b, c) = (p.a.buffer.address, p.b.buffer.address, p.c.buffer.address);
        let mode = if p.element == Element::F32 && p.tf32 {
            sys::cublasMath_t::CUBLAS_TF32_TENSOR_OP_MATH
        } else {
            sys::cublasMath_t::CUBLAS_DEFAULT_MATH
        };
        // SAFETY: the matrices are device memory of these sizes; the scalars outlive the call.
        unsafe {
            sys::cublasSetMathMode(self.handle, mode).result().map_err(CudaError::blas(doing))?;
            if p.element == Element::F32 {
                return sys::cublasSgemm_v2(
                    self.handle,
                    op(&p.b),
                    op(&p.a),
                    n,
                    m,
                    k,
                    &one,
                    b as *const f32,
                    ldb,
                    a as *const f32,
                    lda,
                    &zero,
                    c as *mut f32,
                    ldc,
                )
                .result()
                .map_err(CudaError::blas(doing));
            }
            let kind = p.element.cuda();
            result::gemm_ex(
                self.handle,
                op(&p.b),
                op(&p.a),
                n,
                m,
                k,
                (&raw const one).cast(),
                b as *const c_void,
                kind,
                ldb,
                a as *const c_void,
                kind,
                lda,
                (&raw const zero).cast(),
                c as *mut c_void,
                kind,
                ldc,
                sys::cublasComputeType_t::CUBLAS_COMPUTE_32F,
                sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT_TENSOR_OP,
            )
            .map_err(CudaError::blas(doing))
        }
    }
}

impl Drop for Cublas {
    fn drop(&mut self) {
        // SAFETY: made by `new`, destroyed only here.
        let _ = unsafe { result::destroy_handle(self.handle) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_leading_stride_holds_a_row_or_a_column() {
        let leading = |rows, columns, strides| {
            Matrix { buffer: Buffer { address: 0, bytes: 0 }, rows, columns, strides }.leading()
        };
        assert_eq!(leading(3, 5, (5, 1)), 5);
        assert_eq!(leading(3, 5, (1, 3)), 3);
        // PyTorch's strides of a transposed 1×5 matrix.
        assert_eq!(leading(1, 5, (1, 1)), 5);
    }
}
