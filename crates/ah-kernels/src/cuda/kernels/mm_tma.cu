// c[m,n] = a[m,k] · b[k,n] for 16-bit floating point with float32 sums, for Hopper (sm_90a only). One
// warpgroup fetches tiles with the bulk tensor copy engine; CONSUMERS other warpgroups multiply them with
// wgmma. They wait for each other only through STAGES tiles of shared memory.
//
// The grid has as many blocks as can run at once. Each block takes every gridDim.x-th tile (STREAM_K = 0)
// or an equal part of the steps of all tiles (STREAM_K = 1, see Parts). It fetches its next tile while it
// writes the last one.
//
// Configuration (all by -D):
//   BLOCK_M BLOCK_N   the tile: 64 · CONSUMERS · i rows, 128 · j columns; steps of 64 in k
//   STAGES CONSUMERS STREAM_K
//   A_TRANSPOSED B_TRANSPOSED   1: the operand's columns are contiguous, not its rows
//   ELEMENT_BF16
//
// `maps` are two CUtensorMaps in global memory, for a and b. Each has two dimensions, the contiguous one
// first; boxes of 64 contiguous elements by BLOCK_M or BLOCK_N rows if k is contiguous, else by 64;
// 128-byte swizzle; zeros out of bounds.
//
// Launch: grid up to the number of parts, 128 · (1 + CONSUMERS) threads, shared memory 2048 + STAGES ·
// (BLOCK_M + BLOCK_N) · 128 bytes. `partial` has 2 · blocks · BLOCK_M · BLOCK_N floats for STREAM_K.
// `tickets` has one word a tile, zero before and after.

constexpr int BLOCK_K = 64;
constexpr int THREADS = 128 * CONSUMERS;  // the threads that multiply
constexpr int M_TILES = BLOCK_M / (64 * CONSUMERS), N_TILES = BLOCK_N / 128;
constexpr int A_BYTES = BLOCK_M * BLOCK_K * 2, STAGE_BYTES = (BLOCK_M + BLOCK_N) * BLOCK_K * 2;
static_assert(BLOCK_M % (64 * CONSUMERS) == 0 && BLOCK_N % 128 == 0);

struct alignas(64) TensorMap { u64 words[16]; };

DEVICE void barrier_init(u32 barrier, int count) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory"); }
DEVICE void barrier_arrive(u32 barrier) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory"); }
DEVICE void barrier_expect(u32 barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
DEVICE void barrier_wait(u32 barrier, int parity) {
    asm volatile(
        "{\n.reg .pred done;\n"
        "again:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@done bra through;\nbra again;\nthrough:\n}"
        ::"r"(barrier), "r"(parity) : "memory");
}

DEVICE void fetch_box(u32 to, const TensorMap* map, u32 barrier, int inner, int outer) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 ::"r"(to), "l"(map), "r"(barrier), "r"(inner), "r"(outer) : "memory");
}

// A tile of `ROWS` of m or n by 64 of k: rows of k, or groups of 64 of m or n with k rows each.
template <int ROWS, bool K_CONTIGUOUS> DEVICE void fetch_tile(u32 to, const TensorMap* map, u32 barrier, int row, int k) {
    if (K_CONTIGUOUS) {
        fetch_box(to, map, barrier, k, row);
    } else {
#pragma unroll
        for (int group = 0; group < ROWS / 64; ++group) fetch_box(to + group * BLOCK_K * 128, map, barrier, row + group * 64, k);
    }
}

struct Position {
    int stage = 0, parity = 0;
    DEVICE void advance() {
        if (++stage == STAGES) stage = 0, parity ^= 1;
    }
};

// The tiles of a block. Blocks work on few rows and columns of c at the same time, so that they find their
// operands in the second-level cache.
struct Tiles {
    int m_tiles, n_tiles;
    DEVICE int2 place(int tile) const {
        constexpr int GROUP = 8;
        int group = tile / (GROUP * n_tiles), inside = tile % (GROUP * n_tiles);
        int height = min(m_tiles - group * GROUP, GROUP);
        return make_int2((group * GROUP + inside % height) * BLOCK_M, inside / height * BLOCK_N);
    }
};

