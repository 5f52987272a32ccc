// y = exp(x − max x) / Σ exp(x − max x) for every row of a float32 matrix.
//
// FORM picks the kernel (all by -D):
//   REGISTERS  persistent: a row stays in the registers of ROW_THREADS threads, of CLUSTER blocks
//              (sm_90: they exchange maximum and sum through distributed shared memory)
//   SHARED     persistent: rows stream through STAGES buffers in shared memory, so that the next
//              row is on its way while this one is reduced; a block takes every gridDim.x-th row
//   LOOPED     the row is read twice: online maximum and sum (Milakov and Gimelshein), then y
// ROW_THREADS threads of a block share a row, and ROWS rows share a block (ROW_THREADS = 32, or ROWS = 1).
// A load has WIDTH floats (4, 2 or 1; WIDTH divides columns and the row strides). VECTORS counts the loads
// of a thread: all of them for REGISTERS, the unrolled ones for LOOPED.
//
// Plain loads and stores are fastest: `no_allocate` and `.cs` cost 5 to 10 % of the bandwidth on an H200.
//
// Launch: for REGISTERS and LOOPED, grid ⌈rows / ROWS⌉ · CLUSTER; for SHARED, any grid, and shared memory
// STAGES · ROW_THREADS · WIDTH · ⌈columns / (ROW_THREADS · WIDTH)⌉ floats. A block has ROW_THREADS · ROWS
// threads.

#define REGISTERS 0
#define SHARED 1
#define LOOPED 2

#ifndef CLUSTER
#define CLUSTER 1
#endif

#define INFINITY __int_as_float(0x7f800000)

constexpr float LOG2_E = 1.4426950408889634f;
constexpr int WARPS = ROW_THREADS / 32;

template <int N> struct alignas(4 * N) Vector { float x[N]; };
typedef Vector<WIDTH> Vec;

DEVICE float exp2_fast(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

DEVICE float exp_of_difference(float x, float max) { return exp2_fast((x - max) * LOG2_E); }

struct Max { static DEVICE float of(float a, float b) { return fmaxf(a, b); } };
struct Sum { static DEVICE float of(float a, float b) { return a + b; } };

#if CLUSTER > 1
DEVICE u32 block_in_cluster() {
    u32 rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

DEVICE void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
DEVICE void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
#endif

// Reduces over the threads of a row. Only this call uses `slots`.
template <class Op> DEVICE float reduce(float x, float* slots) {
#pragma unroll
    for (int d = 16; d > 0; d /= 2) x = Op::of(x, __shfl_xor_sync(0xffffffff, x, d));
    if constexpr (WARPS > 1) {
        int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        if (lane == 0) slots[warp] = x;
        __syncthreads();
        x = slots[lane % WARPS];
#pragma unroll
        for (int d = WARPS / 2; d > 0; d /= 2) x = Op::of(x, __shfl_xor_sync(0xffffffff, x, d));
    }
#if CLUSTER > 1
    // Every block sends its value to every block; all add them in the same order.
    float* exchange = slots + 32;
    if (threadIdx.x < CLUSTER) {
        u32 to;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(shared_address(&exchange[block_in_cluster()])), "r"(threadIdx.x));
        asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(to), "f"(x) : "memory");
    }
    cluster_arrive();
    cluster_wait();
    x = exchange[0];
#pragma unroll
    for (int i = 1; i < CLUSTER; ++i) x = Op::of(x, exchange[i]);
#endif
    return x;
}

constexpr int SLOTS = 32 + CLUSTER;

#if FORM == REGISTERS
#if CLUSTER > 1
extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(ROW_THREADS * ROWS)
#else
extern "C" __global__ void __launch_bounds__(ROW_THREADS * ROWS)
#endif
softmax(const float* __restrict__ x, float* __restrict__ y, int rows, int columns, long long x_stride, long long y_stride) {
    __shared__ float slots[2][SLOTS];
    int row = blockIdx.x / CLUSTER * ROWS + threadIdx.x / ROW_THREADS;
    if (ROWS > 1 && row >= rows) return;  // whole warps: ROW_THREADS is 32 in this case
    int first = threadIdx.x % ROW_THREADS;
#if CLUSTER > 1
    cluster_arrive();  // shared memory of a block may be written once the block has started
    first += block_in_cluster() * ROW_THREADS * VECTORS;
#endif
    x += row * x_stride, y += row * y_stride;

    Vec v[VECTORS];
    float max = -INFINITY;
#pragma unroll
    for (int i = 0; i < VECTORS; ++i) {
        int column = (first + i * ROW_THREADS) * WIDTH;
        if (column < columns) v[i] = *(const Vec*)(x + column);
        else
#pragma unroll
            for (int j = 0; j < WIDTH; ++j) v[i].x[j] = -INFINITY;
    }
#pragma unroll
    for (int i = 0; i < VECTORS; ++i)
#pragma unroll
        for (int j = 0; j < WIDTH; ++j) max = fmaxf(max, v[i].x[j]);
#if CLUSTER > 1
    cluster_wait();
#endif
    max = reduce<Max>(max, slots[0]);
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < VECTORS; ++i)
#pragma unroll
        for (int j = 0; j < WIDTH; ++j) sum += v[i].x[j] = exp_of_difference(v[i].x[j], max);
    float factor = 1.0f / reduce<Sum>(sum, slots[1]);
#pragma unroll
    for (int i = 0; i < VECTORS; ++i) {
        int column = (first + i * ROW_THREADS) * WIDTH;
#pragma unroll
        for (int j = 0; j < WIDTH; ++j) v[i].x[j] *= factor;
        if (column < columns) *(Vec*)(y + column) = v[i];
    }
