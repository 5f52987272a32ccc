// y = 2 · x + 1, with a fault (FAULT). Grid ⌈count / threads⌉, any block.
//
//   0  nothing
//   1  one element is wrong
//   2  the last element is not written
//   3  writes where there is no memory
//   4  writes at an address that no float has
//   5  does not end, for half a minute: longer than anybody waits, and yet nobody loses a card over it
//   6  does not compile

extern "C" __global__ void faults(const float* __restrict__ x, float* y, u64 count) {
    u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (i >= count || (FAULT == 2 && i == count - 1)) return;
    float result = 2.0f * x[i] + 1.0f;
    if (FAULT == 1 && i == count / 2) result = -result - 1.0f;
    if (FAULT == 3) *(volatile float*)(1ull << 60) = result;
    if (FAULT == 4) *(volatile float*)((char*)y + 1) = result;
    if (FAULT == 5) {
        u64 begin, now;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
        do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        while (now - begin < 30000000000ull);
    }
#if FAULT == 6
    result = undeclared;
#endif
    y[i] = result;
}
