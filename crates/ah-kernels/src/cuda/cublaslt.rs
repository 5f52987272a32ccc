//! cuBLASLt's algorithms. Each is named by the attributes that identify it on every machine.

use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt;

use cudarc::cublaslt::result::{self, CublasError};
use cudarc::cublaslt::sys;

use super::arena::Allocation;
use super::device::Gpu;
use super::element::Element;
use super::error::CudaError;
use super::owned::Owned;
use super::product::{Matrix, Product};

/// The workspace that NVIDIA recommends for Hopper.
const WORKSPACE: usize = 32 << 20;
/// Proposals that cuBLASLt's own heuristic is asked for, for one product.
const PROPOSALS: usize = 6;

type Attribute = sys::cublasLtMatmulAlgoConfigAttributes_t;

/// The attributes of an algorithm, in the order of [`ATTRIBUTES`].
///
/// The numbers of tiles, stages and clusters are cuBLASLt's (`cublasLtMatmulTile_t`, …).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Algorithm([u32; 9]);

/// The name, the key and the bytes of each attribute.
const ATTRIBUTES: [(&str, Attribute, usize); 9] = [
    ("ALGO", Attribute::CUBLASLT_ALGO_CONFIG_ID, 4),
    ("TILE", Attribute::CUBLASLT_ALGO_CONFIG_TILE_ID, 4),
    ("STAGES", Attribute::CUBLASLT_ALGO_CONFIG_STAGES_ID, 4),
    ("SPLIT-K", Attribute::CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4),
    ("REDUCTION", Attribute::CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 4),
    ("SWIZZLE", Attribute::CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4),
    ("CUSTOM", Attribute::CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4),
    ("INNER", Attribute::CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2),
    ("CLUSTER", Attribute::CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2),
];

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cublaslt")?;
        // A split-K of −1 means that the algorithm decides (stream-K), so all are printed as signed
        // numbers.
        let mut all = ATTRIBUTES.iter().zip(self.0);
        all.try_for_each(|((name, ..), value)| write!(f, "_{name}={}", value as i32))
    }
}

fn lt(doing: &'static str) -> impl Fn(CublasError) -> CudaError {
    move |e| CudaError::BlasLt { doing, status: e.0 }
}

/// A handle with its workspace.
pub(crate) struct CublasLt {
    handle: Owned<sys::cublasLtHandle_t, CublasError>,
    workspace: Allocation,
}

/// A product and the algorithm that computes it.
pub(crate) struct PlannedProduct {
    product: ProductDescription,
    algorithm: sys::cublasLtMatmulAlgo_t,
}

impl CublasLt {
    pub(crate) fn new(gpu: &Gpu) -> Result<Self, CudaError> {
        let workspace = Allocation::new(gpu.context(), WORKSPACE)?;
        let handle = result::create_handle().map_err(lt("open cuBLASLt"))?;
        // SAFETY: the handle is new, and this is its destructor.
        let handle = unsafe { Owned::new(handle, result::destroy_handle) };
        Ok(Self { handle, workspace })
    }

    /// Plans `product` with `algorithm`; `None` if the algorithm does not support the product.
    pub(crate) fn plan(
        &self,
        product: &Product,
        algorithm: &Algorithm,
    ) -> Result<Option<PlannedProduct>, CudaError> {
        let described = ProductDescription::new(product)?;
        let kind = lt_type(product.a.element);
        let mut algo = sys::cublasLtMatmulAlgo_t { data: [0; 8] };
        let mut found = no_result();
        // SAFETY: everything that is pointed to outlives the calls; each attribute has as many bytes as
        // cuBLASLt's documentation gives.
        let supported = unsafe {
            sys::cublasLtMatmulAlgoInit(
                self.handle.value,
                compute_type(product),
                sys::cudaDataType_t::CUDA_R_32F,
                kind,
                kind,
                kind,
                kind,
                i32::try_from(algorithm.0[0]).unwrap_or(-1),
                &mut algo,
            )
            .result()
            .and_then(|()| {
                // The first attribute is the algorithm itself, which the call above set.
                ATTRIBUTES.iter().zip(&algorithm.0).skip(1).try_for_each(|((_, key, bytes), value)| {
                    let value = (&raw const *value).cast();
                    sys::cublasLtMatmulAlgoConfigSetAttribute(&mut algo, *key, value, *bytes).result()
                })
            })
            .and_then(|()| {
                let [a, b, c] = described.matrices();
                let operation = described.operation.value;
                sys::cublasLtMatmulAlgoCheck(self.handle.value, operation, a, b, c, c, &algo, &mut found)
                    .result()
            })
        };
        let fits = supported.is_ok() && found.workspaceSize <= WORKSPACE;
        Ok(fits.then_some(PlannedProduct { product: described, algorithm: algo }))
    }

