//! Timing on a GPU, by events on the stream.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use ah_measure::{Burst, Failure, Times};
use cudarc::driver::sys::{CUevent_flags, CUgraphInstantiate_flags, CUresult, CUstreamCaptureMode};
use cudarc::driver::{CudaEvent, CudaGraph, CudaStream};

use super::arena::Allocation;
use super::error::CudaError;
use super::nvml::ThrottleWatch;

/// The least number of bytes written to empty the L2: as much as Triton's do_bench writes, and twice any L2
/// of today. Writing them takes 70 µs, longer than the host needs to launch the timed kernel, so a cold
/// sample contains no launch latency.
const FLUSH: usize = 256 << 20;
/// How often a burst is repeated while the card is throttled, before its times are given up.
const MAX_THROTTLED: u32 = 20;
const THROTTLED_PAUSE: Duration = Duration::from_millis(100);

/// The clock of one GPU.
pub(super) struct Clock {
    stream: Arc<CudaStream>,
    flush: Allocation,
    events: RefCell<Vec<CudaEvent>>,
    watch: RefCell<ThrottleWatch>,
}

impl Clock {
    /// Makes the clock of a stream on a GPU with an L2 of this many bytes.
    pub(super) fn new(stream: &Arc<CudaStream>, l2: usize, watch: ThrottleWatch) -> Result<Self, CudaError> {
        Ok(Self {
            stream: Arc::clone(stream),
            flush: Allocation::new(stream.context(), FLUSH.max(2 * l2))?,
            events: RefCell::default(),
            watch: RefCell::new(watch),
        })
    }

    /// Times `run`, which starts work. Returns one mean in milliseconds for each sample, by events on the
    /// stream.
    ///
    /// Before a cold sample the L2 is overwritten. The runs of a hot sample are captured into a graph and
    /// replayed, so that launches do not count. Samples that were taken while the card throttled itself are
    /// taken again.
    pub(super) fn time(
        &self,
        burst: Burst,
        run: impl Fn() -> Result<(), CudaError>,
    ) -> Result<Times, Failure> {
        let mut throttled = "";
        for _ in 0..MAX_THROTTLED {
            let times = self.time_once(burst, &run)?;
            let Some(reason) = self.watch.borrow_mut().throttled() else { return Ok(times) };
            throttled = reason;
            std::thread::sleep(THROTTLED_PAUSE);
        }
        Err(Failure::Unmeasured(format!("the card is throttled and does not recover: {throttled}")))
    }

    fn time_once(&self, burst: Burst, run: &impl Fn() -> Result<(), CudaError>) -> Result<Times, CudaError> {
        let graph = if burst.runs > 1 && !burst.cold { Some(self.capture(burst.runs, run)?) } else { None };
        let events = self.take_events(2 * burst.samples as usize)?;
        let record = |e: &CudaEvent| e.record(&self.stream).map_err(CudaError::driver("record an event"));
        for pair in events.chunks_exact(2) {
            if burst.cold {
                self.flush.buffer().fill(self.stream.cu_stream(), 0)?;
            }
            record(&pair[0])?;
            match &graph {
                Some(graph) => graph.launch().map_err(CudaError::driver("replay a graph"))?,
                None => (0..burst.runs).try_for_each(|_| run())?,
            }
            record(&pair[1])?;
        }
        self.stream.synchronize().map_err(CudaError::driver("run"))?;
        let ms = |pair: &[CudaEvent]| {
            let ms = pair[0].elapsed_ms(&pair[1]).map_err(CudaError::driver("read the clock"))?;
            Ok(f64::from(ms) / f64::from(burst.runs))
        };
        let times = events.chunks_exact(2).map(ms).collect();
        self.events.borrow_mut().extend(events);
        times
    }

    fn capture(&self, runs: u32, run: &impl Fn() -> Result<(), CudaError>) -> Result<CudaGraph, CudaError> {
        self.stream
            .begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED)
            .map_err(CudaError::driver("capture a graph"))?;
        let started = (0..runs).try_for_each(|_| run());
        // The capture is also ended after a failed launch; else the stream would stay unusable.
        let graph = self
            .stream
            .end_capture(CUgraphInstantiate_flags(0))
            .map_err(CudaError::driver("capture a graph"));
        started?;
        graph?.ok_or(CudaError::Driver {
            doing: "capture a graph",
            code: CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
        })
    }

    fn take_events(&self, count: usize) -> Result<Vec<CudaEvent>, CudaError> {
        let mut pool = self.events.borrow_mut();
        while pool.len() < count {
            let event = self.stream.context().new_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
            pool.push(event.map_err(CudaError::driver("make an event"))?);
        }
        let rest = pool.len() - count;
        Ok(pool.split_off(rest))
    }
}
