// c[m,n] = a[m,k] · b[k,n]. a is 16-bit floating point; b is 8-bit integers, cast to a's type, and n×k in memory, as a
// linear layer stores its weights (PyTorch's strides (1, k)).
//
// a has few rows, so reading b once takes most of the time. The kernel is fast if enough bytes are in
// flight, in whole cache lines, and all multiprocessors finish at the same time.
//
// Warps work alone until a tile of c is done. Each copies its own steps of k into its own part of shared
// memory, STAGES of them ahead, and multiplies them. The tensor cores may sum over k in any order, so a
// thread uses 16 neighbouring bytes of b in place and reads the activations in the matching order. The
// weights are the 16-row operand of mma.m16n8k16 and the activations its 8-column operand: m = 8 wastes
// nothing.
//
// The work, tiles · groups of steps, is one sequence that is cut into gridDim.x equal parts (stream-K,
// Osama et al., PPoPP 2023). A grid of tiles · s blocks is split-K. With as many blocks as can run at once,
// no multiprocessor is idle at the end. The last block of a shared tile sums its parts, always in the same
// order.
//
// Configuration (all by -D):
//   BLOCK_M      rows of c a block, a multiple of 8
//   VECTOR       columns of c a thread: 16, 8 or 4; a warp has 8 times as many
//   WARPS_N      warps side by side along n
//   WARPS_K      warps sharing the columns, each with its own steps of k; a power of two
//   STAGES       steps of 128 in k under way, at least 2
//   CLUSTER      1, or blocks of a cluster that share a tile, each with its part of k (sm_90 and later):
//                their sums meet in the first one's shared memory, which spares the way through memory
//                and back (8192², m = 16 on an H200: 25.8 µs, by split-K 28.3)
//   WEIGHTS_SIGNED, ELEMENT_BF16
//   ENGINE       0; 1 is mixed_mm_wgmma.cu, 2 mixed_mm_direct.cu
//
// Needs: k a multiple of 16; lda a multiple of 8 elements, ldb a multiple of 16 bytes; a, b and c at multiples of 16
// bytes.
// Launch: grid up to tiles · ⌈k / (STEP · WARPS_K)⌉ blocks (with clusters: tiles · CLUSTER), 32 · WARPS_N ·
// WARPS_K threads, shared memory STAGES · warps · STAGE_BYTES + WARPS_N · (⌊WARPS_K / 2⌋ + CLUSTER − 1) ·
// 32 · REGISTERS · 4. `partial` has 2 · gridDim.x · BLOCK_M · BLOCK_N floats. `tickets` has one word a
// tile, zero before and after. Clusters need neither.

#if ENGINE == 0
constexpr int M_TILES = BLOCK_M / 8;
constexpr int N_TILES = VECTOR / 2;
constexpr int WARP_N = VECTOR * 8;
constexpr int BLOCK_N = WARPS_N * WARP_N;
constexpr int REGISTERS = M_TILES * N_TILES * 4;
constexpr int THREADS = 32 * WARPS_N * WARPS_K;
constexpr int STEP = 128;
constexpr int WEIGHT_BYTES = STEP * WARP_N, ACTIVATION_BYTES = M_TILES * 8 * STEP * 2;
constexpr int STAGE_BYTES = WEIGHT_BYTES + ACTIVATION_BYTES;
static_assert(STAGES >= 2 && BLOCK_M % 8 == 0 && (WARPS_K & (WARPS_K - 1)) == 0);
static_assert(VECTOR == 16 || VECTOR == 8 || VECTOR == 4);

template <int BYTES> DEVICE void load_shared(u32 (&to)[BYTES / 4], u32 from) {
    if constexpr (BYTES == 16)
        asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from));
    else
        asm volatile("ld.shared.v2.u32 {%0,%1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "r"(from));
}

struct Problem {
    const u16* a;
    const u8* b;
    long long lda, ldb;
    int m, n, k;
    int groups;    // of WARPS_K steps, a tile
    int m_blocks;
    u64 policy;    // of the weights
};

// Where a lane copies to and reads from in a stage. A warp copies whole lines: eight lanes copy 128
// consecutive bytes (four copy 64 if the warp is that narrow). The 16-byte chunks are permuted so that
// lanes that read together hit different banks. This struct holds only the parts that depend on the lane;
// the compiler knows the rest.
struct Lane {
    u32 copy, read[2];                          // weights
    u32 copy_activations, read_activations[2];

