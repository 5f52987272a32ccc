// The same product for more rows of a, with Hopper's warpgroup instructions (sm_90a only). If every weight
// is multiplied with 32 rows or more, the rate of the tensor cores matters too; so does reading the
// activations once a block instead of once a warp.
//
// The weights are wgmma's register operand and are widened in registers; the activations are its operand in
// shared memory, in 128-byte swizzle. There is one barrier for each 64 steps of k. A
// thread's 16 bytes of k serve four groups of 16 steps, so the activations are copied in that order, two
// elements at a time.
//
// Configuration: BLOCK_M 32, 64 or 128; TILES of 64 columns a warpgroup; WARPGROUPS; STAGES;
// WEIGHTS_SIGNED, ELEMENT_BF16. Everything else is as above, except shared memory (1024 + STAGES · 64 ·
// (BLOCK_N + 2 · BLOCK_M)) and steps of 64.

#if ENGINE == 1
constexpr int STEP = 64;
constexpr int THREADS = 128 * WARPGROUPS;
constexpr int WARP_N = 16 * TILES, VECTOR = 2 * TILES, BLOCK_N = 64 * TILES * WARPGROUPS;
constexpr int WEIGHT_BYTES = STEP * BLOCK_N, STAGE_BYTES = WEIGHT_BYTES + BLOCK_M * STEP * 2;
constexpr int SUMS = BLOCK_M / 2;  // of one tile, in one thread
static_assert(TILES == 2 || TILES == 4);

#define D8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#if ELEMENT_BF16
#define TYPES ".f32.bf16.bf16 "
#else
#define TYPES ".f32.f16.f16 "
#endif

