/* Running a program: its scalars first, then its instructions over blocks of points.
 *
 * A scalar is computed by the same instructions as a column, on a block that holds the one value,
 * so that a time given once and the same time given for each point lead to the same bits.
 *
 * Must reproduce: x - t at x = 2.385, 1.5 and the times 1, 2 is 1.385, -0.5. */
#include "base/context.h"
#include "base/memory.h"
#include "formula/program_kernels.h"

#include <string.h>

enum { STACK_DOUBLES = HB_PROGRAM_CACHE + 512 }; /* with scalars; up to this size on the stack */

/* Scalars that are computed: each instruction runs on registers filled with its operands. */
static void compute_scalars(const hb_program *program, hb_program_kernel kernel, double *scalars)
{
    double registers[4][HB_PROGRAM_LANES];
    const hb_block block = {.n = HB_PROGRAM_LANES,
                            .width = HB_PROGRAM_LANES,
                            .scalars = scalars,
                            .registers = registers[0],
                            .tables = program->tables};
    for (int i = 0; i < program->n_once; i++) {
        const hb_instruction *in = &program->once[i];
        const int use[3] = {in->a, in->b, in->c}, arity = hb_instruction_operands(in);
        for (int k = 0; k < arity; k++)
            for (int lane = 0; lane < HB_PROGRAM_LANES; lane++)
                registers[k][lane] = scalars[-1 - use[k]];
        const hb_instruction alone = {in->op, 3, 0, in->op == HB_OP_MAPPED ? in->b : 1, 2};
        kernel(1, &alone, &block);
        scalars[-1 - in->out] = registers[3][0];
    }
}

static void run_blocks(const hb_program *program, hb_program_kernel kernel, size_t n,
                       const double *x, const double *t, size_t t_step, double *scratch,
                       double *out)
{
    double *scalars = scratch + (size_t)program->n_registers * program->width;
    if (program->n_scalars)
        memcpy(scalars, program->scalars, (size_t)program->n_scalars * sizeof(double));
    if (program->time >= 0) scalars[program->time] = *t;
    compute_scalars(program, kernel, scalars);
    hb_block block = {.width = program->width,
                      .dim = (size_t)program->dim,
                      .scalars = scalars,
                      .registers = scratch,
                      .n_outputs = (size_t)program->n_outputs,
                      .tables = program->tables};
    for (size_t done = 0; done < n; done += block.n) {
        block.n = n - done < program->width ? n - done : program->width;
        block.x = x ? x + done * block.dim : NULL;
        block.t = t + done * t_step;
        block.out = out + done * block.n_outputs;
        kernel((size_t)program->n_code, program->code, &block);
    }
}

hb_status hb_program_run_times(hb_context *context, const hb_program *program, size_t n,
                               const double *x, const double *t, size_t t_step, double *out)
{
    _Alignas(HB_ALIGNMENT) double stack[STACK_DOUBLES];
    if (t_step && program->each) program = program->each;
    const size_t doubles =
        (size_t)program->n_registers * program->width + (size_t)program->n_scalars;
    double *memory = NULL;
    if (doubles > STACK_DOUBLES) HB_TRY(HB_NEW(context, memory, doubles));
    run_blocks(program, *hb_program_kernel_of(context->isa), n, x, t, t_step,
               memory ? memory : stack, out);
    hb_release(context, memory);
    return HB_OK;
}

hb_status hb_program_run(hb_context *context, const hb_program *program, size_t n, const double *x,
                         double t, double *out)
{
    return hb_program_run_times(context, program, n, x, &t, 0, out);
}
