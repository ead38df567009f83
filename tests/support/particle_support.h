/* What the tests of trajectories and of particles share: a context with all threads, and problems from text. */
#ifndef HB_TESTS_PARTICLE_SUPPORT_H
#define HB_TESTS_PARTICLE_SUPPORT_H

#include "base/memory.h"
#include "particle/cell_list.h"
#include "support.h"

static hb_context *context;

static int set_up(void **state)
{
    *state = NULL;
    return (int)hb_context_create(NULL, &context);
}

static int tear_down(void **state)
{
    (void)state;
    hb_context_destroy(context);
    return 0;
}

static hb_problem *parse(const char *drift, const char *noise, const char *initial)
{
    hb_problem *problem;
    assert_ok(context, hb_problem_parse(context, drift, noise, initial, &problem));
    return problem;
}

/* A list with arrays for n particles; memory is for hb_release. */
static inline void make_cell_list(size_t n, size_t d, hb_cell_list *out, void **memory)
{
    const size_t rows = 2 * n * d * sizeof(double);
    const size_t marks = (n + hb_cell_list_starts(n)) * sizeof(uint32_t);
    assert_ok(context, hb_allocate(context, rows + marks, 1, memory));
    *out = (hb_cell_list){.x = *memory};
    out->F = out->x + n * d;
    out->owner = (uint32_t *)(void *)(out->F + n * d);
    out->start = out->owner + n;
}

#endif