// d += a · b for 64 × BLOCK_M over 16 steps of k, one warpgroup; a is in registers, b's rows run along k.
DEVICE void multiply_tile(float (&d)[SUMS], const u32 (&a)[4], u64 b) {
#if BLOCK_M == 32
    asm volatile("wgmma.mma_async.sync.aligned.m64n32k16" TYPES
                 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, {%16,%17,%18,%19}, %20, 1, 1, 1, 0;"
                 : D8(0), D8(8) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
#elif BLOCK_M == 64
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16" TYPES
                 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, "
                 "{%32,%33,%34,%35}, %36, 1, 1, 1, 0;"
                 : D8(0), D8(8), D8(16), D8(24) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
#else
    static_assert(BLOCK_M == 128);
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16" TYPES
                 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
                 "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, "
                 "{%64,%65,%66,%67}, %68, 1, 1, 1, 0;"
                 : D8(0), D8(8), D8(16), D8(24), D8(32), D8(40), D8(48), D8(56) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
#endif
}

// Places of the 16-byte chunks of weights; lanes that read together hit different banks. Columns that are VECTOR apart
// are read together.
DEVICE u32 place_of(int column, int chunk) { return (column ^ (column / VECTOR & 1)) * 64 + chunk * 16; }

// The block's next fetch, as this thread sees it. Consecutive copies of one thread are far enough apart to
// be equally far apart in shared memory, permuted or not.
struct Cursor {
    const u16* a;  // its first chunk of activations
    const u8* b;   // and of weights
    int from;      // the step's first k
    int row, column;
    int tile, step;

    static constexpr int CHUNKS = 4, APART = THREADS / CHUNKS;
    static constexpr int A_LANES = 32, A_APART = THREADS / A_LANES;
    static_assert(APART % (2 * VECTOR) == 0);

    DEVICE void start_tile(const u16* a_, const u8* b_, long long lda, long long ldb, int m_blocks) {
        row = tile % m_blocks * BLOCK_M, column = tile / m_blocks * BLOCK_N, from = step * STEP;
        int outer = threadIdx.x / CHUNKS, inner = threadIdx.x % CHUNKS * 16;
        b = b_ + (column + outer) * ldb + from + inner;
        a = a_ + (row + (int)threadIdx.x / A_LANES) * lda + from + threadIdx.x % A_LANES * 2;
    }

    // With EDGE, some weights of the step are outside the matrix and become zeros.
    template <bool EDGE> DEVICE void fetch_weights(u32 stage, const u8* instead, long long ldb, int n, int k, u64 policy) const {
        int outer = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS;
        u32 to = stage + place_of(outer, chunk);
        const u8* source = b;
#pragma unroll
        for (int i = 0; i < WEIGHT_BYTES / 16 / THREADS; ++i, source += APART * ldb) {
            u32 place = to + i * APART * 64;
            int at_n = column + outer + i * APART, at_k = from + chunk * 16;
            copy_weights<EDGE>(place, source, instead, at_n < n && at_k < k, policy);
        }
    }

    DEVICE void fetch_activations(u32 stage, const u16* instead, long long lda, int m, int k) const {
        int r = threadIdx.x / A_LANES, word = threadIdx.x % A_LANES;
        int to = word / 2 % 4 * 8 + word % 2 * 4 + word / 8;
        bool inside = from + word * 2 < k;
        const u16* source = a;
#pragma unroll
        for (int i = 0; i < BLOCK_M / A_APART; ++i, source += A_APART * lda) {
            bool valid = inside && row + r + i * A_APART < m;
            u32 place = ((to / 4) ^ ((r + i * A_APART) & 7)) * 16 + to % 4 * 4;
            copy_async<4>(stage + WEIGHT_BYTES + (r + i * A_APART) * 128 + place, valid ? source : instead, valid ? 4 : 0);
        }
    }
};

// Makes the fragments of all tiles for the s-th 16 steps of k.
DEVICE void to_fragments(u32 (&fragment)[TILES][4], const u32 (&weights)[VECTOR][4], int s) {
#pragma unroll
    for (int i = 0; i < TILES; ++i) {
        widen(weights[i * 2][s], fragment[i][0], fragment[i][2]);
        widen(weights[i * 2 + 1][s], fragment[i][1], fragment[i][3]);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
mixed_mm(const u16* __restrict__ a, const u8* __restrict__ b, u16* __restrict__ c, float* partial, u32* tickets,
         int m, int n, int k, long long lda, long long ldb, long long ldc) {
    extern __shared__ u8 shared[];
    u32 stages = (shared_address(shared) + 1023) & ~1023u;
    int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, warp = threadIdx.x / 32;
    int steps = (k + STEP - 1) / STEP, m_blocks = (m + BLOCK_M - 1) / BLOCK_M;
    Parts parts = {(long long)((n + BLOCK_N - 1) / BLOCK_N) * m_blocks * steps, steps};
    int begin = (int)parts.begin(blockIdx.x), end = (int)parts.begin(blockIdx.x + 1);

    u64 policy = weight_policy(m_blocks == 1);
    Cursor ahead;
    ahead.tile = begin / steps, ahead.step = begin % steps;
    ahead.start_tile(a, b, lda, ldb, m_blocks);
    int left = end - begin;
    auto fetch_next = [&](int stage) {
        if (left > 0) {
            u32 to = stages + stage * STAGE_BYTES;
            if (ahead.column + BLOCK_N <= n && ahead.from + STEP <= k) ahead.fetch_weights<false>(to, b, ldb, n, k, policy);
            else ahead.fetch_weights<true>(to, b, ldb, n, k, policy);
            ahead.fetch_activations(to, a, lda, m, k);
            if (--left > 0) {
                if (++ahead.step == steps) {
                    ahead.step = 0, ++ahead.tile;
                    ahead.start_tile(a, b, lda, ldb, m_blocks);
                } else {
                    ahead.from += STEP, ahead.a += STEP, ahead.b += STEP;
                }
            }
        }
        commit_copies();
    };
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) fetch_next(s);

    int tile = begin / steps, step = begin % steps;
    float sums[TILES][SUMS] = {};
    int stage = 0;
    for (int unit = begin; unit < end; ++unit) {
        wait_for_copies<STAGES - 2>();
        // Makes the copied data visible to the tensor cores' reads of shared memory.
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        fetch_next(stage == 0 ? STAGES - 1 : stage - 1);
        u32 at = stages + stage * STAGE_BYTES;
        stage = stage == STAGES - 1 ? 0 : stage + 1;

        u32 weights[VECTOR][4];
#pragma unroll
        for (int j = 0; j < VECTOR; ++j)
            asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(weights[j][0]), "=r"(weights[j][1]), "=r"(weights[j][2]), "=r"(weights[j][3])
                         : "r"(at + place_of(warp * WARP_N + g * VECTOR + j, t)));
        u32 fragment[2][TILES][4];
#pragma unroll
        for (int s = 0; s < STEP / 16; ++s) {
            // The next fragments are made while the tensor cores multiply the current ones.
            to_fragments(fragment[s % 2], weights, s);
            wgmma_fence();
            u64 activations = describe(at + WEIGHT_BYTES + s * 32, 16);
#pragma unroll
            for (int i = 0; i < TILES; ++i) multiply_tile(sums[i], fragment[s % 2][i], activations);
            wgmma_commit();
            if (s > 0 && s < STEP / 16 - 1) wgmma_wait<1>();
        }
        wgmma_wait<0>();

        if (++step < steps && unit + 1 < end) continue;
        float(&flat)[TILES * SUMS] = reinterpret_cast<float(&)[TILES * SUMS]>(sums);
        if (sum_over_blocks<THREADS>(flat, partial, tickets, parts, tile, threadIdx.x, THREADS, true, threadIdx.x)) {
            int column = tile / m_blocks * BLOCK_N + warp * WARP_N + g * VECTOR;
#pragma unroll
            for (int j = 0; j < BLOCK_M / 8; ++j)
#pragma unroll
                for (int e = 0; e < 2; ++e) {
                    int r = tile % m_blocks * BLOCK_M + j * 8 + t * 2 + e;
                    if (r >= m) continue;
                    u32 out[TILES];
#pragma unroll
                    for (int i = 0; i < TILES; ++i) out[i] = pack(sums[i][j * 4 + e], sums[i][j * 4 + 2 + e]);
                    u16* to = c + r * ldc + column;
                    if (column + VECTOR <= n && ldc % 4 == 0) {
#pragma unroll
                        for (int i = 0; i < TILES; i += 2) *(uint2*)(to + i * 2) = make_uint2(out[i], out[i + 1]);
                    } else {
#pragma unroll
                        for (int v = 0; v < VECTOR; ++v)
                            if (column + v < n) to[v] = (u16)(out[v / 2] >> (v % 2 * 16));
                    }
                }
        }
#pragma unroll
        for (int r = 0; r < TILES * SUMS; ++r) flat[r] = 0.0f;
        step = 0, ++tile;
    }
}
#endif
