// Random operands, and the reference for results.
//
// Types by number, as in `element.rs`: 0 float16, 1 bfloat16, 2 float32, 4 int8, 5 uint8.

#define KERNEL extern "C" __global__ void

DEVICE float load(const void* from, u64 i, int type) {
    if (type == 2) return ((const float*)from)[i];
    if (type == 4) return (float)((const signed char*)from)[i];
    if (type == 5) return (float)((const u8*)from)[i];
    u16 bits = ((const u16*)from)[i];
    if (type == 1) return __uint_as_float((u32)bits << 16);
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}

DEVICE void store(void* to, u64 i, int type, float x) {
    if (type == 2) {
        ((float*)to)[i] = x;
    } else if (type == 1) {
        u32 bits = __float_as_uint(x);
        ((u16*)to)[i] = (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);  // to the nearest, ties to even
    } else {
        u16 bits;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
        ((u16*)to)[i] = bits;
    }
}

// The finalizer of SplitMix64 (Steele, Lea and Flood, 2014).
DEVICE u64 mix(u64 x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

DEVICE u64 draw(u64 seed, u64 i) { return mix(seed + (i + 1) * 0x9e3779b97f4a7c15ull); }

// Floats are normally distributed around 0 (Box and Muller); integers take all their values. Any grid, any
// block.
KERNEL random(void* to, u64 count, int type, float deviation, u64 seed) {
    u64 thread = blockIdx.x * (u64)blockDim.x + threadIdx.x, threads = (u64)gridDim.x * blockDim.x;
    if (type >= 4) {
        for (u64 i = thread; i < count; i += threads) ((u8*)to)[i] = (u8)(draw(seed, i / 8) >> i % 8 * 8);
        return;
    }
    for (u64 pair = thread; 2 * pair < count; pair += threads) {
        u64 bits = draw(seed, pair);
        float u = ((u32)(bits >> 40) + 1) * 0x1p-24f, angle = (u32)(bits & 0xffffff) * 0x1p-23f;
        float radius = deviation * sqrtf(-2.0f * logf(u)), sine, cosine;
        sincospif(angle, &sine, &cosine);
        store(to, 2 * pair, type, radius * cosine);
        if (2 * pair + 1 < count) store(to, 2 * pair + 1, type, radius * sine);
    }
}

// The element of the result that sample s compares. With enough samples, every element; else some of the
// last row, some of the last column, and the rest anywhere.
DEVICE void position(int s, int samples, int rows, int columns, u64 seed, int& row, int& column) {
    if ((long long)rows * columns <= samples) {
        row = s / columns, column = s % columns;
        return;
    }
    u64 bits = draw(seed, s);
    row = s < samples / 8 ? rows - 1 : (int)((u32)bits % rows);
    column = s >= samples / 8 && s < samples / 4 ? columns - 1 : (int)((u32)(bits >> 32) % columns);
}

// Computes sampled elements of a · b in float64. One warp a sample, 128 threads a block.
KERNEL expected(const void* a, int a_type, long long a_row, long long a_column, const void* b, int b_type, long long b_row,
                long long b_column, int m, int k, int n, int samples, u64 seed, double* out) {
    int s = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (s >= samples || (long long)s >= (long long)m * n) return;
    int row, column;
    position(s, samples, m, n, seed, row, column);
    double sum = 0;
#pragma unroll 4
    for (int i = lane; i < k; i += 32)
        sum += (double)load(a, row * a_row + i * a_column, a_type) * (double)load(b, i * b_row + column * b_column, b_type);
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
    if (lane == 0) out[s] = sum;
}

// Errors found: [0] counts elements that are not finite; the buffer was filled with NaN, so elements that
// were not written count. [1] is the largest absolute error of a sample, as the bits of a float.

// Any grid, any block.
KERNEL not_finite(const void* c, int type, int m, int n, long long ldc, u32* found) {
    u64 thread = blockIdx.x * (u64)blockDim.x + threadIdx.x, threads = (u64)gridDim.x * blockDim.x;
    u32 count = 0;
    for (u64 i = thread; i < (u64)m * n; i += threads) {
        u64 at = i / n * ldc + i % n;
        u32 bits = type == 2 ? ((const u32*)c)[at] : ((const u16*)c)[at];
        u32 exponent = type == 2 ? 0x7f800000 : type == 1 ? 0x7f80 : 0x7c00;
        count += (bits & exponent) == exponent;
    }
    if (count) atomicAdd(&found[0], count);
}

DEVICE void report(u32* found, double error) {
    float e = isnan(error) ? __int_as_float(0x7f800000) : (float)error;
    atomicMax(&found[1], __float_as_uint(e));
}

// One thread a sample.
KERNEL compare(const void* c, int type, int m, int n, long long ldc, int samples, u64 seed, const double* expected, u32* found) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= samples || (long long)s >= (long long)m * n) return;
    int row, column;
    position(s, samples, m, n, seed, row, column);
    report(found, fabs((double)load(c, row * ldc + column, type) - expected[s]));
}

// The relative error of y = softmax(x) on sampled rows, computed in float64. One block of 512 threads a
// row.
KERNEL softmax_error(const float* x, const float* y, int rows, int columns, int samples, u64 seed, u32* found) {
    __shared__ double shared[512];
    int row = rows <= samples ? blockIdx.x : blockIdx.x == 0 ? rows - 1 : (int)(draw(seed, blockIdx.x) % rows);
    x += (u64)row * columns, y += (u64)row * columns;
    auto reduce = [&](double v, bool largest) {
        shared[threadIdx.x] = v;
        for (int d = 256; d > 0; d /= 2) {
            __syncthreads();
            double other = threadIdx.x < d ? shared[threadIdx.x + d] : 0;
            if (threadIdx.x < d) shared[threadIdx.x] = largest ? fmax(shared[threadIdx.x], other) : shared[threadIdx.x] + other;
        }
        __syncthreads();
        v = shared[0];
        __syncthreads();
        return v;
    };
    double largest = -1e300, sum = 0, worst = 0;
    for (int i = threadIdx.x; i < columns; i += 512) largest = fmax(largest, (double)x[i]);
    largest = reduce(largest, true);
    for (int i = threadIdx.x; i < columns; i += 512) sum += exp(x[i] - largest);
    sum = reduce(sum, false);
    for (int i = threadIdx.x; i < columns; i += 512) {
        double right = exp(x[i] - largest) / sum, error = fabs(y[i] - right) / (right + 1e-12);
        worst = isnan(error) ? 1e300 : fmax(worst, error);
    }
    worst = reduce(worst, true);
    if (threadIdx.x == 0) report(found, worst);
}