#if CLUSTER > 1
    cluster_arrive();  // no block leaves while another may still write to its shared memory
    cluster_wait();
#endif
}
#endif

#if FORM == SHARED
extern "C" __global__ void __launch_bounds__(ROW_THREADS)
softmax(const float* __restrict__ x, float* __restrict__ y, int rows, int columns, long long x_stride, long long y_stride) {
    extern __shared__ float buffers[];
    __shared__ float slots[2][2][SLOTS];
    int vectors = (columns / WIDTH + ROW_THREADS - 1) / ROW_THREADS, length = vectors * ROW_THREADS * WIDTH;

    // A thread reads only what it copied itself, so waiting for its own copies is enough.
    auto fetch = [&](int row, int stage) {
        if (row < rows)
            for (int i = 0; i < vectors; ++i) {
                int column = (threadIdx.x + i * ROW_THREADS) * WIDTH;
                if (column < columns)
                    copy_async<WIDTH * 4>(shared_address(buffers + stage * length + column), x + row * x_stride + column, WIDTH * 4);
            }
        commit_copies();
    };
    for (int s = 0; s < STAGES - 1; ++s) fetch(blockIdx.x + s * gridDim.x, s);
    int stage = 0;
    for (int row = blockIdx.x, turn = 0; row < rows; row += gridDim.x, turn ^= 1) {
        fetch(row + (STAGES - 1) * gridDim.x, (stage + STAGES - 1) % STAGES);
        wait_for_copies<STAGES - 1>();
        float* buffer = buffers + stage * length;
        float max = -INFINITY, sum = 0.0f;
#pragma unroll 4
        for (int i = 0; i < vectors; ++i) {
            int column = (threadIdx.x + i * ROW_THREADS) * WIDTH;
            if (column < columns) {
                Vec v = *(Vec*)(buffer + column);
#pragma unroll
                for (int j = 0; j < WIDTH; ++j) max = fmaxf(max, v.x[j]);
            }
        }
        max = reduce<Max>(max, slots[turn][0]);
#pragma unroll 4
        for (int i = 0; i < vectors; ++i) {
            int column = (threadIdx.x + i * ROW_THREADS) * WIDTH;
            if (column < columns) {
                Vec v = *(Vec*)(buffer + column);
#pragma unroll
                for (int j = 0; j < WIDTH; ++j) sum += v.x[j] = exp_of_difference(v.x[j], max);
                *(Vec*)(buffer + column) = v;
            }
        }
        float factor = 1.0f / reduce<Sum>(sum, slots[turn][1]);
#pragma unroll 4
        for (int i = 0; i < vectors; ++i) {
            int column = (threadIdx.x + i * ROW_THREADS) * WIDTH;
            if (column < columns) {
                Vec v = *(Vec*)(buffer + column);
#pragma unroll
                for (int j = 0; j < WIDTH; ++j) v.x[j] *= factor;
                *(Vec*)(y + row * y_stride + column) = v;
            }
        }
        stage = (stage + 1) % STAGES;
    }
}
#endif

#if FORM == LOOPED
extern "C" __global__ void __launch_bounds__(ROW_THREADS * ROWS)
softmax(const float* __restrict__ x, float* __restrict__ y, int rows, int columns, long long x_stride, long long y_stride) {
    __shared__ float slots[2][SLOTS];
    int row = blockIdx.x * ROWS + threadIdx.x / ROW_THREADS, thread = threadIdx.x % ROW_THREADS;
    if (ROWS > 1 && row >= rows) return;  // whole warps: ROW_THREADS is 32 in this case
    x += row * x_stride, y += row * y_stride;
    constexpr int STRIDE = ROW_THREADS * WIDTH;

    // The least finite number instead of −∞: the difference of two infinities would be NaN.
    float max = -3.4028234e38f, sum = 0.0f;
    for (int base = thread * WIDTH; base < columns; base += STRIDE * VECTORS) {
        Vec v[VECTORS];
        float larger = max;
#pragma unroll
        for (int i = 0; i < VECTORS; ++i) {
            if (base + i * STRIDE < columns) v[i] = *(const Vec*)(x + base + i * STRIDE);
            else
#pragma unroll
                for (int j = 0; j < WIDTH; ++j) v[i].x[j] = -INFINITY;
        }
#pragma unroll
        for (int i = 0; i < VECTORS; ++i)
#pragma unroll
            for (int j = 0; j < WIDTH; ++j) larger = fmaxf(larger, v[i].x[j]);
        sum *= exp_of_difference(max, larger);
        max = larger;
        // Each vector is summed on its own: one running sum would lose digits on a long row.
        float part = 0.0f;
#pragma unroll
        for (int i = 0; i < VECTORS; ++i)
#pragma unroll
            for (int j = 0; j < WIDTH; ++j) part += exp_of_difference(v[i].x[j], max);
        sum += part;
    }
    float row_max = reduce<Max>(max, slots[0]);
    float factor = 1.0f / reduce<Sum>(sum * exp_of_difference(max, row_max), slots[1]);
#pragma unroll VECTORS
    for (int column = thread * WIDTH; column < columns; column += STRIDE) {
        Vec v = *(const Vec*)(x + column);
#pragma unroll
        for (int j = 0; j < WIDTH; ++j) v.x[j] = exp_of_difference(v.x[j], row_max) * factor;
        *(Vec*)(y + column) = v;
    }
}
#endif
