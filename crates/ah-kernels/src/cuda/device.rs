//! One GPU: its identity, its memory, its kernels, and its clock.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use ah_model::{Cuda, Device};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUfunction_attribute};
use cudarc::driver::{CudaContext, CudaFunction, CudaStream, LaunchConfig, PushKernelArg as _, result};
use cudarc::nvrtc::Ptx;
use rayon::prelude::*;

use super::arena::{Arena, Buffer};
use super::clock::Clock;
use super::element::Arg;
use super::error::CudaError;
use super::kernels::Grid;
use super::library::{Library, cublas_version};
use super::nvml::ThrottleWatch;
use super::nvrtc::{Compiler, Source};

/// One GPU, opened; it is used by the thread that opened it, where its context is the current one.
pub(crate) struct Gpu {
    pub(super) stream: Arc<CudaStream>,
    pub(crate) identity: Cuda,
    arena: RefCell<Arena>,
    pub(super) clock: Clock,
    compiler: Compiler,
    loaded: RefCell<HashMap<KernelKey, Kernel>>,
}

/// A kernel's file, function and definitions.
type KernelKey = (Source, String, Vec<String>);

/// A loaded kernel.
pub(crate) type Kernel = CudaFunction;

/// The number of GPUs, at least one.
///
/// # Errors
/// There is none, or the driver is missing or does not work.
pub fn count() -> Result<u32, CudaError> {
    Library::Driver.require()?;
    let count = CudaContext::device_count()
        .map_err(|e| CudaError::Unusable(format!("NVIDIA's driver is installed and finds no GPU: {e}")))?;
    match u32::try_from(count).unwrap_or(0) {
        0 => Err(CudaError::Unusable("NVIDIA's driver is installed and finds no GPU".to_owned())),
        count => Ok(count),
    }
}

