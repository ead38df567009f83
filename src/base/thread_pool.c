/* Threads that stay.
 *
 * A ticket holds the number of the loop and the next task of it; whoever raises it by one does that
 * task. The calling thread takes tickets like the others, and the loop ends when all tasks are
 * done: it never waits for a thread that has not come. So a machine with other work to do makes a
 * loop as slow as one thread at most, plus what a thread that was stopped within a task makes it
 * wait; OpenMP's loops wait for all threads, twice (some 30 times slower was measured).
 *
 * Before a loop the ticket is closed, so that a thread that still looks at the last loop cannot
 * take one of the new loop's tasks with half of what belongs to it. A thread without work looks for
 * some for a moment, and then sleeps; so does the calling thread, for the last tasks. It must not
 * yield instead: on a busy machine each sched_yield gives up a whole slice of time. */
#include "base/thread_pool.h"
#include "base/context.h"
#include "base/memory.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

enum {
    LOOKS = 4000, /* for work, before a thread sleeps */
    WAITS = 2000  /* for the last tasks, before the calling thread sleeps */
};

#define CLOSED UINT32_MAX

struct hb_thread_pool {
    hb_context *context;
    int threads;             /* with the calling one */
    _Atomic uint64_t ticket; /* loop << 32 | next task */
    _Atomic size_t n;
    _Atomic hb_task task;
    _Atomic(void *) user;
    atomic_size_t done;
    atomic_int sleepers, waiting, leave;
    pthread_mutex_t lock; /* of what is below, and of sleeping */
    pthread_cond_t wake, ended;
    size_t failed; /* the lowest index of a failed task */
    hb_status status;
    int started; /* threads that know their number */
    pthread_t *thread;
};

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static void pool_note_failure(hb_thread_pool *c, size_t index, hb_status status)
{
    pthread_mutex_lock(&c->lock);
    if (index < c->failed) {
        c->failed = index;
        c->status = status;
    }
    pthread_mutex_unlock(&c->lock);
}

static int pool_has_work(hb_thread_pool *c)
{
    const uint64_t ticket = atomic_load(&c->ticket);
    const uint32_t next = (uint32_t)ticket;
    return next != CLOSED && next < atomic_load(&c->n);
}

/* The last task is done: wakes the calling thread if it sleeps. */
static void pool_tell_end(hb_thread_pool *c)
{
    if (!atomic_load(&c->waiting)) return;
    pthread_mutex_lock(&c->lock);
    pthread_cond_signal(&c->ended);
    pthread_mutex_unlock(&c->lock);
}

/* Until all tasks are done. `waiting` is set before `done` is read, and the last task reads them in
 * the other order: one of both sees the other. */
static void pool_wait(hb_thread_pool *c, size_t n)
{
    for (int k = 0; k < WAITS && atomic_load(&c->done) < n; k++) pause_briefly();
    if (atomic_load(&c->done) == n) return;
    pthread_mutex_lock(&c->lock);
    atomic_store(&c->waiting, 1);
    while (atomic_load(&c->done) < n) pthread_cond_wait(&c->ended, &c->lock);
    atomic_store(&c->waiting, 0);
    pthread_mutex_unlock(&c->lock);
}

/* Takes tasks until none is left. */
static void pool_work(hb_thread_pool *c, int thread)
{
    uint64_t ticket = atomic_load(&c->ticket);
    for (;;) {
        const uint32_t index = (uint32_t)ticket;
        const size_t n = atomic_load(&c->n);
        const hb_task task = atomic_load(&c->task);
        void *user = atomic_load(&c->user);
        if (index == CLOSED || index >= n) return;
        if (!atomic_compare_exchange_weak(&c->ticket, &ticket, ticket + 1)) continue;
        const hb_status status = task(user, index, thread);
        if (status != HB_OK) pool_note_failure(c, index, status);
        if (atomic_fetch_add(&c->done, 1) + 1 == n) pool_tell_end(c);
        ticket = atomic_load(&c->ticket);
    }
}