    /// Starts a planned product.
    pub(crate) fn run(&self, gpu: &Gpu, product: &Product, plan: &PlannedProduct) -> Result<(), CudaError> {
        let one = 1_f32;
        let zero = 0_f32;
        let [a_layout, b_layout, c_layout] = plan.product.matrices();
        let c = product.c.buffer.address as *mut c_void;
        // SAFETY: the matrices are device memory of the described sizes; as in `cublas`, cᵀ = bᵀ · aᵀ.
        unsafe {
            result::matmul(
                self.handle.value,
                plan.product.operation.value,
                (&raw const one).cast(),
                (&raw const zero).cast(),
                product.b.buffer.address as *const c_void,
                a_layout,
                product.a.buffer.address as *const c_void,
                b_layout,
                c,
                c_layout,
                c,
                c_layout,
                &plan.algorithm,
                self.workspace.buffer.address as *mut c_void,
                WORKSPACE,
                gpu.stream.cu_stream().cast(),
            )
        }
        .map_err(lt("multiply with cuBLASLt"))
    }

    /// The algorithms that cuBLASLt's own heuristic proposes for a product, best first.
    fn proposals(&self, product: &Product) -> Result<Vec<Algorithm>, CudaError> {
        let described = ProductDescription::new(product)?;
        let preference = result::create_matmul_pref().map_err(lt("ask cuBLASLt"))?;
        // SAFETY: the preference is new, and this is its destructor.
        let preference = unsafe { Owned::new(preference, result::destroy_matmul_pref) };
        let mut results = [no_result(); PROPOSALS];
        let mut count = 0;
        // SAFETY: everything that is pointed to outlives the calls.
        unsafe {
            let bytes = WORKSPACE as u64;
            result::set_matmul_pref_attribute(
                preference.value,
                sys::cublasLtMatmulPreferenceAttributes_t::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                (&raw const bytes).cast(),
                8,
            )
            .map_err(lt("ask cuBLASLt"))?;
            let [a, b, c] = described.matrices();
            let answer = sys::cublasLtMatmulAlgoGetHeuristic(
                self.handle.value,
                described.operation.value,
                a,
                b,
                c,
                c,
                preference.value,
                PROPOSALS as i32,
                results.as_mut_ptr(),
                &mut count,
            );
            if answer.result().is_err() {
                return Ok(Vec::new());
            }
        }
        let found = results.iter().take(usize::try_from(count).unwrap_or(0));
        Ok(found.filter(|r| r.state.result().is_ok()).filter_map(|r| attributes(&r.algo)).collect())
    }

    /// The algorithms that are proposed most often for a fixed set of products, so that every
    /// machine with this library and device offers the same: `count` for each of 16-bit floats, float32 and
    /// TF32. Earlier proposals weigh more.
    pub(crate) fn survey(&self, counts: [usize; 3]) -> Result<Vec<Algorithm>, CudaError> {
        let mut all = Vec::new();
        let kinds = [
            &[(Element::F16, false), (Element::Bf16, false)][..],
            &[(Element::F32, false)],
            &[(Element::F32, true)],
        ];
        for (kinds, count) in kinds.into_iter().zip(counts) {
            let mut weights: HashMap<Algorithm, f64> = HashMap::new();
            for ((sizes, layouts), (element, tf32)) in
                shapes().flat_map(|s| kinds.iter().map(move |k| (s, *k)))
            {
                let product = Product::dense(sizes, layouts, [element; 2], tf32);
                for (rank, algorithm) in (1_u32..).zip(self.proposals(&product)?) {
                    *weights.entry(algorithm).or_default() += 1.0 / f64::from(rank);
                }
            }
            let mut ranked: Vec<_> = weights.into_iter().collect();
            ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            all.extend(ranked.into_iter().take(count).map(|(algorithm, _)| algorithm));
        }
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }
}

/// M, k, n, and for each operand whether it is column-major.
fn shapes() -> impl Iterator<Item = ([u64; 3], [bool; 2])> {
    let ms = [1, 16, 64, 128, 512, 1024, 2048, 4096, 8192];
    let others = [
        (1024, 1024),
        (4096, 1024),
        (1024, 4096),
        (4096, 4096),
        (8192, 8192),
        (4096, 11008),
        (1000, 1000),
        (16384, 512),
    ];
    let layouts = [[false, false], [false, true], [true, false], [true, true]];
    ms.into_iter().flat_map(move |m| {
        others.into_iter().flat_map(move |(k, n)| layouts.into_iter().map(move |l| ([m, k, n], l)))
    })
}

