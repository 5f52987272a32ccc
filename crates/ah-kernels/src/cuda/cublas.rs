//! cuBLAS, called as PyTorch's `torch.mm` calls it.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use cudarc::cublas::sys::cublasMath_t::{CUBLAS_DEFAULT_MATH, CUBLAS_TF32_TENSOR_OP_MATH};
use cudarc::cublas::sys::cublasOperation_t::{CUBLAS_OP_N, CUBLAS_OP_T};
use cudarc::cublas::{CudaBlas, result, sys};

use super::arena::Allocation;
use super::device::Gpu;
use super::error::CudaError;
use super::product::{Matrix, Product};

/// PyTorch's workspace for cuBLAS: 32 MiB on Hopper, 8.125 MiB before
/// (`parseChosenWorkspaceSize` in ATen/cuda/CUDABlas).
const WORKSPACE_HOPPER: usize = 32 << 20;
const WORKSPACE: usize = 4096 * 1024 * 2 + 16 * 8 * 1024;

/// A handle with its workspace.
pub(crate) struct Cublas {
    blas: CudaBlas,
    /// Freed after the handle that uses it.
    _workspace: Allocation,
}

impl Cublas {
    pub(crate) fn new(gpu: &Gpu) -> Result<Self, CudaError> {
        let bytes = if gpu.identity.capability.0 >= 9 { WORKSPACE_HOPPER } else { WORKSPACE };
        let workspace = Allocation::new(gpu.context(), bytes)?;
        let blas = CudaBlas::new(Arc::clone(&gpu.stream)).map_err(CudaError::blas("open cuBLAS"))?;
        let memory = workspace.buffer.address as *mut c_void;
        // SAFETY: handle and workspace are alive, and the workspace lives as long as the handle.
        unsafe { sys::cublasSetWorkspace_v2(*blas.handle(), memory, bytes) }
            .result()
            .map_err(CudaError::blas("give cuBLAS its workspace"))?;
        Ok(Self { blas, _workspace: workspace })
    }

    /// Starts a product. cuBLAS counts in columns, so it computes cᵀ = bᵀ · aᵀ.
    pub(crate) fn product(&self, p: &Product) -> Result<(), CudaError> {
        let doing = "multiply with cuBLAS";
        // Sizes have at most 24 bits when they are read.
        let int = |x: usize| x as c_int;
        let op = |m: &Matrix| if m.is_column_major() { CUBLAS_OP_T } else { CUBLAS_OP_N };
        let one = 1_f32;
        let zero = 0_f32;
        let mode = if p.tf32 { CUBLAS_TF32_TENSOR_OP_MATH } else { CUBLAS_DEFAULT_MATH };
        // SAFETY: the matrices are device memory of these sizes; the scalars outlive the call.
        unsafe {
            let handle = *self.blas.handle();
            sys::cublasSetMathMode(handle, mode).result().map_err(CudaError::blas(doing))?;
            let kind = p.a.element.cuda();
            result::gemm_ex(
                handle,
                op(&p.b),
                op(&p.a),
                int(p.b.columns),
                int(p.a.rows),
                int(p.a.columns),
                (&raw const one).cast(),
                p.b.buffer.address as *const c_void,
                kind,
                int(p.b.leading()),
                p.a.buffer.address as *const c_void,
                kind,
                int(p.a.leading()),
                (&raw const zero).cast(),
                p.c.buffer.address as *mut c_void,
                kind,
                int(p.c.leading()),
                sys::cublasComputeType_t::CUBLAS_COMPUTE_32F,
                sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT_TENSOR_OP,
            )
            .map_err(CudaError::blas(doing))
        }
    }
}
