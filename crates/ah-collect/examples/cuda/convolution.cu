// Convolution of a float32 image with a square filter of 2 * radius + 1 numbers a side. The image has a border of radius
// numbers on each side; the result has none.
//
// A block of BLOCK_X * BLOCK_Y threads makes BLOCK_X * TILE_X columns and BLOCK_Y * TILE_Y rows of the result. SHARED = 1
// copies the part of the image that it needs to shared memory first. UNROLL steps of a filter's row are unrolled.

extern "C" __global__ void convolution(const float* __restrict__ image, const float* __restrict__ filter,
                                       float* __restrict__ result, int height, int width, int radius) {
    constexpr int COLUMNS = BLOCK_X * TILE_X, ROWS = BLOCK_Y * TILE_Y;
    int left = blockIdx.x * COLUMNS, top = blockIdx.y * ROWS;
    int size = 2 * radius + 1, image_width = width + 2 * radius;

    // Where each of the thread's results begins, in the image or in its copy; beyond the edge, where the last one begins.
    int row[TILE_Y], column[TILE_X];
    const float* from = image;
    int stride = image_width;
#pragma unroll
    for (int j = 0; j < TILE_Y; ++j) row[j] = min(top + (int)threadIdx.y + j * BLOCK_Y, height - 1);
#pragma unroll
    for (int i = 0; i < TILE_X; ++i) column[i] = min(left + (int)threadIdx.x + i * BLOCK_X, width - 1);
#if SHARED
    extern __shared__ float copy[];
    int image_height = height + 2 * radius, copy_width = COLUMNS + 2 * radius, copy_height = ROWS + 2 * radius;
    for (int y = threadIdx.y; y < copy_height; y += BLOCK_Y)
        for (int x = threadIdx.x; x < copy_width; x += BLOCK_X)
            copy[y * copy_width + x] =
                image[(long long)min(top + y, image_height - 1) * image_width + min(left + x, image_width - 1)];
    __syncthreads();
    from = copy;
    stride = copy_width;
#pragma unroll
    for (int j = 0; j < TILE_Y; ++j) row[j] -= top;
#pragma unroll
    for (int i = 0; i < TILE_X; ++i) column[i] -= left;
#endif

    float sum[TILE_Y][TILE_X] = {};
    for (int dy = 0; dy < size; ++dy) {
#pragma unroll UNROLL
        for (int dx = 0; dx < size; ++dx) {
            float weight = filter[dy * size + dx];
#pragma unroll
            for (int j = 0; j < TILE_Y; ++j)
#pragma unroll
                for (int i = 0; i < TILE_X; ++i)
                    sum[j][i] += weight * from[(row[j] + dy) * stride + column[i] + dx];
        }
    }

#pragma unroll
    for (int j = 0; j < TILE_Y; ++j)
#pragma unroll
        for (int i = 0; i < TILE_X; ++i) {
            int y = top + threadIdx.y + j * BLOCK_Y, x = left + threadIdx.x + i * BLOCK_X;
            if (y < height && x < width) result[(long long)y * width + x] = sum[j][i];
        }
}

// The reference: one thread a result, sums in float64.
extern "C" __global__ void convolution_in_float64(const float* image, const float* filter, float* result, int height,
                                                  int width, int radius) {
    int at = blockIdx.x * blockDim.x + threadIdx.x, size = 2 * radius + 1;
    if (at >= height * width) return;
    const float* from = image + (long long)(at / width) * (width + 2 * radius) + at % width;
    double sum = 0.0;
    for (int dy = 0; dy < size; ++dy)
        for (int dx = 0; dx < size; ++dx)
            sum += (double)filter[dy * size + dx] * from[(long long)dy * (width + 2 * radius) + dx];
    result[at] = (float)sum;
}
