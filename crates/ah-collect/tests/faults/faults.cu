// y = 2 · x + 1, with a fault. The macro FAULT is the name of one of these.
#define steady 0
#define wrong 1               // one element is wrong
#define unwritten 2           // the last element is not written
#define not_compiling 3
#define not_launching 4       // asks for more shared memory than there is
#define illegal_address 5     // on even sizes: writes where there is no memory
#define misaligned_address 6  // while it is timed, on even sizes: writes at an address that no float has
#define hanging 7             // while it is timed, on even sizes: takes half a minute, and yet nobody loses a card over it

typedef unsigned long long u64;

// The blocks that ran in this process: the first launch is the check.
__device__ unsigned blocks;

extern "C" __global__ void right(const float* x, float* y, u64 count) {
    u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (i < count) y[i] = 2.0f * x[i] + 1.0f;
}

extern "C" __global__ void faults(const float* x, float* y, u64 count) {
    __shared__ unsigned before;
    if (threadIdx.x == 0) before = atomicAdd(&blocks, 1);
    __syncthreads();
    bool is_even = count % 2 == 0, is_timed = before >= gridDim.x;
    u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (i >= count || (FAULT == unwritten && i == count - 1)) return;
    float result = 2.0f * x[i] + 1.0f;
    if (FAULT == wrong && i == count / 2) result = -result - 1.0f;
    if (FAULT == illegal_address && is_even) *(volatile float*)(1ull << 60) = result;
    if (FAULT == misaligned_address && is_even && is_timed) *(volatile float*)((char*)y + 1) = result;
    if (FAULT == hanging && is_even && is_timed) {
        u64 begin, now;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
        do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        while (now - begin < 30000000000ull);
    }
#if FAULT == not_compiling
    result = undeclared;
#endif
    y[i] = result;
}
