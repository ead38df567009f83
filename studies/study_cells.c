/* The cells of a study, spread over the cores: each worker takes the next cell that is left and
 * does it alone, on a context with one thread. A cell is a function of its settings, so neither the
 * number of workers nor their order changes a result.
 *
 * The caller's context serves its own thread: there the progress is reported, in costs of cells,
 * and a request to stop is passed on.
 *
 *     reported = cost of finished cells + sum over workers of cost * (share of the training
 *     done) */
#include "study_cells.h"

#include <heatball/team.h>

#include <math.h>
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
    double cost;             /* of the cell under way */
    _Atomic double progress; /* of it, 0 .. 1 */
} worker;

typedef struct place {
    double cost;
    size_t cell;
} place;

struct pool {
    const hb_cells *cells;
    int silent; /* no files: those of kept cells are of rank 0 */
    size_t n, next;
    place *order; // (n)
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int active;
    double finished; /* cost of the cells that are done */
    atomic_int stop;
    size_t failed; /* place in the order of the failed cell that counts; n: none */
    hb_status status;
    char message[512];
};

/* ---- the file of a cell ---- */

static void describe(const hb_cells *cells, size_t i, hb_cell *cell)
{
    memset(cell, 0, sizeof *cell);
    cells->describe(cells->user, i, cell);
}

static json_t *fingerprint(const hb_context *context, const hb_cells *cells, const hb_cell *cell)
{
    return hb_study_text("%s %s %s %s", cells->format, hb_version(), hb_context_isa(context),
                         cell->settings);
}

static hb_status run_cell(hb_context *context, const hb_cells *cells, size_t i, int silent)
{
    char file[80];
    hb_cell cell;
    describe(cells, i, &cell);
    json_t *root = json_object();
    json_object_set_new(root, "fingerprint", fingerprint(context, cells, &cell));
    const hb_status status = cells->run(context, cells->user, i, root);
    if (status != HB_OK || silent) {
        json_decref(root);
        return status;
    }
    snprintf(file, sizeof file, "%s.json", cell.name);
    return hb_study_write_json(context, cells->directory, file, root);
}

hb_status hb_cells_read(hb_context *context, const hb_cells *cells)
{
    for (size_t i = 0; i < cells->n; i++) {
        char file[80], *path;
        hb_cell cell;
        describe(cells, i, &cell);
        snprintf(file, sizeof file, "%s.json", cell.name);
        HB_TRY(hb_study_path(context, cells->directory, file, &path));
        json_t *root = json_load_file(path, 0, NULL);
        json_t *wanted = fingerprint(context, cells, &cell);
        if (json_equal(json_object_get(root, "fingerprint"), wanted))
            cells->take(cells->user, i, root);
        free(path);
        json_decref(wanted);
        json_decref(root);
    }
    return HB_OK;
}

void hb_cells_put_values(json_t *root, int n, hb_value_name *name, const double *value)
{
    char buffer[32];
    json_t *values = json_object();
    for (int i = 0; i < n; i++)
        json_object_set_new(values, name(i, buffer), hb_study_number(value[i]));
    json_object_set_new(root, "values", values);
}

