/* The runs, spread over the cores: each worker takes the longest run that is left and does it alone,
 * on a context with one thread. A run is a function of its set, method and seed, so neither the number
 * of workers nor their order changes a result.
 *
 * The caller's context serves its own thread: there the progress is reported, in steps of training
 * weighted with their cost, and a request to stop is passed on. After an error or a request no run
 * starts; those under way end at their next report. */
#include "planar.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct pool pool;

typedef struct worker {
    pool *owner;
    pthread_t thread;
    hb_context *context;
    double cost;             /* of the run under way */
    _Atomic double progress; /* of it, 0 .. 1 */
} worker;

struct pool {
    const hb_planar_size *size;
    const char *directory;
    size_t n, next;
    hb_planar_run **order; // (n): long ones first
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int active;
    double finished; /* cost of the runs that are done */
    atomic_int stop;
    size_t failed; /* place in the order of the failed run that counts; n: none */
    hb_status status;
    char message[512];
};

/* ---- a worker ---- */

static int on_progress(void *user, const char *what, double done, double total)
{
    worker *w = user;
    if (strcmp(what, "train") == 0 && total > 0) atomic_store(&w->progress, done / total);
    return atomic_load(&w->owner->stop);
}

static void note_failure(pool *p, size_t place, hb_status status, const char *message)
{
    char name[64];
    atomic_store(&p->stop, 1);
    if (place >= p->failed) return;
    hb_planar_run_name(p->order[place], name);
    p->failed = place;
    p->status = status;
    snprintf(p->message, sizeof p->message, "planar, %s: %.400s", name, message);
}

static void *work(void *user)
{
    worker *w = user;
    pool *p = w->owner;
    pthread_mutex_lock(&p->lock);
    while (p->next < p->n && !atomic_load(&p->stop)) {
        const size_t place = p->next++;
        w->cost = p->order[place]->cost;
        atomic_store(&w->progress, 0);
        pthread_mutex_unlock(&p->lock);
        const hb_status status = hb_planar_do(w->context, p->size, p->directory, p->order[place]);
        pthread_mutex_lock(&p->lock);
        atomic_store(&w->progress, 0);
        /* A run that was told to stop says so, also through the judge's callbacks. */
        const int stopped = atomic_load(&p->stop) &&
                            (status == HB_ERROR_INTERRUPTED || status == HB_ERROR_CALLBACK);
        if (status == HB_OK)
            p->finished += w->cost;
        else if (!stopped)
            note_failure(p, place, status, hb_context_message(w->context));
    }
    p->active--;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* ---- the caller's thread ---- */

static hb_status report(hb_context *context, pool *p, size_t n_workers, const worker *workers,
                        double total)
{
    double done = p->finished;
    for (size_t i = 0; i < n_workers; i++)
        done += workers[i].cost * atomic_load(&workers[i].progress);
    return hb_context_progress(context, "planar", done < total ? done : total, total);
}

/* Until the last worker has ended; looks about five times a second. */
static hb_status wait_for_all(hb_context *context, pool *p, size_t n_workers, const worker *workers,
                              double total)
{
    hb_status status = HB_OK;
    pthread_mutex_lock(&p->lock);
    while (p->active > 0) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 200000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&p->changed, &p->lock, &until);
        if (status == HB_OK) status = report(context, p, n_workers, workers, total);
        if (status != HB_OK) atomic_store(&p->stop, 1);
    }
    pthread_mutex_unlock(&p->lock);
    return status;
}

static hb_status start_worker(hb_context *context, pool *p, worker *w)
{
    hb_context_settings settings;
    hb_context_settings_default(sizeof settings, &settings);
    settings.threads = 1;
    settings.progress = on_progress;
    settings.progress_user = w;
    w->owner = p;
    if (hb_context_create(&settings, &w->context) != HB_OK)
        return hb_study_fail(context, HB_ERROR_MEMORY, "no memory for a worker of the study");
    pthread_mutex_lock(&p->lock);
    const int error = pthread_create(&w->thread, NULL, work, w);
    if (!error) p->active++;
    pthread_mutex_unlock(&p->lock);
    if (!error) return HB_OK;
    hb_context_destroy(w->context);
    return hb_study_fail(context, HB_ERROR_MEMORY, "no thread for a worker of the study: %s",
                         strerror(error));
}

static int longer_first(const void *a, const void *b)
{
    const hb_planar_run *x = *(hb_planar_run *const *)a, *y = *(hb_planar_run *const *)b;
    if (x->cost != y->cost) return x->cost < y->cost ? 1 : -1;
    return (x > y) - (x < y);
}

static hb_status run_pool(hb_context *context, pool *p, size_t n_workers, worker *workers)
{
    double total = 0;
    for (size_t i = 0; i < p->n; i++) total += p->order[i]->cost;
    hb_status status = HB_OK;
    size_t started = 0;
    while (started < n_workers && status == HB_OK) {
        status = start_worker(context, p, &workers[started]);
        started += status == HB_OK;
    }
    if (status != HB_OK) atomic_store(&p->stop, 1);
    const hb_status waited = wait_for_all(context, p, started, workers, total);
    for (size_t i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
        hb_context_destroy(workers[i].context);
    }
    if (status != HB_OK || waited != HB_OK) return status != HB_OK ? status : waited;
    return p->failed < p->n ? hb_context_fail(context, p->status, p->message) : HB_OK;
}

hb_status hb_planar_do_all(hb_context *context, const hb_planar_size *size, const char *directory,
                           size_t n, hb_planar_run *runs)
{
    void *order, *workers;
    HB_TRY(hb_study_allocate(context, n, sizeof(hb_planar_run *), &order));
    pool p = {.size = size, .directory = directory, .order = order};
    for (size_t i = 0; i < n; i++)
        if (!runs[i].done) p.order[p.n++] = &runs[i];
    qsort(p.order, p.n, sizeof *p.order, longer_first);
    p.failed = p.n;
    size_t n_workers = (size_t)hb_context_threads(context);
    if (n_workers > p.n) n_workers = p.n;
    hb_status status = hb_study_allocate(context, n_workers, sizeof(worker), &workers);
    if (status == HB_OK) {
        pthread_mutex_init(&p.lock, NULL);
        pthread_cond_init(&p.changed, NULL);
        status = run_pool(context, &p, n_workers, workers);
        pthread_cond_destroy(&p.changed);
        pthread_mutex_destroy(&p.lock);
        free(workers);
    }
    free(order);
    return status;
}
