// Fills the buffers of a user's kernel, and compares its outputs with the reference's. Any grid, any block.

#define KERNEL extern "C" __global__ void

// In the order of ArgumentType.
enum Type { FLOAT16, BFLOAT16, FLOAT32, FLOAT64, INT8, UINT8, INT16, UINT16, INT32, UINT32, INT64, UINT64 };

// In the order of Fill.
enum Fill { CONSTANT, INDEX, UNIFORM, NORMAL };

DEVICE double load(const void* from, u64 i, int type) {
    float x;
    switch (type) {
    case FLOAT16: asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(((const u16*)from)[i])); return x;
    case BFLOAT16: return __uint_as_float((u32)((const u16*)from)[i] << 16);
    case FLOAT32: return ((const float*)from)[i];
    case FLOAT64: return ((const double*)from)[i];
    case INT8: return ((const signed char*)from)[i];
    case UINT8: return ((const u8*)from)[i];
    case INT16: return ((const short*)from)[i];
    case UINT16: return ((const u16*)from)[i];
    case INT32: return ((const int*)from)[i];
    case UINT32: return ((const u32*)from)[i];
    case INT64: return (double)((const long long*)from)[i];
    default: return (double)((const u64*)from)[i];
    }
}

DEVICE void store(void* to, u64 i, int type, double x) {
    switch (type) {
    case FLOAT16: {
        u16 bits;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"((float)x));
        ((u16*)to)[i] = bits;
        return;
    }
    case BFLOAT16: {
        u32 bits = __float_as_uint((float)x);
        ((u16*)to)[i] = (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);  // to the nearest, ties to even
        return;
    }
    case FLOAT32: ((float*)to)[i] = (float)x; return;
    case FLOAT64: ((double*)to)[i] = x; return;
    case INT8: ((signed char*)to)[i] = (signed char)x; return;
    case UINT8: ((u8*)to)[i] = (u8)x; return;
    case INT16: ((short*)to)[i] = (short)x; return;
    case UINT16: ((u16*)to)[i] = (u16)x; return;
    case INT32: ((int*)to)[i] = (int)x; return;
    case UINT32: ((u32*)to)[i] = (u32)x; return;
    case INT64: ((long long*)to)[i] = (long long)x; return;
    default: ((u64*)to)[i] = (u64)x; return;
    }
}

// Random bits of element i: the finalizer of SplitMix64 (Steele, Lea and Flood, 2014).
DEVICE u64 draw(u64 seed, u64 i) {
    u64 x = seed + (i + 1) * 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

// a: the constant, the first index, or the least number; b: the greatest number.
KERNEL fill(void* to, u64 count, int type, int how, double a, double b, u64 seed) {
    u64 thread = blockIdx.x * (u64)blockDim.x + threadIdx.x, threads = (u64)gridDim.x * blockDim.x;
    for (u64 i = thread; i < count; i += threads) {
        double x = a;
        if (how == INDEX) {
            x = a + (double)i;
        } else if (how == UNIFORM) {
            double unit = (double)(draw(seed, i) >> 11) * 0x1p-53;  // 0 <= unit < 1
            x = type >= INT8 ? a + floor(unit * (b - a + 1.0)) : a + unit * (b - a);
        } else if (how == NORMAL) {
            // Box and Muller.
            u64 bits = draw(seed, i);
            float u = ((u32)(bits >> 40) + 1) * 0x1p-24f;
            x = sqrtf(-2.0f * logf(u)) * cospif((u32)(bits & 0xffffff) * 0x1p-23f);
        }
        store(to, i, type, x);
    }
}

// found[0]: elements with NaN on one side only; for integers, those that differ. found[1] and found[2]: the bits of
// the largest difference and of the largest magnitude expected, as float32; both are never negative, so they order
// as their bits do.
KERNEL difference(const void* result, const void* expected, u64 count, int type, u32* found) {
    u64 thread = blockIdx.x * (u64)blockDim.x + threadIdx.x, threads = (u64)gridDim.x * blockDim.x;
    u32 mismatches = 0;
    float largest = 0.0f, magnitude = 0.0f;
    for (u64 i = thread; i < count; i += threads) {
        double x = load(result, i, type), y = load(expected, i, type);
        if (type >= INT64) mismatches += ((const u64*)result)[i] != ((const u64*)expected)[i];
        else if (type >= INT8 || x != x || y != y) mismatches += !(x == y || (x != x && y != y));
        else if (x != y) largest = fmaxf(largest, (float)fabs(x - y));
        if (y == y && fabs(y) < 1e308) magnitude = fmaxf(magnitude, (float)fabs(y));
    }
    if (mismatches) atomicAdd(&found[0], mismatches);
    atomicMax(&found[1], __float_as_uint(largest));
    atomicMax(&found[2], __float_as_uint(magnitude));
}