fn attributes(algo: &sys::cublasLtMatmulAlgo_t) -> Option<Algorithm> {
    let mut values = [0_u32; 9];
    for ((_, key, bytes), value) in ATTRIBUTES.into_iter().zip(&mut values) {
        let mut written = 0;
        let to = (&raw mut *value).cast();
        // SAFETY: `value` has room for the requested bytes (little-endian, so two bytes are enough for 16
        // bits).
        let got = unsafe { sys::cublasLtMatmulAlgoConfigGetAttribute(algo, key, to, bytes, &mut written) };
        got.result().ok()?;
    }
    Some(Algorithm(values))
}

fn no_result() -> sys::cublasLtMatmulHeuristicResult_t {
    sys::cublasLtMatmulHeuristicResult_t {
        algo: sys::cublasLtMatmulAlgo_t { data: [0; 8] },
        workspaceSize: 0,
        state: sys::cublasStatus_t::CUBLAS_STATUS_NOT_INITIALIZED,
        wavesCount: 0.0,
        reserved: [0; 4],
    }
}

fn compute_type(product: &Product) -> sys::cublasComputeType_t {
    use sys::cublasComputeType_t::{CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    if product.tf32 { CUBLAS_COMPUTE_32F_FAST_TF32 } else { CUBLAS_COMPUTE_32F }
}

fn lt_type(element: Element) -> sys::cudaDataType_t {
    match element {
        Element::F16 => sys::cudaDataType_t::CUDA_R_16F,
        Element::Bf16 => sys::cudaDataType_t::CUDA_R_16BF,
        _ => sys::cudaDataType_t::CUDA_R_32F,
    }
}

/// A product in cuBLASLt's terms: cᵀ = bᵀ · aᵀ in columns, so its first matrix describes our b.
struct ProductDescription {
    operation: Owned<sys::cublasLtMatmulDesc_t, CublasError>,
    layouts: [Owned<sys::cublasLtMatrixLayout_t, CublasError>; 3],
}

impl ProductDescription {
    fn new(product: &Product) -> Result<Self, CudaError> {
        let doing = "describe a product to cuBLASLt";
        let layout = |m: &Matrix| {
            // A row-major matrix is its transposed matrix in columns.
            let (rows, columns) = if m.is_column_major() { (m.rows, m.columns) } else { (m.columns, m.rows) };
            result::create_matrix_layout(lt_type(m.element), rows as u64, columns as u64, m.leading() as i64)
                // SAFETY: the layout is new, and this is its destructor.
                .map(|layout| unsafe { Owned::new(layout, result::destroy_matrix_layout) })
                .map_err(lt(doing))
        };
        let layouts = [layout(&product.b)?, layout(&product.a)?, layout(&product.c)?];
        let operation = result::create_matmul_desc(compute_type(product), sys::cudaDataType_t::CUDA_R_32F);
        // SAFETY: the description is new, and this is its destructor.
        let operation = unsafe { Owned::new(operation.map_err(lt(doing))?, result::destroy_matmul_desc) };
        use sys::cublasLtMatmulDescAttributes_t as Desc;
        for (attribute, matrix) in
            [(Desc::CUBLASLT_MATMUL_DESC_TRANSA, &product.b), (Desc::CUBLASLT_MATMUL_DESC_TRANSB, &product.a)]
        {
            // CUBLAS_OP_N and CUBLAS_OP_T.
            let op = i32::from(matrix.is_column_major());
            // SAFETY: the call above made the description; the value has four bytes.
            unsafe {
                result::set_matmul_desc_attribute(operation.value, attribute, (&raw const op).cast(), 4)
            }
            .map_err(lt(doing))?;
        }
        Ok(Self { operation, layouts })
    }

    fn matrices(&self) -> [sys::cublasLtMatrixLayout_t; 3] {
        self.layouts.each_ref().map(|layout| layout.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_algorithms_apart() {
        let name = Algorithm([66, 20, 36, 1, 0, 1, 0, 3, 2]).to_string();
        assert_eq!(
            name,
            "cublaslt_ALGO=66_TILE=20_STAGES=36_SPLIT-K=1_REDUCTION=0_SWIZZLE=1_CUSTOM=0_INNER=3_CLUSTER=2"
        );
    }
}
