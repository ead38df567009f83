/* The base room: status list, context, allocator hook, workspaces, tasks, the fixed-order sum, small matrices. */
#include "support.h"

#include "base/context.h"
#include "base/cpu.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/sized.h"
#include "base/thread_pool.h"

#include <unistd.h>

static void every_status_has_a_name_and_a_text(void **state)
{
    (void)state;
#define CHECK_STATUS(name, value, text)                                                            \
    assert_int_equal(name, value);                                                                 \
    assert_string_equal(hb_status_name(name), #name);                                              \
    assert_string_equal(hb_status_text(name), text);
    HB_STATUS_LIST(CHECK_STATUS)
    assert_string_equal(hb_status_name((hb_status)99), "HB_UNKNOWN");
    assert_string_equal(hb_version(), HB_VERSION);
}

static void contexts_check_their_settings(void **state)
{
    (void)state;
    hb_context *context;
    hb_context_settings settings;
    assert_int_equal(hb_context_create(NULL, NULL), HB_ERROR_ARGUMENT);
    hb_context_settings_default(sizeof settings, &settings);
    settings.size++;
    assert_int_equal(hb_context_create(&settings, &context), HB_ERROR_ARGUMENT);
    settings.size--;
    settings.threads = -1;
    assert_int_equal(hb_context_create(&settings, &context), HB_ERROR_ARGUMENT);
    assert_null(context);
    settings.threads = HB_MAX_THREADS + 1;
    assert_int_equal(hb_context_create(&settings, &context), HB_ERROR_ARGUMENT);
    settings.threads = 3;
    settings.isa = 17;
    assert_int_equal(hb_context_create(&settings, &context), HB_ERROR_ARGUMENT);
    settings.isa = HB_ISA_SCALAR;
    assert_int_equal(hb_context_create(&settings, &context), HB_OK);
    assert_int_equal(hb_context_threads(context), 3);
    assert_string_equal(hb_context_isa(context), "scalar");
    assert_string_equal(hb_context_message(context), "");
    hb_context_destroy(context);
    hb_context_destroy(NULL);
    assert_string_equal(hb_context_message(NULL), "");
}

/* A struct of two versions: the library of the second serves programs of both, that of the first only its own. */
typedef struct toy_v1 {
    size_t size;
    double rate;
} toy_v1;
typedef struct toy_v2 {
    size_t size;
    double rate, seed;
} toy_v2;

static hb_status read_toy(hb_context *context, size_t known, const void *given, toy_v2 *out)
{
    *out = (toy_v2){known, 2, 42};
    return hb_sized_read(context, "toy", sizeof(toy_v1), known, given, out);
}

static void structs_may_grow(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const toy_v2 defaults = {0, 2, 42};
    toy_v1 old[2] = {{7, 7}, {7, 7}};
    toy_v2 young, seen;
    hb_sized_default(sizeof defaults, &defaults, sizeof old[0], &old[0]);
    assert_true(old[0].size == sizeof(toy_v1) && old[0].rate == 2);
    assert_true(old[1].size == 7 && old[1].rate == 7); /* nothing beyond the caller's struct */
    old[0].rate = 3;
    assert_ok(context, read_toy(context, sizeof(toy_v2), &old[0], &seen));
    assert_true(seen.size == sizeof(toy_v2) && seen.rate == 3 && seen.seed == 42);
    assert_ok(context, read_toy(context, sizeof(toy_v2), NULL, &seen));
    assert_true(seen.rate == 2 && seen.seed == 42);
    hb_sized_default(sizeof(toy_v1), &defaults, sizeof young,
                     &young); /* a program newer than the library */
    assert_fails(context, read_toy(context, sizeof(toy_v1), &young, &seen), HB_ERROR_ARGUMENT,
                 "needs a newer library");
    young.size = 0;
    assert_fails(context, read_toy(context, sizeof(toy_v2), &young, &seen), HB_ERROR_ARGUMENT,
                 "the size of toy is 0");
    assert_int_equal(read_toy(NULL, sizeof(toy_v2), &young, &seen), HB_ERROR_ARGUMENT);
    hb_sized_default(sizeof defaults, &defaults, 3, &young);
    hb_sized_default(sizeof defaults, &defaults, sizeof young, NULL);
    assert_fails(context, hb_sized_check(context, "toy", 16, 24, 24, NULL), HB_ERROR_ARGUMENT,
                 "NULL");
    assert_fails(context, hb_sized_check(context, "toy", 16, 24, 25, &young), HB_ERROR_ARGUMENT,
                 "newer library");
    assert_ok(context, hb_sized_check(context, "toy", 16, 24, 16, &young));
    hb_context_destroy(context);
}

/* Whatever call runs out of memory, it says so, and nothing stays allocated. */
static void no_memory_is_reported_and_nothing_leaks(void **state)
{
    (void)state;
    memory_count none = {0, 0};
    assert_null(counting_context(&none));
    for (int allowance = 1; allowance < 40; allowance++) {
        memory_count c = {0, allowance};
        hb_context *context = counting_context(&c);
        double z[30], sigma[10];
        hb_cubature *rule = NULL;
        hb_status status = hb_ball_sample(context, HB_MEASURE_KAPPA, 3, 0, 1, 0, 10, 1, z, sigma);
        if (status == HB_OK) status = hb_cubature_exact(context, HB_MEASURE_KAPPA, 2, 0, 4, &rule);
        hb_cubature_destroy(rule);
        assert_int_equal(c.live, 1);
        if (status != HB_OK) {
            assert_int_equal(status, HB_ERROR_MEMORY);
            assert_non_null(strstr(hb_context_message(context), "memory"));
        }
        hb_context_destroy(context);
        assert_int_equal(c.live, 0);
        if (status == HB_OK) return;
    }
    fail_msg("the calls never succeeded");
}

static void workspaces_are_aligned_and_bounded(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_workspace work;
    double *x = NULL, *unwanted = NULL;
    char *text = NULL;
    assert_ok(context, HB_WORKSPACE(context, &work, HB_ARRAY(x, 3), HB_ARRAY_IF(0, unwanted, 7),
                                    HB_ARRAY_IF(1, text, 65)));
    assert_int_equal(work.size, 64 + 128);
    assert_int_equal((uintptr_t)x % HB_ALIGNMENT, 0);
    assert_int_equal(text - (char *)x, 64);
    assert_null(unwanted);
    memset(text, 0xee, 65);
    hb_workspace_destroy(&work);
    hb_workspace_destroy(&work); /* zeroed by the first call */
    assert_fails(
        context,
        HB_WORKSPACE(context, &work, HB_ARRAY(x, SIZE_MAX / 16), HB_ARRAY(text, SIZE_MAX / 2 + 1)),
        HB_ERROR_MEMORY, "address");
    hb_workspace_destroy(&work);
    void *memory;
    assert_fails(context, hb_allocate(context, SIZE_MAX / 4, 8, &memory), HB_ERROR_MEMORY,
                 "address");
    const hb_array many[] = {HB_ARRAY(x, SIZE_MAX / 2), HB_ARRAY(text, 5)};
    assert_int_equal(hb_workspace_bytes(2, many), SIZE_MAX);
    hb_context_destroy(context);
}

/* Three structs with two arrays each, apart from one another and from the structs. */
static void structs_have_arrays_of_their_own(void **state)
{
    typedef struct scratch {
        int used;
        double *x;
        char *text;
    } scratch;
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_workspace work;
    scratch *all;
    assert_ok(context, HB_WORKSPACE_EACH(context, &work, all, 3, HB_MEMBER(scratch, x, 5),
                                         HB_MEMBER(scratch, text, 65)));
    assert_int_equal(work.size, 128 + 3 * (64 + 128));
    assert_int_equal(work.used, work.size);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(all[k].used, 0);
        assert_int_equal((uintptr_t)all[k].x % HB_ALIGNMENT, 0);
        assert_int_equal((unsigned char *)all[k].x - work.memory, 128 + k * (64 + 128));
        assert_int_equal((unsigned char *)all[k].text - work.memory, 128 + 64 + k * (64 + 128));
    }
    hb_workspace_destroy(&work);
    assert_fails(context,
                 HB_WORKSPACE_EACH(context, &work, all, 3, HB_MEMBER(scratch, x, SIZE_MAX / 16),
                                   HB_MEMBER(scratch, text, 1)),
                 HB_ERROR_MEMORY, "address");
    hb_workspace_destroy(&work);
    hb_context_destroy(context);
}

