// c[m,n] = a[m,k] · b[k,n] for 16-bit floating point with float32 sums, on tensor cores.
//
// Two kernels of the same shape. Blocks of BLOCK_M × BLOCK_N walk along k in steps of BLOCK_K; asynchronous
// copies keep STAGES of them in flight in shared memory. WGMMA = 0 multiplies fragments with mma.sync
// (sm_80 and later), WGMMA = 1 multiplies in shared memory with wgmma (sm_90a only).
//
// A tile has the same order in shared memory as its operand has in memory, in rows of 64 or 32 elements.
// The row's number permutes its 16-byte chunks, so that neither copies nor ldmatrix cause bank conflicts.
// For 128-byte rows, this permutation is wgmma's 128-byte swizzle.
//
// Configuration (all by -D):
//   BLOCK_M BLOCK_N BLOCK_K STAGES   the tile, and the tiles in flight
//   WARPS_M WARPS_N                  warps of a block (WGMMA: WARPS_M / 4 warpgroups, WARPS_N = 1)
//   A_TRANSPOSED B_TRANSPOSED        1: the operand's columns are contiguous, not its rows
//   A_ALIGN B_ALIGN                  elements that divide the operand's stride and address: 8, 4, 2
//                                    copy asynchronously, 1 one element at a time
//   ELEMENT_BF16
//
// Launch: grid ⌈m / BLOCK_M⌉ · ⌈n / BLOCK_N⌉ · s blocks for split-K by s ≤ ⌈k / BLOCK_K⌉, 32 · WARPS_M ·
// WARPS_N threads, shared memory 1024 + STAGES · (BLOCK_M + BLOCK_N) · BLOCK_K · 2 bytes. `partial` has 2 ·
// blocks · BLOCK_M · BLOCK_N floats if s > 1. `tickets` has one word a tile, zero before and after.

constexpr int THREADS = 32 * WARPS_M * WARPS_N;
constexpr int A_BYTES = BLOCK_M * BLOCK_K * 2, B_BYTES = BLOCK_N * BLOCK_K * 2;
constexpr int STAGE_BYTES = A_BYTES + B_BYTES;

// Place of chunk `chunk` of row `row` in a tile whose rows have `CHUNKS` chunks of 16 bytes.
template <int CHUNKS> DEVICE u32 place(int row, int chunk) {
    static_assert(CHUNKS == 4 || CHUNKS == 8);
    int permuted = CHUNKS == 8 ? chunk ^ (row & 7) : chunk ^ ((row >> 1) & 3);
    return (row * CHUNKS + permuted) * 16;
}

// Copies `ROWS` rows of `GROUPS` groups of `CHUNKS` chunks into shared memory, group after group. `rows`
// and `columns` count the rest of the operand; places beyond it become zeros.
template <int ROWS, int CHUNKS, int GROUPS, int ALIGN>
DEVICE void fetch_tile(u32 to, const u16* from, long long stride, int rows, int columns) {
    constexpr int TOTAL = ROWS * CHUNKS * GROUPS;
    static_assert(TOTAL % THREADS == 0);
#pragma unroll
    for (int i = 0; i < TOTAL / THREADS; ++i) {
        int index = i * THREADS + threadIdx.x;
        int chunk = index % (CHUNKS * GROUPS), row = index / (CHUNKS * GROUPS);
        int group = chunk / CHUNKS;
        u32 at = to + group * ROWS * CHUNKS * 16 + place<CHUNKS>(row, chunk % CHUNKS);
        int left = row < rows ? columns - chunk * 8 : 0;
        const u16* source = from + row * stride + chunk * 8;
        if constexpr (ALIGN >= 2) {
#pragma unroll
            for (int part = 0; part < 8; part += ALIGN) {
                int valid = min(max(left - part, 0), ALIGN);
                copy_async<ALIGN * 2>(at + part * 2, valid > 0 ? source + part : from, valid * 2);
            }
        } else {
            u32 word[4];
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                u32 low = 2 * j < left ? source[2 * j] : 0, high = 2 * j + 1 < left ? source[2 * j + 1] : 0;
                word[j] = low | high << 16;
            }
            asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(at), "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3]) : "memory");
        }
    }
}

// Rows of shared memory hold 64 elements, or 32 if BLOCK_K or the block is that small.
template <int WIDTH> constexpr int chunks_of = WIDTH % 64 == 0 ? 8 : 4;
constexpr int A_CHUNKS = chunks_of<A_TRANSPOSED ? BLOCK_M : BLOCK_K>;
constexpr int B_CHUNKS = chunks_of<B_TRANSPOSED ? BLOCK_K : BLOCK_N>;
constexpr int A_ROWS = A_TRANSPOSED ? BLOCK_K : BLOCK_M, A_GROUPS = (A_TRANSPOSED ? BLOCK_M : BLOCK_K) / (A_CHUNKS * 8);
constexpr int B_ROWS = B_TRANSPOSED ? BLOCK_N : BLOCK_K, B_GROUPS = (B_TRANSPOSED ? BLOCK_K : BLOCK_N) / (B_CHUNKS * 8);

