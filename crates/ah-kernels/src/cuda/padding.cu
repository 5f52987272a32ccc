// The operators that PyTorch runs if its pad_mm pads (torch/_inductor/fx_passes/pad_mm.py benchmarks in
// eager mode), so that logs and heuristics can be exchanged. constant_pad_nd fills a new matrix with zeros
// and copies the old one into it. Like ATen, the copy goes element by element in the order of the output,
// also if the old matrix is column-major; a faster copy would measure another choice.
//
// ELEMENT_BYTES (2 or 4) by -D.

#if ELEMENT_BYTES == 4
typedef u32 Element;
#else
typedef u16 Element;
#endif

constexpr int EACH = 4;  // elements a thread, blockDim.x apart

// Grid ⌈rows · columns / (4 · threads)⌉.
extern "C" __global__ void __launch_bounds__(128)
copy(const Element* __restrict__ from, long long from_row, long long from_column, Element* __restrict__ to, long long to_row, int rows,
     int columns) {
    u64 first = (u64)blockIdx.x * EACH * blockDim.x + threadIdx.x, count = (u64)rows * columns;
    Element value[EACH];
    u64 at[EACH];
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
        u64 index = first + i * blockDim.x;
        if (index >= count) break;
        u64 row, column;
        if (count >> 32) row = index / columns, column = index % columns;
        else row = (u32)index / (u32)columns, column = (u32)index % (u32)columns;
        value[i] = from[row * from_row + column * from_column];
        at[i] = row * to_row + column;
    }
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
        if (first + i * blockDim.x >= count) break;
        to[at[i]] = value[i];
    }
}

// Writes zeros to a block of a row-major matrix. Any grid, any block.
extern "C" __global__ void zero_block(Element* to, long long row, int rows, int columns) {
    u64 thread = blockIdx.x * (u64)blockDim.x + threadIdx.x, threads = (u64)gridDim.x * blockDim.x;
    for (u64 i = thread; i < (u64)rows * columns; i += threads) to[i / columns * row + i % columns] = 0;
}