static hb_status count_task(void *user, size_t index, int thread)
{
    (void)thread;
    ((int *)user)[index]++;
    return HB_OK;
}

static hb_status failing_task(void *user, size_t index, int thread)
{
    (void)thread;
    return index >= 7 ? hb_fail(user, HB_ERROR_NUMERICAL, "task %zu gave up", index) : HB_OK;
}

static void tasks_run_once_and_errors_stop_them(void **state)
{
    (void)state;
    int count[1000] = {0};
    hb_context *context = make_context(HB_ISA_AUTO, 4);
    assert_ok(context, hb_parallel_for(context, "count", 1000, count_task, count));
    for (int i = 0; i < 1000; i++) assert_int_equal(count[i], 1);
    assert_ok(context, hb_parallel_for(context, "count", 0, count_task, count));
    assert_fails(context, hb_parallel_for(context, "fail", 1000, failing_task, context),
                 HB_ERROR_NUMERICAL, "gave up");
    hb_context_destroy(context);
}

static int stop_always(void *user, const char *what, double done, double total)
{
    (void)user, (void)what, (void)done, (void)total;
    return 1;
}

static void children_work_alone_and_hand_up_their_message(void **state)
{
    (void)state;
    hb_context_settings settings;
    hb_context_settings_default(sizeof settings, &settings);
    settings.threads = 3;
    settings.progress = stop_always;
    hb_context *context;
    assert_int_equal(hb_context_create(&settings, &context), HB_OK);
    hb_fail(context, HB_ERROR_ARGUMENT, "of before");
    hb_context alone = hb_context_child(context, 1), quiet = hb_context_child(context, 0);
    assert_int_equal(hb_context_threads(&alone), 1);
    assert_int_equal(hb_context_threads(&quiet), 3);
    assert_string_equal(hb_context_isa(&quiet), hb_context_isa(context));
    assert_string_equal(hb_context_message(&quiet), "");
    assert_ok(&quiet, hb_progress(&quiet, "part", 1, 2));
    assert_fails(context, hb_progress(context, "whole", 1, 2), HB_ERROR_INTERRUPTED, "whole");
    assert_int_equal(hb_context_adopt(context, &quiet, HB_ERROR_FILE), HB_ERROR_FILE);
    assert_non_null(strstr(hb_context_message(context), "whole")); /* quiet has said nothing */
    hb_fail(&quiet, HB_ERROR_FILE, "100%% of a part");
    assert_int_equal(hb_context_adopt(context, &quiet, HB_OK), HB_OK);
    assert_non_null(strstr(hb_context_message(context), "whole"));
    assert_fails(context, hb_context_adopt(context, &quiet, HB_ERROR_FILE), HB_ERROR_FILE,
                 "100% of a part");
    hb_context_destroy(context);
}

