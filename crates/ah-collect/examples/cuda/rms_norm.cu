// RMS normalisation of each row of a float32 matrix: y = x * weight / sqrt(mean(x * x) + epsilon).
//
// A block takes ROWS rows with THREADS threads each, which load VECTOR numbers at a time. The row is needed twice:
// CACHE = 1 keeps it in shared memory, 0 reads it again.

#if VECTOR == 4
typedef float4 Vector;
__device__ float sum_of_squares(float4 v) { return v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w; }
__device__ float4 scaled(float4 v, float4 w, float s) {
    return make_float4(v.x * w.x * s, v.y * w.y * s, v.z * w.z * s, v.w * w.w * s);
}
#else
typedef float Vector;
__device__ float sum_of_squares(float v) { return v * v; }
__device__ float scaled(float v, float w, float s) { return v * w * s; }
#endif

extern "C" __global__ void rms_norm(const float* x, const float* weight, float* y, int rows, int columns,
                                    float epsilon) {
    extern __shared__ float4 memory[];
    int row = blockIdx.x * ROWS + threadIdx.y, vectors = columns / VECTOR;
    const Vector* from = (const Vector*)(x + (long long)row * columns);
    Vector* to = (Vector*)(y + (long long)row * columns);
    Vector* kept = (Vector*)memory + (long long)threadIdx.y * vectors;
    bool active = row < rows;

    float sum = 0.0f;
    if (active) {
        for (int i = threadIdx.x; i < vectors; i += THREADS) {
            Vector v = from[i];
            if (CACHE) kept[i] = v;
            sum += sum_of_squares(v);
        }
    }
    for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xffffffff, sum, lanes);
#if THREADS > 32
    constexpr int WARPS = THREADS / 32;
    __shared__ float sums[ROWS * WARPS];
    if (threadIdx.x % 32 == 0) sums[threadIdx.y * WARPS + threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int warp = 0; warp < WARPS; ++warp) sum += sums[threadIdx.y * WARPS + warp];
#endif

    if (!active) return;
    float scale = rsqrtf(sum / columns + epsilon);
    for (int i = threadIdx.x; i < vectors; i += THREADS)
        to[i] = scaled(CACHE ? kept[i] : from[i], ((const Vector*)weight)[i], scale);
}

// The reference: one block a row, sums in float64.
extern "C" __global__ void rms_norm_in_float64(const float* x, const float* weight, float* y, int rows, int columns,
                                               float epsilon) {
    __shared__ double sums[256];
    long long begin = (long long)blockIdx.x * columns;
    double sum = 0.0;
    for (int i = threadIdx.x; i < columns; i += 256) sum += (double)x[begin + i] * x[begin + i];
    sums[threadIdx.x] = sum;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    __syncthreads();
    double scale = 1.0 / sqrt(sums[0] / columns + epsilon);
    for (int i = threadIdx.x; i < columns; i += 256) y[begin + i] = (float)(x[begin + i] * scale * weight[i]);
}