static void pool_sleep(hb_thread_pool *c)
{
    pthread_mutex_lock(&c->lock);
    atomic_fetch_add(&c->sleepers, 1);
    while (!pool_has_work(c) && !atomic_load(&c->leave)) pthread_cond_wait(&c->wake, &c->lock);
    atomic_fetch_sub(&c->sleepers, 1);
    pthread_mutex_unlock(&c->lock);
}

static void *pool_thread(void *user)
{
    hb_thread_pool *c = user;
    pthread_mutex_lock(&c->lock);
    const int thread = ++c->started;
    pthread_mutex_unlock(&c->lock);
    while (!atomic_load(&c->leave)) {
        for (int k = 0; k < LOOKS && !pool_has_work(c) && !atomic_load(&c->leave); k++)
            pause_briefly();
        if (!pool_has_work(c)) pool_sleep(c);
        pool_work(c, thread);
    }
    return NULL;
}

static void pool_wake(hb_thread_pool *c)
{
    if (atomic_load(&c->sleepers) == 0) return;
    pthread_mutex_lock(&c->lock);
    pthread_cond_broadcast(&c->wake);
    pthread_mutex_unlock(&c->lock);
}

static hb_status pool_run_alone(size_t n, hb_task task, void *user)
{
    for (size_t i = 0; i < n; i++) {
        const hb_status status = task(user, i, 0);
        if (status != HB_OK) return status;
    }
    return HB_OK;
}

hb_status hb_thread_pool_run(hb_thread_pool *c, size_t n, hb_task task, void *user)
{
    if (hb_thread_pool_threads(c) == 1 || n < 2 || n >= CLOSED)
        return pool_run_alone(n, task, user);
    const uint64_t loop = ((atomic_load(&c->ticket) >> 32) + 1) << 32;
    atomic_store(&c->ticket, loop | CLOSED);
    atomic_store(&c->n, n);
    atomic_store(&c->task, task);
    atomic_store(&c->user, user);
    atomic_store(&c->done, 0);
    c->failed = n;
    c->status = HB_OK;
    atomic_store(&c->ticket, loop);
    pool_wake(c);
    pool_work(c, 0);
    pool_wait(c, n);
    return c->status;
}

int hb_thread_pool_threads(const hb_thread_pool *c)
{
    return c ? c->threads : 1;
}

/* The others are told nothing by signals: those are for the program's own threads. */
static void pool_start(hb_thread_pool *c, int threads)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (c->threads < threads &&
           pthread_create(&c->thread[c->threads - 1], NULL, pool_thread, c) == 0)
        c->threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

hb_status hb_thread_pool_create(hb_context *context, int threads, hb_thread_pool **out)
{
    void *memory, *handles;
    *out = NULL;
    HB_TRY(hb_allocate(context, 1, sizeof(hb_thread_pool), &memory));
    hb_thread_pool *c = memset(memory, 0, sizeof(hb_thread_pool));
    const hb_status status = hb_allocate(context, (size_t)threads, sizeof(pthread_t), &handles);
    if (status != HB_OK) {
        hb_release(context, c);
        return status;
    }
    c->context = context;
    c->threads = 1;
    c->thread = handles;
    atomic_store(&c->ticket, CLOSED);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->wake, NULL);
    pthread_cond_init(&c->ended, NULL);
    pool_start(c, threads);
    *out = c;
    return HB_OK;
}

void hb_thread_pool_destroy(hb_thread_pool *c)
{
    if (!c) return;
    atomic_store(&c->leave, 1);
    pthread_mutex_lock(&c->lock);
    pthread_cond_broadcast(&c->wake);
    pthread_mutex_unlock(&c->lock);
    for (int k = 0; k + 1 < c->threads; k++) pthread_join(c->thread[k], NULL);
    pthread_cond_destroy(&c->wake);
    pthread_cond_destroy(&c->ended);
    pthread_mutex_destroy(&c->lock);
    hb_release(c->context, c->thread);
    hb_release(c->context, c);
}