/* Stops when half of the work is done, and remembers what it was told. */
typedef struct watch {
    double last, total;
    int calls;
} watch;

static int stop_at_half(void *user, const char *what, double done, double total)
{
    watch *w = user;
    assert_string_equal(what, "watched");
    w->last = done;
    w->total = total;
    w->calls++;
    return done >= total / 2;
}

static hb_status add_terms(void *user, size_t first, size_t count, int thread, double *sums)
{
    (void)user;
    (void)thread;
    for (size_t i = first; i < first + count; i++) {
        sums[0] += 1.0 / (double)(i + 1);
        sums[1] += sin((double)i);
        sums[2] += 1;
    }
    return HB_OK;
}

static void progress_can_stop_a_sum(void **state)
{
    (void)state;
    watch w = {0};
    hb_context_settings settings;
    hb_context_settings_default(sizeof settings, &settings);
    settings.threads = 2;
    settings.progress = stop_at_half;
    settings.progress_user = &w;
    hb_context *context;
    assert_int_equal(hb_context_create(&settings, &context), HB_OK);
    double out[3];
    assert_fails(context, hb_parallel_sum(context, "watched", 100000, 100, 3, add_terms, NULL, out),
                 HB_ERROR_INTERRUPTED, "stopped");
    assert_true(w.total == 1000 && w.last >= 500 && w.calls > 0);
    hb_context_destroy(context);
}

/* The bits do not depend on the threads; the value is the harmonic number. */
static void sums_are_the_same_bits_on_any_threads(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 99, 100, 101, 25600, 1000003};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        double reference[3] = {0}, out[3];
        for (int threads = 1; threads <= 7; threads += 2) {
            hb_context *context = make_context(HB_ISA_AUTO, threads);
            assert_ok(context, hb_parallel_sum(context, "sum", sizes[k], 100, 3, add_terms, NULL,
                                               threads == 1 ? reference : out));
            if (threads > 1) assert_memory_equal(reference, out, sizeof out);
            hb_context_destroy(context);
        }
        assert_true(reference[2] == (double)sizes[k]);
    }
    double n = 1000003, out[3];
    hb_context *context = make_context(HB_ISA_AUTO, 2);
    assert_ok(context, hb_parallel_sum(context, "sum", (size_t)n, 100, 3, add_terms, NULL, out));
    const double euler = 0.57721566490153286061;
    assert_true(fabs(out[0] - (log(n) + euler + 1 / (2 * n) - 1 / (12 * n * n))) < 1e-14);
    hb_context_destroy(context);
}

static void instruction_sets_have_names(void **state)
{
    (void)state;
    assert_true(hb_cpu_has(HB_ISA_SCALAR) && hb_cpu_has(hb_cpu_best()));
    assert_string_equal(hb_cpu_name(HB_ISA_AVX512), "avx512");
    assert_false(hb_cpu_has((hb_isa)42));
}