extern "C" __global__ void __launch_bounds__(128 + THREADS, 1)
mm_tma(const TensorMap* __restrict__ maps, u16* __restrict__ c, float* partial, u32* tickets, int m, int n, int k, long long ldc) {
    extern __shared__ u8 shared[];
    u32 stages = (shared_address(shared) + 1023) & ~1023u;
    u32 full = stages + STAGES * STAGE_BYTES, empty = full + STAGES * 8;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            barrier_init(full + s * 8, 1);
            barrier_init(empty + s * 8, CONSUMERS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    int steps = (k + BLOCK_K - 1) / BLOCK_K;
    Tiles tiles = {(m + BLOCK_M - 1) / BLOCK_M, (n + BLOCK_N - 1) / BLOCK_N};
    Parts parts = {(long long)tiles.m_tiles * tiles.n_tiles * steps, steps};
    // Whole tiles are dealt in turn, so that tiles in work at the same time are neighbours.
    int begin = STREAM_K ? (int)parts.begin(blockIdx.x) : blockIdx.x * steps;
    int end = STREAM_K ? (int)parts.begin(blockIdx.x + 1) : (int)parts.units;
    auto stop_of = [&](int unit) { return min(end, (unit / steps + 1) * steps); };
    auto next_of = [&](int unit) { return STREAM_K ? stop_of(unit) : unit + (int)gridDim.x * steps; };
    Position at;

    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            for (int unit = begin; unit < end; unit = next_of(unit)) {
                int2 place = tiles.place(unit / steps);
                int first = unit % steps, count = stop_of(unit) - unit;
                for (int i = first; i < first + count; ++i, at.advance()) {
                    u32 stage = stages + at.stage * STAGE_BYTES, barrier = full + at.stage * 8;
                    barrier_wait(empty + at.stage * 8, at.parity ^ 1);
                    barrier_expect(barrier, STAGE_BYTES);
                    fetch_tile<BLOCK_M, !A_TRANSPOSED>(stage, maps, barrier, place.x, i * BLOCK_K);
                    fetch_tile<BLOCK_N, B_TRANSPOSED>(stage + A_BYTES, maps + 1, barrier, place.y, i * BLOCK_K);
                }
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(CONSUMERS == 1 ? 240 : 232));
        Result result = {c, ldc, m, n};
        int thread = threadIdx.x - 128, warpgroup = thread / 128;
        for (int unit = begin; unit < end; unit = next_of(unit)) {
            int tile = unit / steps, count = stop_of(unit) - unit;
            float sums[M_TILES * N_TILES][64] = {};
            int last = 0;
            for (int i = 0; i < count; ++i, at.advance()) {
                barrier_wait(full + at.stage * 8, at.parity);
                u32 tile_a = stages + at.stage * STAGE_BYTES, tile_b = tile_a + A_BYTES;
                wgmma_fence();
                wgmma_stage<M_TILES, N_TILES, A_TRANSPOSED, !B_TRANSPOSED>(sums, tile_a, tile_b, warpgroup);
                wgmma_commit();
                // The products of the previous step are done: its stage may be filled again.
                wgmma_wait<1>();
                if (i > 0 && thread % 128 == 0) barrier_arrive(empty + last * 8);
                last = at.stage;
            }
            wgmma_wait<0>();
            if (count > 0 && thread % 128 == 0) barrier_arrive(empty + last * 8);

            float(&flat)[M_TILES * N_TILES * 64] = reinterpret_cast<float(&)[M_TILES * N_TILES * 64]>(sums);
            if (STREAM_K && !sum_over_blocks<THREADS>(flat, partial, tickets, parts, tile, thread, THREADS, true, thread)) continue;
            int2 place = tiles.place(tile);
            store_tiles<M_TILES, N_TILES>(result, sums, place.x, place.y, thread);
        }
    }
}