    // Column g · VECTOR + j belongs to group g; a column has eight chunks.
    DEVICE Lane() {
        int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
        copy = lane / 8 * 128 + lane % 8 * 16;  // fetch exchanges the chunks of odd groups
        for (int half = 0; half < 2; ++half) read[half] = g * VECTOR * 128 + ((t + half * 4) ^ (g % 2 * 4)) * 16;
        copy_activations = g * 256 + (t ^ (g & 1)) * 16;
        for (int pair = 0; pair < 2; ++pair) read_activations[pair] = g * 256 + ((t * 2 + pair) ^ (g & 1)) * 16;
    }
};

// Copies 16 bytes of activations, or zeros if EDGE and not `valid`. They also go to the first-level cache,
// where the other warps of the block find them.
template <bool EDGE> DEVICE void copy_activations(u32 to, const void* from, const void* instead, bool valid) {
    if constexpr (EDGE) copy_async<16>(to, valid ? from : instead, valid ? 16 : 0);
    else asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

// The warp's next fetch.
struct Cursor {
    const u16* a;  // this lane's first chunk of activations
    const u8* b;   // and of weights
    int from;      // the step's first k
    int rows;      // rows of a from this lane's on
    int columns;   // columns of c, from the warp's first one on
    int tile, group;

    DEVICE void start_tile(const Problem& p) {
        int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        // The blocks of a column of tiles are consecutive, so that they find its weights cached.
        int row = tile % p.m_blocks * BLOCK_M + lane / 4, column = tile / p.m_blocks * BLOCK_N + warp % WARPS_N * WARP_N;
        from = (group * WARPS_K + warp / WARPS_N) * STEP;
        rows = p.m - row, columns = p.n - column;
        a = p.a + row * p.lda + from + lane % 4 * 8;
        b = p.b + (column + lane / 8) * p.ldb + from + lane % 8 * 16;
    }

    DEVICE void advance(const Problem& p) {
        if (++group == p.groups) {
            group = 0, ++tile;
            start_tile(p);
        } else {
            from += STEP * WARPS_K, a += STEP * WARPS_K;
            b += STEP * WARPS_K;
        }
    }
};

template <bool EDGE> DEVICE void fetch(u32 stage, const Lane& to, const Problem& p, const Cursor& at) {
    int lane = threadIdx.x % 32;
    const u8* b = at.b;
    bool inside = at.from + lane % 8 * 16 < p.k;
#pragma unroll
    for (int i = 0; i < WARP_N / 4; ++i, b += 4 * p.ldb) {
        u32 place = (to.copy ^ (i * 4 / VECTOR % 2 * 64)) + i * 512;
        copy_weights<EDGE>(stage + place, b, p.b, inside && i * 4 + lane / 8 < at.columns, p.policy);
    }
    // Rows beyond the end are never copied: their places hold zeros from the start.
    const u16* a = at.a;
#pragma unroll
    for (int tile = 0; tile < M_TILES; ++tile, a += 8 * p.lda)
        if (tile * 8 < at.rows)
#pragma unroll
            for (int i = 0; i < STEP / 32; ++i)
                copy_activations<EDGE>(stage + WEIGHT_BYTES + tile * 8 * STEP * 2 + to.copy_activations + i * 64, a + i * 32, p.a,
                                       at.from + i * 32 + lane % 4 * 8 < p.k);
}

typedef float Sums[M_TILES][N_TILES][4];

// Multiplies the fragments of all tiles of n by all activations, over 16 steps of k.
DEVICE void multiply_tiles(Sums& sums, const u32 (&fragment)[N_TILES][4], const u32 (&activations)[M_TILES][4], u32 address, int s) {
#pragma unroll
    for (int tile = 0; tile < M_TILES; ++tile) {
        u32 two[2] = {activations[tile][s * 2], activations[tile][s * 2 + 1]};
        if (M_TILES > 4) load_shared<8>(two, address + tile * 8 * STEP * 2 + s * 8);
#pragma unroll
        for (int i = 0; i < N_TILES; ++i) mma_16x8x16(sums[tile][i], fragment[i], two[0], two[1]);
    }
}

// Many activations are loaded right before use: loaded earlier, they would take the registers of the sums.
DEVICE void load_activations(u32 (&activations)[M_TILES][4], u32 address) {
    if (M_TILES <= 4)
#pragma unroll
        for (int tile = 0; tile < M_TILES; ++tile) load_shared<16>(activations[tile], address + tile * 8 * STEP * 2);
}

DEVICE void multiply(Sums& sums, u32 stage, const Lane& lane) {
    u32 activations[M_TILES][4];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        u32 weights[VECTOR][4];
#pragma unroll
        for (int j = 0; j < VECTOR; ++j) load_shared<16>(weights[j], stage + lane.read[half] + j * 128);
#pragma unroll
        for (int pair = 0; pair < 2; ++pair) {
            u32 address = stage + WEIGHT_BYTES + lane.read_activations[pair] + half * 128;
            load_activations(activations, address);
#pragma unroll
            for (int s = 0; s < 2; ++s) {
                u32 fragment[N_TILES][4];
#pragma unroll
                for (int i = 0; i < N_TILES; ++i) {
                    widen(weights[i * 2][pair * 2 + s], fragment[i][0], fragment[i][2]);
                    widen(weights[i * 2 + 1][pair * 2 + s], fragment[i][1], fragment[i][3]);
                }
                multiply_tiles(sums, fragment, activations, address, s);
            }
        }
    }
}

