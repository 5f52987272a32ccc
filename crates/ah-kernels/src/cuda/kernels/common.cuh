// Shared by all kernels: 16-bit types without headers, asynchronous copies, mma, and the deterministic sum
// over blocks that split-K needs.
//
// NVRTC compiles this text in front of each .cu file. It includes nothing, so it needs no CUDA toolkit on
// the machine. ELEMENT_BF16 = 1 reads 16-bit words as bfloat16, 0 as float16.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#ifndef ELEMENT_BF16
#define ELEMENT_BF16 0
#endif

#define DEVICE __device__ __forceinline__

// Two floats rounded to 16 bits; `low` goes to the lower address.
DEVICE u32 pack(float low, float high) {
    u32 both;
#if ELEMENT_BF16
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
#else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
#endif
    return both;
}

DEVICE u16 round_to_16_bits(float x) { return (u16)(pack(x, 0.0f) & 0xffff); }

// d += a · b for a 16 × 8 tile over 16 steps of k: one warp, sums in float32.
DEVICE void mma_16x8x16(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
#if ELEMENT_BF16
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
#else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
#endif
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// A row-major result of 16-bit elements.
struct Result {
    u16* c;
    long long ldc;
    int m, n;

    // Two neighbouring elements.
    DEVICE void store_pair(int row, int column, u32 pair) const {
        if (row >= m || column >= n) return;
        u16* to = c + row * ldc + column;
        if (column + 1 < n && ldc % 2 == 0) {
            *(u32*)to = pair;
        } else {
            to[0] = (u16)pair;
            if (column + 1 < n) to[1] = (u16)(pair >> 16);
        }
    }

    // Stores four pairs a lane in the layout of the tensor cores: lane q of four holds columns 8 · i + 2 ·
    // q of group i. The four lanes exchange pairs, so that each stores one group of 16 bytes. The whole
    // warp must call.
    DEVICE void store_groups(int row, int column, u32 (&pairs)[4]) const {
        int q = threadIdx.x % 4;
        auto exchange = [&](int lanes, int i, int j) {
            bool upper = q & lanes;
            u32 got = __shfl_xor_sync(0xffffffff, upper ? pairs[i] : pairs[j], lanes);
            if (upper) pairs[i] = got;
            else pairs[j] = got;
        };
        exchange(1, 0, 1), exchange(1, 2, 3), exchange(2, 0, 2), exchange(2, 1, 3);
        column += q * 8;
        if (row < m && column + 8 <= n && ldc % 8 == 0) {
            *(uint4*)(c + row * ldc + column) = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
        } else {
#pragma unroll
            for (int i = 0; i < 4; ++i) store_pair(row, column + i * 2, pairs[i]);
        }
    }
};

DEVICE u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }

// Copies `valid` of `BYTES` bytes and fills the rest with zeros.
template <int BYTES> DEVICE void copy_async(u32 to, const void* from, int valid) {
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(BYTES), "r"(valid) : "memory");
}

DEVICE void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most `PENDING` groups of this thread's copies are in flight.
template <int PENDING> DEVICE void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

// Work cut into gridDim.x equal parts. There are `units` of work, `per_tile` for each tile of the output.
// Several blocks may share a tile, and one block may work on several tiles (stream-K, Osama et al., PPoPP
// 2023). If the number of parts is a multiple of the number of tiles, this is split-K. There are never more
// blocks than units.
struct Parts {
    long long units;
    int per_tile;

    DEVICE long long begin(long long block) const { return units * block / gridDim.x; }
    DEVICE int block_of(long long unit) const { return (int)(((unit + 1) * gridDim.x - 1) / units); }
};

