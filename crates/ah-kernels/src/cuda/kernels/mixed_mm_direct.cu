// The same product for up to 8 rows of a, without shared memory in between: 16 neighbouring
// bytes of k go from memory straight to the registers of the thread that multiplies them, STAGES steps
// ahead. This kernel starts and ends sooner than the staged one, which matters if reading all of b takes
// only a few microseconds (4096², m = 1 on an H200: 10.6 µs against 12.0; 8192²: 24.2 against 24.9).
//
// Configuration: VECTOR columns of c a thread, an even number, and 8 times as many a block; WARPS, which
// share k; STAGES steps of 64 in k in flight a warp; WEIGHTS_SIGNED, ELEMENT_BF16.
//
// Launch: grid ⌈n / (8 · VECTOR)⌉, 32 · WARPS threads. `partial` and `tickets` are not used.

#if ENGINE == 2
constexpr int STEP = 64, THREADS = 32 * WARPS, SUMS = 2 * VECTOR;
static_assert(VECTOR % 2 == 0);

// One step in the registers of a thread: 16 values of k, from 16 · t on, of VECTOR columns and of one row
// of a.
struct Fragments {
    uint4 weights[VECTOR];
    uint4 activations[2];
};

DEVICE uint4 load_weights(const u8* from, u64 policy) {
    uint4 to;
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.L2::128B.v4.u32 {%0,%1,%2,%3}, [%4], %5;"
                 : "=r"(to.x), "=r"(to.y), "=r"(to.z), "=r"(to.w) : "l"(from), "l"(policy));
    return to;
}

DEVICE u32 word(const uint4& four, int i) { return i == 0 ? four.x : i == 1 ? four.y : i == 2 ? four.z : four.w; }

extern "C" __global__ void __launch_bounds__(THREADS)
mixed_mm(const u16* __restrict__ a, const u8* __restrict__ b, u16* __restrict__ c, float*, u32*,
         int m, int n, int k, long long lda, long long ldb, long long ldc) {
    __shared__ float exchange[WARPS][SUMS][32];
    int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, warp = threadIdx.x / 32;
    int first = blockIdx.x * 8 * VECTOR, steps = (k + STEP - 1) / STEP;
    u64 policy = weight_policy(true);
    // Columns beyond the end read other addresses, and their sums are dropped.
    int column = min(first + g * VECTOR, n - 1), columns = n - 1 - column;
    const u8* weights = b + column * ldb + t * 16;
    const u16* row = a + min(g, m - 1) * lda + t * 16;

    auto load = [&](Fragments& to, int step) {
        bool inside = step * STEP + t * 16 < k;
        const uint4 zeros = make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int j = 0; j < VECTOR; ++j) to.weights[j] = inside ? load_weights(weights + min(j, columns) * ldb + step * STEP, policy) : zeros;
#pragma unroll
        for (int half = 0; half < 2; ++half)
            to.activations[half] = inside && g < m ? __ldg((const uint4*)(row + step * STEP) + half) : zeros;
    };

    float sums[VECTOR / 2][4] = {};
    Fragments ahead[STAGES];
#pragma unroll
    for (int d = 0; d < STAGES; ++d)
        if (warp + d * WARPS < steps) load(ahead[d], warp + d * WARPS);
    for (int step = warp; step < steps; step += STAGES * WARPS)
#pragma unroll
        for (int d = 0; d < STAGES; ++d) {
            if (step + d * WARPS >= steps) break;
            const Fragments& now = ahead[d];
#pragma unroll
            for (int s = 0; s < 4; ++s)
#pragma unroll
                for (int i = 0; i < VECTOR / 2; ++i) {
                    u32 fragment[4];
                    widen(word(now.weights[i * 2], s), fragment[0], fragment[2]);
                    widen(word(now.weights[i * 2 + 1], s), fragment[1], fragment[3]);
                    const uint4& x = now.activations[s / 2];
                    mma_16x8x16(sums[i], fragment, s % 2 ? x.z : x.x, s % 2 ? x.w : x.y);
                }
            int next = step + (d + STAGES) * WARPS;
            if (next < steps) load(ahead[d], next);
        }

#pragma unroll
    for (int r = 0; r < SUMS; ++r) exchange[warp][r][lane] = sums[r / 4][r % 4];
    __syncthreads();
    // Value r of lane (g, t) is in column g · VECTOR + r / 2, row 2 · t + r % 2.
    for (int value = threadIdx.x; value < SUMS * 32; value += THREADS) {
        int r = value / 32, l = value % 32, at_row = l % 4 * 2 + r % 2, at_column = first + l / 4 * VECTOR + r / 2;
        if (at_row >= m || at_column >= n) continue;
        float sum = 0.0f;
#pragma unroll
        for (int w = 0; w < WARPS; ++w) sum += exchange[w][r][l];
        c[at_row * ldc + at_column] = round_to_16_bits(sum);
    }
}
#endif