// Writes the warp's part of a finished tile.
DEVICE void write(const Sums& sums, u16* c, long long ldc, const Problem& p, int row, int column) {
    int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    column += g * VECTOR;
#pragma unroll
    for (int tile = 0; tile < M_TILES; ++tile)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            int r = row + tile * 8 + t * 2 + e;
            if (r >= p.m) continue;
            u32 out[N_TILES];
#pragma unroll
            for (int i = 0; i < N_TILES; ++i) out[i] = pack(sums[tile][i][e], sums[tile][i][2 + e]);
            u16* to = c + r * ldc + column;
            if (column + VECTOR <= p.n && ldc % 8 == 0) {
#pragma unroll
                for (int i = 0; i < N_TILES; i += 2) *(uint2*)(to + i * 2) = make_uint2(out[i], out[i + 1]);
            } else {
#pragma unroll
                for (int j = 0; j < VECTOR; ++j)
                    if (column + j < p.n) to[j] = (u16)(out[j / 2] >> (j % 2 * 16));
            }
        }
}

#if CLUSTER > 1
// Sums over the blocks of a cluster, in the order of the blocks. The first block holds the result and
// returns true; its `gather` has room for the sums of the other blocks. All threads call, after one arrival
// at the cluster's barrier; those with `warp_k` 0 hold sums.
DEVICE bool sum_over_cluster(float (&flat)[REGISTERS], float* gather, int warp_n, int warp_k, int lane) {
    int rank = blockIdx.x % CLUSTER;
    auto place = [&](int other) { return gather + ((other - 1) * WARPS_N + warp_n) * REGISTERS * 32 + lane * 4; };
    // Every block has started, so its shared memory may be written.
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    if (rank > 0 && warp_k == 0) {
        u32 to;
        asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(to) : "r"(shared_address(place(rank))));
#pragma unroll
        for (int r = 0; r < REGISTERS; r += 4)
            asm volatile("st.shared::cluster.v4.f32 [%0], {%1,%2,%3,%4};"
                         ::"r"(to + r * 128), "f"(flat[r]), "f"(flat[r + 1]), "f"(flat[r + 2]), "f"(flat[r + 3]) : "memory");
    }
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    if (rank > 0) return false;
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (warp_k == 0)
#pragma unroll
        for (int other = 1; other < CLUSTER; ++other)