// Sums over the blocks that share `tile`. Each block writes its sums to `partial`. The last block to arrive
// adds all of them in the order of the blocks, so the order of arrival does not change the result. Returns
// whether this block holds the result.
//
// A block shares at most its first and its last tile, so `partial` has 2 · gridDim.x · REGISTERS · threads
// floats. `tickets` has one word a tile; each is zero before and after.
//
// `thread` of `threads` identifies the owner of these sums; a thread that is not `active` has none. CALLERS
// threads call, and number 0 (`caller`) is among them.
template <int CALLERS, int REGISTERS>
DEVICE bool sum_over_blocks(float (&sums)[REGISTERS], float* partial, u32* tickets, const Parts& parts, int tile,
                            int thread, int threads, bool active, int caller) {
    int first = parts.block_of((long long)tile * parts.per_tile), last = parts.block_of((long long)(tile + 1) * parts.per_tile - 1);
    if (first == last) return true;
    auto place = [&](int block) {
        bool begins_elsewhere = parts.begin(block) / parts.per_tile != tile;
        return partial + (2 * (u64)block + begins_elsewhere) * REGISTERS * threads + thread;
    };
    auto barrier = [] { asm volatile("bar.sync 1, %0;" ::"n"(CALLERS) : "memory"); };
    __shared__ u32 arrived;
    if (active) {
        float* mine = place(blockIdx.x);
#pragma unroll
        for (int r = 0; r < REGISTERS; ++r) __stcg(&mine[r * threads], sums[r]);
        __threadfence();
    }
    barrier();
    if (caller == 0) arrived = atomicAdd(&tickets[tile], 1u);
    barrier();
    bool is_last = arrived == last - first;
    barrier();  // `arrived` is written again for the next tile
    if (!is_last) return false;
    if (caller == 0) tickets[tile] = 0;
    __threadfence();
    if (active) {
#pragma unroll
        for (int r = 0; r < REGISTERS; ++r) sums[r] = 0.0f;
        for (int block = first; block <= last; ++block) {
            const float* part = place(block);
#pragma unroll
            for (int r = 0; r < REGISTERS; ++r) sums[r] += __ldcg(&part[r * threads]);
        }
    }
    return true;
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Descriptor of a wgmma operand in shared memory: 128-byte rows in 128-byte swizzle, in groups of eight
// rows that are 1024 bytes apart. `leading` is the distance between groups of 64 elements if the rows run
// along m or n; it is unused if they run along k.
DEVICE u64 describe(u32 address, u32 leading) {
    return (u64)((address & 0x3ffff) >> 4) | (u64)(leading >> 4) << 16 | (u64)(1024 >> 4) << 32 | 1ull << 62;
}

// d += a · b for 64 × 128 over 16 steps of k, one warpgroup. An operand is MAJOR if its rows run along m or
// n.
template <int A_MAJOR, int B_MAJOR> DEVICE void wgmma_64x128x16(float (&d)[64], u64 a, u64 b) {
#define D8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
    asm volatile(
#if ELEMENT_BF16
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
#else
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
#endif
        "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
        "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, "
        "%64, %65, 1, 1, 1, %66, %67;"
        : D8(0), D8(8), D8(16), D8(24), D8(32), D8(40), D8(48), D8(56)
        : "l"(a), "l"(b), "n"(A_MAJOR), "n"(B_MAJOR));
#undef D8
}

DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int PENDING> DEVICE void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory"); }

// sums += a · b over one stage of 64 in k, for the M_TILES · 64 rows and N_TILES · 128 columns of a
// warpgroup. Shared memory holds an operand's tile as rows of k or, if MAJOR, as groups of 64 of m or n
// with 64 rows of k each.
template <int M_TILES, int N_TILES, int A_MAJOR, int B_MAJOR>
DEVICE void wgmma_stage(float (&sums)[M_TILES * N_TILES][64], u32 tile_a, u32 tile_b, int warpgroup) {
    constexpr int GROUP = 64 * 128;  // bytes
#pragma unroll
    for (int s = 0; s < 4; ++s)
#pragma unroll
        for (int mt = 0; mt < M_TILES; ++mt)
#pragma unroll
            for (int nt = 0; nt < N_TILES; ++nt) {
                int group = warpgroup * M_TILES + mt;
                u64 a = A_MAJOR ? describe(tile_a + group * GROUP + s * 2048, GROUP) : describe(tile_a + group * GROUP + s * 32, 16);
                u64 b = B_MAJOR ? describe(tile_b + nt * 2 * GROUP + s * 2048, GROUP) : describe(tile_b + nt * 2 * GROUP + s * 32, 16);
                wgmma_64x128x16<A_MAJOR, B_MAJOR>(sums[mt * N_TILES + nt], a, b);
            }
}

// Stores the result of a warpgroup; `thread` counts the threads of all warpgroups.
template <int M_TILES, int N_TILES>
DEVICE void store_tiles(const Result& result, const float (&sums)[M_TILES * N_TILES][64], int row, int column, int thread) {
    int warpgroup = thread / 128, lane = thread % 32, warp = thread % 128 / 32;
#pragma unroll
    for (int mt = 0; mt < M_TILES; ++mt)
#pragma unroll
        for (int nt = 0; nt < N_TILES; ++nt)
#pragma unroll
            for (int j = 0; j < 16; j += 4)
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const float* d = &sums[mt * N_TILES + nt][j * 4 + half * 2];
                    u32 pairs[4] = {pack(d[0], d[1]), pack(d[4], d[5]), pack(d[8], d[9]), pack(d[12], d[13])};
                    result.store_groups(row + (warpgroup * M_TILES + mt) * 64 + warp * 16 + lane / 4 + half * 8, column + nt * 128 + j * 8, pairs);
                }
}
#endif