impl Gpu {
    /// Opens the GPU of this index.
    pub(crate) fn open(index: u32) -> Result<Self, CudaError> {
        let count = count()?;
        if index >= count {
            return Err(CudaError::Unusable(match count {
                1 => format!("there is one GPU, device 0; found device {index}"),
                n => format!("there are {n} GPUs, devices 0 to {}; found device {index}", n - 1),
            }));
        }
        for library in [Library::Nvrtc, Library::Cublas, Library::CublasLt] {
            library.require()?;
        }
        let context = CudaContext::new(index as usize).map_err(CudaError::driver("open the device"))?;
        // SAFETY: all work of this program runs in the order of one stream.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(CudaError::driver("make a stream"))?;
        let attribute = |a| {
            let value = context.attribute(a).map_err(CudaError::driver("ask the device"))?;
            Ok(u64::try_from(value).unwrap_or(0))
        };
        let small = |a| attribute(a).map(|x| u32::try_from(x).unwrap_or(u32::MAX));
        let capability = (
            small(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            small(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        );
        let compiler = Compiler::new(capability)?;
        let mut driver = 0;
        // SAFETY: `driver` is a valid place to write to.
        unsafe { sys::cuDriverGetVersion(&mut driver) }
            .result()
            .map_err(CudaError::driver("ask the driver"))?;
        let supported = (driver / 1000, driver % 1000 / 10);
        let (major, minor) = compiler.version;
        // Machine code runs under any driver of the same major version.
        if supported.0 < major {
            return Err(CudaError::Unusable(format!(
                "the driver supports CUDA {}.{}, NVRTC is of CUDA {major}.{minor}: update the driver, or name the \
                 folder of an older CUDA in LD_LIBRARY_PATH",
                supported.0, supported.1
            )));
        }
        let watch = ThrottleWatch::new(format!(
            "{:04x}:{:02x}:{:02x}.0",
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)?
        ));
        let l2 = attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?;
        let identity = Cuda {
            name: context.name().map_err(CudaError::driver("ask for the device's name"))?,
            capability,
            multiprocessors: small(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            shared_memory: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            l2,
            memory: context.total_mem().map_err(CudaError::driver("ask for the memory's size"))? as u64,
            clock_khz: attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
            memory_clock_khz: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?,
            driver: watch.driver_version().unwrap_or_else(|| format!("CUDA {}.{}", supported.0, supported.1)),
            runtime: format!("nvrtc {major}.{minor} cublas {}", cublas_version()),
        };
        Ok(Self {
            arena: RefCell::new(Arena::new(&context)),
            clock: Clock::new(&stream, usize::try_from(l2).unwrap_or(0), watch)?,
            compiler,
            loaded: RefCell::default(),
            stream,
            identity,
        })
    }

    /// The device, for logs.
    pub(crate) fn device(&self) -> Device {
        Device::Cuda(self.identity.clone())
    }

    /// A grid of blocks of 256 threads that fills the device.
    pub(super) fn grid(&self) -> Grid {
        Grid::of(self.identity.multiprocessors as usize * 8, 256)
    }

    pub(super) fn context(&self) -> &Arc<CudaContext> {
        self.stream.context()
    }

    /// Memory for the operands of one input; the memory of the last input becomes invalid.
    pub(crate) fn buffers(&self, bytes: &[usize]) -> Result<Vec<Buffer>, CudaError> {
        self.arena.borrow_mut().cut(bytes)
    }

    /// The kernel `function` of `source` under these definitions, compiled and loaded once.
    pub(crate) fn kernel(
        &self,
        source: Source,
        function: &str,
        defines: Vec<String>,
    ) -> Result<Kernel, CudaError> {
        let key = (source, function.to_owned(), defines);
        if let Some(kernel) = self.loaded.borrow().get(&key) {
            return Ok(kernel.clone());
        }
        let code = self.compiler.compile(source, &key.2)?;
        let module =
            self.context().load_module(Ptx::from_binary(code)).map_err(CudaError::driver("load a kernel"))?;
        let kernel = module
            .load_function(function)
            .map_err(|_| CudaError::NoKernel { file: source.file, kernel: function.to_owned() })?;
        self.loaded.borrow_mut().insert(key, kernel.clone());
        Ok(kernel)
    }

    /// Compiles these kernels in parallel on all cores. A failure is ignored here: it repeats, with its
    /// reason, when the kernel is requested.
    pub(crate) fn prepare(&self, kernels: Vec<(Source, Vec<String>)>) {
        let loaded = self.loaded.borrow();
        let known = |source, defines: &[String]| loaded.keys().any(|(s, _, d)| *s == source && d == defines);
        let new: Vec<_> = kernels.into_iter().filter(|(source, defines)| !known(*source, defines)).collect();
        let compiler = &self.compiler;
        new.par_iter().for_each(|(source, defines)| _ = compiler.compile(*source, defines));
    }

    /// Starts a kernel.
    pub(crate) fn launch(&self, kernel: &Kernel, grid: Grid, args: &[Arg]) -> Result<(), CudaError> {
        // Above 48 KiB, static memory included, a kernel must ask for shared memory.
        if grid.shared_memory > 0 {
            let limit = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            let bytes = i32::try_from(grid.shared_memory).unwrap_or(i32::MAX);
            kernel.set_attribute(limit, bytes).map_err(CudaError::driver("ask for shared memory"))?;
        }
        let config = LaunchConfig {
            grid_dim: grid.blocks.into(),
            block_dim: grid.threads.into(),
            shared_mem_bytes: grid.shared_memory,
        };
        let mut launch = self.stream.launch_builder(kernel);
        for arg in args {
            match arg {
                Arg::Buffer(buffer) => launch.arg(&buffer.address),
                Arg::I32(x) => launch.arg(x),
                Arg::I64(x) => launch.arg(x),
                Arg::F32(x) => launch.arg(x),
                Arg::F64(x) => launch.arg(x),
                Arg::U32(x) => launch.arg(x),
                Arg::U64(x) => launch.arg(x),
            };
        }
        // SAFETY: the runners pass each kernel the arguments and buffer sizes that its file lists; runner
        // and kernel are neighbours for that reason.
        unsafe { launch.launch(config) }.map(|_| ()).map_err(CudaError::driver("start a kernel"))
    }

    /// Sets all bytes to `value`.
    pub(crate) fn fill(&self, buffer: Buffer, byte: u8) -> Result<(), CudaError> {
        buffer.fill(self.stream.cu_stream(), byte)
    }

    /// Copies on the device.
    pub(crate) fn copy(&self, from: Buffer, to: Buffer) -> Result<(), CudaError> {
        assert!(from.bytes <= to.bytes, "copying past the end of a buffer");
        // SAFETY: both are memory of this device, and `to` is large enough; the stream keeps the order.
        unsafe { result::memcpy_dtod_async(to.address, from.address, from.bytes, self.stream.cu_stream()) }
            .map_err(CudaError::driver("copy memory"))
    }

    /// Waits for all work and copies 32-bit words to the host.
    pub(crate) fn read(&self, buffer: Buffer, len: usize) -> Result<Vec<u32>, CudaError> {
        assert!(4 * len <= buffer.bytes, "reading past the end of a buffer");
        self.wait()?;
        let mut host = vec![0; len];
        // SAFETY: both sides have `len` elements, and any bytes are an integer.
        unsafe { result::memcpy_dtoh_sync(&mut host, buffer.address) }
            .map_err(CudaError::driver("copy from the device"))?;
        Ok(host)
    }

    /// Waits for all work; failures of kernels appear here.
    pub(crate) fn wait(&self) -> Result<(), CudaError> {
        self.stream.synchronize().map_err(CudaError::driver("run"))
    }
}