/* C = L L' with L = (2 0 0, 1 3 0, -1 0.5 1.5), and its products. */
static void small_matrices(void **state)
{
    (void)state;
    const double L[] = {2, 0, 0, 1, 3, 0, -1, 0.5, 1.5};
    double transposed[9], C[9], kept[9], singular[] = {1, 2, 2, 4};
    hb_matrix_transpose(3, L, transposed);
    hb_matrix_multiply(3, 1, L, transposed, C);
    assert_true(C[0] == 4 && C[1] == 2 && C[4] == 10 && C[7] == 0.5 && C[8] == 3.5);
    assert_true(hb_trace(3, C) == 17.5 && hb_matrix_norm(3, L) == 4);
    memcpy(kept, C, sizeof kept);
    assert_true(hb_cholesky(3, C));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j <= i; j++) assert_true(C[3 * i + j] == L[3 * i + j]);
    assert_false(hb_cholesky(2, singular));
    hb_axpy(9, -1, kept, kept);
    assert_true(hb_norm(9, kept) == 0);
    hb_matrix_diagonal(3, 2.385, kept);
    assert_true(hb_dot(9, kept, kept) == 3 * (2.385 * 2.385) && hb_all_finite(9, kept));
    kept[8] = NAN;
    assert_false(hb_all_finite(9, kept));
}

static void doubles_are_sorted(void **state)
{
    (void)state;
    double x[] = {0.5, -INFINITY, 3, -2.385, 0.5, INFINITY, -0.0};
    const double sorted[] = {-INFINITY, -2.385, 0, 0.5, 0.5, 3, INFINITY}, three = 3;
    hb_sort(7, x);
    for (int i = 0; i < 7; i++) assert_true(x[i] == sorted[i]);
    assert_ptr_equal(bsearch(&three, x, 7, sizeof *x, hb_by_value), x + 5);
}

typedef struct pool_loop {
    int done[257];
    size_t fails; /* from this index on every tenth task */
    int threads;
} pool_loop;

static hb_status pool_task(void *user, size_t index, int thread)
{
    pool_loop *loop = user;
    loop->done[index]++;
    if (thread < 0 || thread >= loop->threads) return HB_ERROR_FILE;
    return index >= loop->fails && (index - loop->fails) % 10 == 0 ? HB_ERROR_NUMERICAL : HB_OK;
}

/* Thousands of short loops of changing length: every task once, whoever comes in time. */
static void crews_do_every_task_once(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (int threads = 1; threads <= 5; threads++) {
        hb_thread_pool *pool;
        assert_ok(context, hb_thread_pool_create(context, threads, &pool));
        assert_int_equal(hb_thread_pool_threads(pool), threads);
        for (size_t k = 0; k < 3000; k++) {
            const size_t n = k * 7 % 257;
            pool_loop loop = {.fails = k % 100 == 3 ? 5 : 1000, .threads = threads};
            const hb_status status = hb_thread_pool_run(pool, n, pool_task, &loop);
            assert_int_equal(status, loop.fails < n ? HB_ERROR_NUMERICAL : HB_OK);
            for (size_t i = 0; i < 257 && status == HB_OK; i++)
                assert_int_equal(loop.done[i], i < n);
            if (k == 1500) usleep(20000); /* until all sleep */
        }
        hb_thread_pool_destroy(pool);
    }
    pool_loop loop = {.fails = 1000, .threads = 1};
    assert_ok(context, hb_thread_pool_run(NULL, 9, pool_task, &loop));
    assert_int_equal(loop.done[8], 1);
    assert_int_equal(hb_thread_pool_threads(NULL), 1);
    hb_thread_pool_destroy(NULL);
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_name_and_a_text),
        cmocka_unit_test(contexts_check_their_settings),
        cmocka_unit_test(structs_may_grow),
        cmocka_unit_test(no_memory_is_reported_and_nothing_leaks),
        cmocka_unit_test(workspaces_are_aligned_and_bounded),
        cmocka_unit_test(structs_have_arrays_of_their_own),
        cmocka_unit_test(tasks_run_once_and_errors_stop_them),
        cmocka_unit_test(children_work_alone_and_hand_up_their_message),
        cmocka_unit_test(progress_can_stop_a_sum),
        cmocka_unit_test(sums_are_the_same_bits_on_any_threads),
        cmocka_unit_test(instruction_sets_have_names),
        cmocka_unit_test(small_matrices),
        cmocka_unit_test(doubles_are_sorted),
        cmocka_unit_test(crews_do_every_task_once),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
