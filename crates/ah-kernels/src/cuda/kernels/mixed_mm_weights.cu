// The 8-bit weights of mixed_mm, shared by its three engines: how they become 16-bit floats, how long they
// stay cached, and how they are copied to shared memory.

// Converts four bytes to two pairs of 16-bit floats, exactly: a byte becomes the low bits of the mantissa
// of a power of two, and that power is subtracted again.
DEVICE void widen(u32 bytes, u32& first, u32& second) {
#if ELEMENT_BF16
    // bfloat16 has 7 mantissa bits: 128 + the low seven bits, minus 128 or 256 depending on the top bit.
    u32 low = bytes & 0x7f7f7f7f, top = bytes & 0x80808080;
    u32 low_first = __byte_perm(low, 0x43434343, 0x4140), low_second = __byte_perm(low, 0x43434343, 0x4342);
    u32 top_first = __byte_perm(top, 0x43434343, 0x4140), top_second = __byte_perm(top, 0x43434343, 0x4342);
    u32 sign = 0xbf80bf80;  // −1: the top bit counts −128
    if (!WEIGHTS_SIGNED) {
        sign = 0x3f803f80;  // the top bit counts 128 after 256 was subtracted
        asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(top_first) : "r"(top_first), "r"(sign), "r"(0xc380c380));
        asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(top_second) : "r"(top_second), "r"(sign), "r"(0xc380c380));
    }
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(first) : "r"(top_first), "r"(sign), "r"(low_first));
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(second) : "r"(top_second), "r"(sign), "r"(low_second));
#else
    // 1024 + byte; flipping the top bit of a signed byte adds 128.
    u32 bias = WEIGHTS_SIGNED ? 0x64806480 : 0x64006400;
    if (WEIGHTS_SIGNED) bytes ^= 0x80808080;
    asm("sub.f16x2 %0, %1, %2;" : "=r"(first) : "r"(__byte_perm(bytes, 0x64646464, 0x4140)), "r"(bias));
    asm("sub.f16x2 %0, %1, %2;" : "=r"(second) : "r"(__byte_perm(bytes, 0x64646464, 0x4342)), "r"(bias));
#endif
}

// Each weight is read once. Its lines should leave the second-level cache first, and should replace each
// other instead of lines of other data: after a kernel that wrote much, each replaced line costs a write
// (8192², m = 1 on an H200 whose cache is full of written lines: 25.6 µs with this policy, 28.3 without;
// after a kernel that only read, 22.7 and 22.5). If several rows of blocks read the same weights, the lines
// stay.
DEVICE u64 weight_policy(bool read_once) {
    u64 leaves_first, stays;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(leaves_first));
    asm volatile("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(stays));
    return read_once ? leaves_first : stays;
}

// Copies 16 bytes of weights, or zeros if EDGE and not `valid`.
template <bool EDGE> DEVICE void copy_weights(u32 to, const void* from, const void* instead, bool valid, u64 policy) {
    if constexpr (EDGE)
        asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;"
                     ::"r"(to), "l"(valid ? from : instead), "r"(valid ? 16 : 0), "l"(policy) : "memory");
    else
        asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "l"(policy) : "memory");
}
