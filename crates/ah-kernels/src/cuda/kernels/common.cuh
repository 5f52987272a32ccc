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

DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int PENDING> DEVICE void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory"); }
#endif
