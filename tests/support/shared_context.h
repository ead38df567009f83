/* One context, CTX, for all tests of a file, with one thread or SHARED_THREADS: pass create_shared and destroy_shared
 * to cmocka_run_group_tests. */
#ifndef HB_TESTS_SHARED_CONTEXT_H
#define HB_TESTS_SHARED_CONTEXT_H

#include "support.h"

#ifndef SHARED_THREADS
#define SHARED_THREADS 1
#endif

static hb_context *CTX;

static int create_shared(void **state)
{
    (void)state;
    CTX = make_context(HB_ISA_AUTO, SHARED_THREADS);
    return 0;
}

static int destroy_shared(void **state)
{
    (void)state;
    hb_context_destroy(CTX);
    return 0;
}

#endif
