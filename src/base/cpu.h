/* base/cpu.h: which vector instruction sets this processor and this build have. */
#ifndef HB_BASE_CPU_H
#define HB_BASE_CPU_H

#include <heatball/base.h>

int hb_cpu_has(hb_isa isa); /* 1 or 0; HB_ISA_AUTO and HB_ISA_SCALAR are always there */
hb_isa hb_cpu_best(void);   /* the widest */
const char *hb_cpu_name(hb_isa isa);

#endif
