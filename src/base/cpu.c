/* The choice of an instruction set at run time, by CPUID through the compiler's own test.
 *
 * AVX-512 here means the F, DQ, BW and VL parts (every server core since Skylake-SP); AVX2 means
 * AVX2 with FMA. The operating system's support for the wider registers is part of the test. */
#include "base/cpu.h"

#if defined(__x86_64__)
int hb_cpu_has(hb_isa isa)
{
    switch (isa) {
    case HB_ISA_AUTO:
    case HB_ISA_SCALAR:
    case HB_ISA_SSE2: return 1;
    case HB_ISA_AVX2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case HB_ISA_AVX512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    }
    return 0;
}
#else
int hb_cpu_has(hb_isa isa)
{
    return isa == HB_ISA_AUTO || isa == HB_ISA_SCALAR;
}
#endif

hb_isa hb_cpu_best(void)
{
    if (hb_cpu_has(HB_ISA_AVX512)) return HB_ISA_AVX512;
    if (hb_cpu_has(HB_ISA_AVX2)) return HB_ISA_AVX2;
    if (hb_cpu_has(HB_ISA_SSE2)) return HB_ISA_SSE2;
    return HB_ISA_SCALAR;
}

const char *hb_cpu_name(hb_isa isa)
{
    static const char *const names[] = {"auto", "scalar", "sse2", "avx2", "avx512"};
    return isa >= HB_ISA_AUTO && isa <= HB_ISA_AVX512 ? names[isa] : "unknown";
}
