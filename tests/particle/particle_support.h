/* What the tests of trajectories and of particles share: a context with all threads, and problems from text. */
#ifndef HB_TESTS_PARTICLE_SUPPORT_H
#define HB_TESTS_PARTICLE_SUPPORT_H

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

#endif