#pragma unroll
            for (int r = 0; r < REGISTERS; r += 4) {
                float4 part = *(const float4*)(place(other) + r * 32);
                flat[r] += part.x, flat[r + 1] += part.y, flat[r + 2] += part.z, flat[r + 3] += part.w;
            }
    return true;
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS)
#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
mixed_mm(const u16* __restrict__ a, const u8* __restrict__ b, u16* __restrict__ c, float* partial, u32* tickets,
         int m, int n, int k, long long lda, long long ldb, long long ldc) {
    extern __shared__ __align__(128) u8 shared[];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int warp_n = warp % WARPS_N, warp_k = warp / WARPS_N;
    Problem p = {a, b, lda, ldb, m, n, k};
    p.groups = (k + STEP * WARPS_K - 1) / (STEP * WARPS_K);
    p.m_blocks = (m + BLOCK_M - 1) / BLOCK_M;
    p.policy = weight_policy(p.m_blocks == 1);
    Parts parts = {(long long)((n + BLOCK_N - 1) / BLOCK_N) * p.m_blocks * p.groups, p.groups};
    int begin = (int)parts.begin(blockIdx.x), end = (int)parts.begin(blockIdx.x + 1);

    u32 stages = shared_address(shared) + warp * STAGES * STAGE_BYTES;
    float* exchange = (float*)(shared + WARPS_N * WARPS_K * STAGES * STAGE_BYTES);

#if CLUSTER > 1
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
    // Activations of rows beyond the end are read but never copied, and their sums are dropped. The zeros
    // there keep NaNs away from the tensor cores.
    if (m % BLOCK_M != 0)
#pragma unroll
        for (int s = 0; s < STAGES; ++s)
#pragma unroll
            for (int i = 0; i < ACTIVATION_BYTES / 512; ++i)
                *(uint4*)(shared + (warp * STAGES + s) * STAGE_BYTES + WEIGHT_BYTES + (i * 32 + lane) * 16) = make_uint4(0, 0, 0, 0);
    __syncwarp();

    // Fetching runs STAGES − 1 groups ahead of multiplying, across the ends of tiles.
    Lane places;
    Cursor ahead;
    ahead.tile = begin / p.groups, ahead.group = begin % p.groups;
    ahead.start_tile(p);
    int left = end - begin;
    auto fetch_next = [&](int stage) {
        if (left > 0) {
            u32 to = stages + stage * STAGE_BYTES;
            if (ahead.columns >= WARP_N && ahead.from + STEP <= k) fetch<false>(to, places, p, ahead);
            else fetch<true>(to, places, p, ahead);
            if (--left > 0) ahead.advance(p);
        }
        commit_copies();
    };
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) fetch_next(s);

    Sums sums = {};
    float(&flat)[REGISTERS] = reinterpret_cast<float(&)[REGISTERS]>(sums);
    int tile = begin / p.groups, group = begin % p.groups, stage = 0;
    for (int unit = begin; unit < end; ++unit) {
        // A lane reads data that other lanes of its warp copied, and overwrites data that they have read.
        wait_for_copies<STAGES - 2>();
        __syncwarp();
        fetch_next(stage == 0 ? STAGES - 1 : stage - 1);
        multiply(sums, stages + stage * STAGE_BYTES, places);
        stage = stage == STAGES - 1 ? 0 : stage + 1;

        if (++group < p.groups && unit + 1 < end) continue;
#pragma unroll
        for (int half = WARPS_K / 2; half > 0; half /= 2) {
            float* slot = exchange + ((warp_k % half) * WARPS_N + warp_n) * REGISTERS * 32 + lane;
            if (warp_k >= half && warp_k < 2 * half)
#pragma unroll
                for (int r = 0; r < REGISTERS; ++r) slot[r * 32] = flat[r];
            __syncthreads();
            if (warp_k < half)
#pragma unroll
                for (int r = 0; r < REGISTERS; ++r) flat[r] += slot[r * 32];
            __syncthreads();
        }
#if CLUSTER > 1
        // A block of a cluster has one tile.
        bool done = sum_over_cluster(flat, exchange + WARPS_N * (WARPS_K / 2) * 32 * REGISTERS, warp_n, warp_k, lane);
#else
        bool done = sum_over_blocks<THREADS>(flat, partial, tickets, parts, tile, warp_n * 32 + lane, WARPS_N * 32, warp_k == 0, threadIdx.x);
#endif
        if (done && warp_k == 0) write(sums, c, ldc, p, tile % p.m_blocks * BLOCK_M, tile / p.m_blocks * BLOCK_N + warp_n * WARP_N);
#pragma unroll
        for (int r = 0; r < REGISTERS; ++r) flat[r] = 0.0f;
        group = 0, ++tile;
    }
}
#endif