struct Problem {
    const u16 *a, *b;
    long long lda, ldb;  // between rows, or between columns if transposed
    int m, n, k;
    int row, column;     // of the block's tile
};

DEVICE void fetch_stage(u32 stage, const Problem& p, int from) {
    int m = p.m - p.row, n = p.n - p.column, k = p.k - from;
    const u16* a = A_TRANSPOSED ? p.a + from * p.lda + p.row : p.a + p.row * p.lda + from;
    const u16* b = B_TRANSPOSED ? p.b + p.column * p.ldb + from : p.b + from * p.ldb + p.column;
    fetch_tile<A_ROWS, A_CHUNKS, A_GROUPS, A_ALIGN>(stage, a, p.lda, A_TRANSPOSED ? k : m, A_TRANSPOSED ? m : k);
    fetch_tile<B_ROWS, B_CHUNKS, B_GROUPS, B_ALIGN>(stage + A_BYTES, b, p.ldb, B_TRANSPOSED ? n : k, B_TRANSPOSED ? k : n);
}

// Blocks that run at the same time take tiles of the same few rows and columns of c, so that they find
// their operands in the second-level cache.
DEVICE void place_block(Problem& p, int tile) {
    constexpr int GROUP = 8;
    int tiles_m = (p.m + BLOCK_M - 1) / BLOCK_M, tiles_n = (p.n + BLOCK_N - 1) / BLOCK_N;
    int group = tile / (GROUP * tiles_n), inside = tile % (GROUP * tiles_n);
    int height = min(tiles_m - group * GROUP, GROUP);
    p.row = (group * GROUP + inside % height) * BLOCK_M;
    p.column = inside / height * BLOCK_N;
}

// The steps of BLOCK_K of all tiles.
DEVICE Parts parts_of(const Problem& p) {
    int steps = max((p.k + BLOCK_K - 1) / BLOCK_K, 1);
    return {(long long)((p.m + BLOCK_M - 1) / BLOCK_M) * ((p.n + BLOCK_N - 1) / BLOCK_N) * steps, steps};
}

#if WGMMA

extern "C" __global__ void __launch_bounds__(THREADS, 1)
mm(const u16* __restrict__ a, const u16* __restrict__ b, u16* __restrict__ c, float* partial, u32* tickets,
   int m, int n, int k, long long lda, long long ldb, long long ldc) {
    static_assert(BLOCK_K == 64 && BLOCK_N % 128 == 0 && WARPS_N == 1 && WARPS_M % 4 == 0 && STAGES >= 3);
    constexpr int GROUPS = WARPS_M / 4, M_TILES = BLOCK_M / (64 * GROUPS), N_TILES = BLOCK_N / 128;
    extern __shared__ u8 shared[];
    u32 stages = (shared_address(shared) + 1023) & ~1023u;
    Problem p = {a, b, lda, ldb, m, n, k};
    Parts parts = parts_of(p);
    int tile = (int)(parts.begin(blockIdx.x) / parts.per_tile);
    place_block(p, tile);
    int warpgroup = threadIdx.x / 128;

    int first = (int)(parts.begin(blockIdx.x) % parts.per_tile), count = (int)(parts.begin(blockIdx.x + 1) - parts.begin(blockIdx.x));

    float sums[M_TILES * N_TILES][64] = {};
    // The tensor cores read one stage while the next is issued, so copies run STAGES − 2 ahead.
#pragma unroll
    for (int s = 0; s < STAGES - 2; ++s) {
        if (s < count) fetch_stage(stages + s * STAGE_BYTES, p, (first + s) * BLOCK_K);
        commit_copies();
    }
    for (int i = 0; i < count; ++i) {
        wait_for_copies<STAGES - 3>();
        // Makes the copied data visible to the tensor cores' reads of shared memory.
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        u32 tile_a = stages + i % STAGES * STAGE_BYTES, tile_b = tile_a + A_BYTES;
        wgmma_fence();
        wgmma_stage<M_TILES, N_TILES, A_TRANSPOSED, !B_TRANSPOSED>(sums, tile_a, tile_b, warpgroup);
        wgmma_commit();
        // The stage of two steps ago: every warpgroup waited for its products before the barrier above.
        int next = i + STAGES - 2;
        if (next < count) fetch_stage(stages + next % STAGES * STAGE_BYTES, p, (first + next) * BLOCK_K);
        commit_copies();
        wgmma_wait<1>();
    }
    wgmma_wait<0>();

    float (&flat)[M_TILES * N_TILES * 64] = reinterpret_cast<float (&)[M_TILES * N_TILES * 64]>(sums);
    if (!sum_over_blocks<THREADS>(flat, partial, tickets, parts, tile, threadIdx.x, THREADS, true, threadIdx.x)) return;
    store_tiles<M_TILES, N_TILES>(Result{c, ldc, m, n}, sums, p.row, p.column, threadIdx.x);
}

#else

DEVICE void load_matrices(u32 (&r)[4], u32 address, bool transposed) {
    if (transposed)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address));
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address));
}

