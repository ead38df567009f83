/* formula/program_kernels.h: the instructions of a program and their loops, once per instruction
 * set.
 *
 * A register holds one value for each point of a block. An operand is a register, or one scalar for
 * all points: operand r >= 0 is register r, operand -1-s is scalar s. */
#pragma once

#include "base/cpu.h"
#include "formula/graph.h"

enum {
    HB_PROGRAM_LANES = 8,    /* loops run over a multiple of this many points */
    HB_PROGRAM_CACHE = 4096, /* doubles of a block's registers, points and results: 32 kB, a small
                                first cache */
};

/* Operations beside those of nodes. In the fused ones a product takes part in a sum without a
 * register of its own; it is rounded as if it had one. */
enum {
    HB_PROGRAM_STORE = 200,   /* output column `out` = operand a */
    HB_PROGRAM_PRODUCT_PLUS,  /* a b + c */
    HB_PROGRAM_PRODUCT_MINUS, /* a b - c */
    HB_PROGRAM_MINUS_PRODUCT, /* c - a b */
    HB_PROGRAM_NOTHING        /* what a fused product leaves behind; not in finished programs */
};

typedef struct hb_instruction {
    int op; /* hb_operation (VARIABLE: column a-1 of x, or t when a = 0), or one of the above */
    int out, a, b, c;
} hb_instruction;

/* A block of points: n of them, in registers of `width` doubles (n rounded up to lanes fits). */
typedef struct hb_block {
    size_t n, width;
    const double *x; // (n, dim)
    const double *t; // (n); not read by programs for one time
    size_t dim;
    const double *scalars;
    double *registers; // (n_registers, width)
    double *out;       // (n, n_outputs)
    size_t n_outputs;
    const struct hb_axis_table *const *tables;
} hb_block;

struct hb_program {
    hb_context *context;
    int dim, n_outputs;
    int n_scalars, n_registers;
    size_t width;                        /* points of a block */
    double *scalars;                     // (n_scalars): numbers; the places of computed ones are 0
    const struct hb_axis_table **tables; // of the graph; NULL: none
    int time;                            /* the scalar that holds t, or -1 */
    hb_program *each;                    /* the same with t a column; NULL when t does not occur */
    hb_instruction *once;                // (n_once): scalars from scalars
    int n_once, once_capacity;
    hb_instruction *code; // (n_code)
    int n_code, code_capacity;
};

int hb_instruction_operands(const hb_instruction *in); /* how many of a, b, c are operands */

typedef void (*hb_program_kernel)(size_t count, const hb_instruction *code, const hb_block *block);

HB_KERNELS(hb_program_kernel, hb_program_kernel)
