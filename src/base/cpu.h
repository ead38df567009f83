/* base/cpu.h: which vector instruction sets this processor and this build have. */
#pragma once

#include <heatball/base.h>

int hb_cpu_has(hb_isa isa); /* 1 or 0; HB_ISA_AUTO and HB_ISA_SCALAR are always there */
hb_isa hb_cpu_best(void);   /* the widest */
const char *hb_cpu_name(hb_isa isa);

/* Declares name_ISA for every instruction set of the build, and name_of(isa), which gives the
 * address of one; the order is that of hb_isa. */
#if defined(__x86_64__)
#define HB_KERNELS(type, name)                                                                     \
    extern const type name##_scalar, name##_sse2, name##_avx2, name##_avx512;                      \
    static inline const type *name##_of(hb_isa isa)                                                \
    {                                                                                              \
        static const type *const by_isa[] = {&name##_scalar, &name##_scalar, &name##_sse2,         \
                                             &name##_avx2, &name##_avx512};                        \
        return by_isa[isa];                                                                        \
    }
#else
#define HB_KERNELS(type, name)                                                                     \
    extern const type name##_scalar;                                                               \
    static inline const type *name##_of(hb_isa isa)                                                \
    {                                                                                              \
        (void)isa;                                                                                 \
        return &name##_scalar;                                                                     \
    }
#endif