// Chunk `chunk` of row `row` of a tile that is stored group after group.
template <int ROWS, int CHUNKS> DEVICE u32 in_tile(int row, int chunk) {
    return chunk / CHUNKS * ROWS * CHUNKS * 16 + place<CHUNKS>(row, chunk % CHUNKS);
}

extern "C" __global__ void __launch_bounds__(THREADS)
mm(const u16* __restrict__ a, const u16* __restrict__ b, u16* __restrict__ c, float* partial, u32* tickets,
   int m, int n, int k, long long lda, long long ldb, long long ldc) {
    constexpr int WARP_M = BLOCK_M / WARPS_M, WARP_N = BLOCK_N / WARPS_N;
    constexpr int M_TILES = WARP_M / 16, N_TILES = WARP_N / 8;
    static_assert(WARP_M % 16 == 0 && WARP_N % 16 == 0 && BLOCK_K % 32 == 0 && STAGES >= 2);
    extern __shared__ u8 shared[];
    u32 stages = (shared_address(shared) + 1023) & ~1023u;
    Problem p = {a, b, lda, ldb, m, n, k};
    Parts parts = parts_of(p);
    int tile = (int)(parts.begin(blockIdx.x) / parts.per_tile);
    place_block(p, tile);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int warp_row = warp % WARPS_M * WARP_M, warp_column = warp / WARPS_M * WARP_N;

    int first = (int)(parts.begin(blockIdx.x) % parts.per_tile), count = (int)(parts.begin(blockIdx.x + 1) - parts.begin(blockIdx.x));

    float sums[M_TILES][N_TILES][4] = {};
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) {
        if (s < count) fetch_stage(stages + s * STAGE_BYTES, p, (first + s) * BLOCK_K);
        commit_copies();
    }
    // Which of ldmatrix's four 8 × 8 matrices this lane addresses, and which row of it.
    int quarter = lane / 8, inner = lane % 8;
    for (int i = 0; i < count; ++i) {
        wait_for_copies<STAGES - 2>();
        __syncthreads();
        int next = i + STAGES - 1;
        if (next < count) fetch_stage(stages + next % STAGES * STAGE_BYTES, p, (first + next) * BLOCK_K);
        commit_copies();
        u32 tile_a = stages + i % STAGES * STAGE_BYTES, tile_b = tile_a + A_BYTES;
#pragma unroll
        for (int s = 0; s < BLOCK_K / 16; ++s) {
            u32 fa[M_TILES][4], fb[N_TILES / 2][4];
#pragma unroll
            for (int mt = 0; mt < M_TILES; ++mt) {
                int row = warp_row + mt * 16 + quarter % 2 * 8, step = s * 16 + quarter / 2 * 8;
                u32 at = A_TRANSPOSED ? in_tile<A_ROWS, A_CHUNKS>(step + inner, row / 8) : in_tile<A_ROWS, A_CHUNKS>(row + inner, step / 8);
                load_matrices(fa[mt], tile_a + at, A_TRANSPOSED);
            }
#pragma unroll
            for (int nt = 0; nt < N_TILES / 2; ++nt) {
                int column = warp_column + nt * 16 + quarter / 2 * 8, step = s * 16 + quarter % 2 * 8;
                u32 at = B_TRANSPOSED ? in_tile<B_ROWS, B_CHUNKS>(column + inner, step / 8) : in_tile<B_ROWS, B_CHUNKS>(step + inner, column / 8);
                load_matrices(fb[nt], tile_b + at, !B_TRANSPOSED);
            }
#pragma unroll
            for (int mt = 0; mt < M_TILES; ++mt)
#pragma unroll
                for (int nt = 0; nt < N_TILES; ++nt)
                    mma_16x8x16(sums[mt][nt], fa[mt], fb[nt / 2][nt % 2 * 2], fb[nt / 2][nt % 2 * 2 + 1]);
        }
    }

    float (&flat)[M_TILES * N_TILES * 4] = reinterpret_cast<float (&)[M_TILES * N_TILES * 4]>(sums);
    if (!sum_over_blocks<THREADS>(flat, partial, tickets, parts, tile, threadIdx.x, THREADS, true, threadIdx.x)) return;
    Result result = {c, ldc, m, n};
#pragma unroll
    for (int mt = 0; mt < M_TILES; ++mt)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            int row = p.row + warp_row + mt * 16 + lane / 4 + half * 8, column = p.column + warp_column;
            auto pair = [&](int nt) { return pack(sums[mt][nt][half * 2], sums[mt][nt][half * 2 + 1]); };
            if constexpr (N_TILES % 4 == 0) {
#pragma unroll
                for (int nt = 0; nt < N_TILES; nt += 4) {
                    u32 pairs[4] = {pair(nt), pair(nt + 1), pair(nt + 2), pair(nt + 3)};
                    result.store_groups(row, column + nt * 8, pairs);
                }
            } else {
#pragma unroll
                for (int nt = 0; nt < N_TILES; ++nt) result.store_pair(row, column + nt * 8 + lane % 4 * 2, pair(nt));
            }
        }
}

#endif
