// Converts 8-bit integers to 16-bit floats, as `tensor.to(dtype)` does: 16 elements a thread.
//
// Grid ⌈count / (16 · threads)⌉, any block. Addresses are multiples of 16.

extern "C" __global__ void convert(const u8* __restrict__ from, u16* __restrict__ to, u64 count, int is_signed, int bfloat16) {
    u64 first = (blockIdx.x * (u64)blockDim.x + threadIdx.x) * 16;
    auto one = [&](u32 byte) {
        float x = is_signed ? (float)(signed char)byte : (float)byte;
        // Exact in both types: bfloat16 has eight bits of mantissa too, including the hidden one.
        u16 bits;
        if (bfloat16) bits = (u16)(__float_as_uint(x) >> 16);
        else asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
        return (u32)bits;
    };
    if (first + 16 <= count) {
        uint4 in = *(const uint4*)(from + first);
        u32 words[4] = {in.x, in.y, in.z, in.w}, out[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            u32 pair = words[i / 2] >> (i % 2 * 16);
            out[i] = one(pair & 0xff) | one(pair >> 8 & 0xff) << 16;
        }
        *(uint4*)(to + first) = make_uint4(out[0], out[1], out[2], out[3]);
        *(uint4*)(to + first + 8) = make_uint4(out[4], out[5], out[6], out[7]);
    } else {
        for (u64 i = first; i < count; ++i) to[i] = (u16)one(from[i]);
    }
}