double hb_cells_number(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

void hb_cells_get_values(const json_t *root, int n, hb_value_name *name, double *value)
{
    char buffer[32];
    const json_t *values = json_object_get(root, "values");
    for (int i = 0; i < n; i++)
        value[i] = hb_cells_number(json_object_get(values, name(i, buffer)));
}

double hb_cells_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- a worker ---- */

static int on_progress(void *user, const char *what, double done, double total)
{
    worker *w = user;
    if (strcmp(what, "train") == 0 && total > 0) atomic_store(&w->progress, done / total);
    return atomic_load(&w->owner->stop);
}

static void note_failure(pool *p, size_t at, hb_status status, const char *message)
{
    hb_cell cell;
    atomic_store(&p->stop, 1);
    if (at >= p->failed) return;
    describe(p->cells, p->order[at].cell, &cell);
    p->failed = at;
    p->status = status;
    snprintf(p->message, sizeof p->message, "%s, %s: %.400s", p->cells->study, cell.name, message);
}

static void *work(void *user)
{
    worker *w = user;
    pool *p = w->owner;
    pthread_mutex_lock(&p->lock);
    while (p->next < p->n && !atomic_load(&p->stop)) {
        const size_t at = p->next++;
        w->cost = p->order[at].cost;
        atomic_store(&w->progress, 0);
        pthread_mutex_unlock(&p->lock);
        const hb_status status = run_cell(w->context, p->cells, p->order[at].cell, p->silent);
        pthread_mutex_lock(&p->lock);
        atomic_store(&w->progress, 0);
        /* A cell that was told to stop says so, also through the judge's callbacks. */
        const int stopped = atomic_load(&p->stop) &&
                            (status == HB_ERROR_INTERRUPTED || status == HB_ERROR_CALLBACK);
        if (status == HB_OK)
            p->finished += w->cost;
        else if (!stopped)
            note_failure(p, at, status, hb_context_message(w->context));
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
    return hb_context_progress(context, p->cells->study, done < total ? done : total, total);
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
    const place *x = a, *y = b;
    if (x->cost != y->cost) return x->cost < y->cost ? 1 : -1;
    return (x->cell > y->cell) - (x->cell < y->cell);
}

static hb_status run_pool(hb_context *context, pool *p, size_t n_workers, worker *workers)
{
    double total = 0;
    for (size_t i = 0; i < p->n; i++) total += p->order[i].cost;
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

/* Longer ones first; in a team the ranks take turns with what rank 0 takes to be left: another rank
 * may look so late that it finds files of this call. */
static hb_status put_in_order(hb_context *context, pool *p)
{
    hb_cell cell;
    size_t left = 0, ranks = (size_t)hb_context_ranks(context),
           rank = (size_t)hb_context_rank(context);
    for (size_t i = 0; i < p->cells->n; i++) {
        describe(p->cells, i, &cell);
        if (!cell.done) p->order[left++] = (place){cell.cost, i};
    }
    if (!p->cells->in_order) qsort(p->order, left, sizeof *p->order, longer_first);
    HB_TRY(hb_context_agree(context, sizeof left, &left));
    HB_TRY(hb_context_agree(context, left * sizeof *p->order, p->order));
    p->silent = p->cells->kept && rank > 0;
    if (p->cells->kept) rank = 0, ranks = 1;
    for (size_t k = rank; k < left; k += ranks) p->order[p->n++] = p->order[k];
    p->failed = p->n;
    return HB_OK;
}

/* What other ranks have done is in their files. */
static hb_status read_others(hb_context *context, const hb_cells *cells)
{
    hb_cell cell;
    HB_TRY(hb_cells_read(context, cells));
    for (size_t i = 0; i < cells->n; i++) {
        describe(cells, i, &cell);
        if (!cell.done)
            return hb_study_fail(context, HB_ERROR_FILE,
                                 "%s, %s: rank %d does not find in %.300s what another rank has "
                                 "written; all ranks need the same directory",
                                 cells->study, cell.name, hb_context_rank(context),
                                 cells->directory);
    }
    return HB_OK;
}

hb_status hb_cells_do(hb_context *context, const hb_cells *cells)
{
    void *order, *workers;
    HB_TRY(hb_study_allocate(context, cells->n, sizeof(place), &order));
    pool p = {.cells = cells, .order = order};
    hb_status status = put_in_order(context, &p);
    size_t n_workers = (size_t)hb_context_threads(context);
    if (n_workers > p.n) n_workers = p.n;
    if (status == HB_OK) status = hb_study_allocate(context, n_workers, sizeof(worker), &workers);
    if (status == HB_OK) {
        pthread_mutex_init(&p.lock, NULL);
        pthread_cond_init(&p.changed, NULL);
        status = run_pool(context, &p, n_workers, workers);
        pthread_cond_destroy(&p.changed);
        pthread_mutex_destroy(&p.lock);
        free(workers);
    }
    free(order);
    HB_TRY(hb_context_settle(context, status));
    if (hb_context_ranks(context) == 1 || cells->kept) return HB_OK;
    return hb_context_settle(context, read_others(context, cells));
}
