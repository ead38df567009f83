/* Training with a user's drift: the heat-ball identity at known solutions, targets against known
 * scores, residuals against another room's, the same bits on any threads, resumed and from a file,
 * refusals, and a model that learns a bistable process, held against the grid. */
#include "mean/drift_frame.h"
#include "problem/problem_text.h"
#include "support.h"
#include "train/ball_rows.h"
#include "train/drift_pool.h"
#include "train/trainer.h"

#include <unistd.h>

enum { ROWS = 400, MOST_NODES = 400 };

static double data[ROWS * 5];

/* Two blobs. */
static void fill_data(hb_context *context, int dim)
{
    assert_ok(context, hb_random_normal(context, 8, 21, 0, (size_t)(ROWS * dim), data));
    for (int i = 0; i < ROWS * dim; i++)
        data[i] = i / dim % 3 ? 0.4 * data[i] - 0.9 : 0.3 * data[i] + 0.7;
}

static hb_problem *make_drift(hb_context *context, int dim, const char *text)
{
    hb_problem_settings settings;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.dim = dim;
    settings.drift = text;
    settings.noise = "sqrt(2)";
    hb_problem *problem;
    assert_ok(context, hb_problem_create(context, &settings, &problem));
    return problem;
}

static hb_train_settings drift_settings(int loss, const hb_problem *drift)
{
    hb_train_settings s;
    hb_train_settings_default(sizeof s, &s);
    s.loss = loss;
    s.process = HB_PROCESS_DRIFT;
    s.drift = drift;
    s.width = 24;
    s.depth = 2;
    s.batch = 300;
    s.anchors = 20;
    s.steps = 30;
    s.ramp = 0.2;
    s.tau_min = 0.01;
    s.tau_max = 1.2;
    return s;
}

/* ---- the identity ---- */

/* v of a known solution. */
typedef double (*exact_log)(const double *x, double tau, void *user);

/* e^{-V}, V = x^4/4 - x^2/2 (+ y^2/2): stationary also with a rotation along its level lines. */
static double stationary(const double *x, double tau, void *user)
{
    (void)tau;
    const int dim = *(const int *)user;
    return x[0] * x[0] / 2 - pow(x[0], 4) / 4 - (dim > 1 ? x[1] * x[1] / 2 : 0);
}

static double of_grid(const double *x, double tau, void *user)
{
    double v;
    hb_field field;
    hb_grid_field(user, &field);
    assert_int_equal(field.evaluate(field.user, 1, x, &tau, &v, NULL), 0);
    return v;
}

/* |-ln Q| 4/(C1 r^2) at an anchor, over a ball of `share` of the time. */
static double scaled_residual(hb_context *context, const hb_problem *drift, int degree, int dim,
                              const double *x0, double tau0, double share, exact_log v, void *user)
{
    static double z[3 * MOST_NODES], tau[MOST_NODES], shift[MOST_NODES], weight[MOST_NODES];
    static double scratch[3 * MOST_NODES];
    hb_ball_nodes unit[2];
    hb_ball_constants constants;
    double F[3], divergence, slope, Q = 0;
    assert_ok(context, hb_ball_constants_get(context, dim, 0, sizeof constants, &constants));
    for (int k = 0; k < 2; k++)
        assert_ok(context, hb_ball_nodes_cubature(
                               context,
                               &(hb_ball_nodes_rule){k ? HB_BALL_NODES_SCORE : HB_BALL_NODES_VALUE,
                                                     dim, 0, degree, 1},
                               0, 1, &unit[k]));
    assert_true(unit[0].n + unit[1].n <= MOST_NODES);
    assert_ok(context, hb_problem_drift(context, drift, 1, x0, 0, F, &divergence, NULL, NULL));
    hb_drift_frame f = {drift, (size_t)dim, x0, F, tau0, divergence / dim, 0};
    f.radius = sqrt(4 * M_PI * share * hb_drift_frame_time(f.growth, tau0));
    const hb_drift_nodes nodes = {z, tau, shift, weight};
    assert_ok(context, hb_drift_frame_place(context, &f, &unit[0], unit[0].n, &unit[1], unit[1].n,
                                            scratch, &nodes));
    const double v0 = v(x0, tau0, user);
    for (size_t j = 0; j < unit[0].n + unit[1].n; j++)
        Q += weight[j] * exp(v(z + j * (size_t)dim, tau[j], user) + shift[j] - v0);
    for (int k = 0; k < 2; k++) hb_ball_nodes_destroy(context, &unit[k]);
    return fabs(hb_minus_log(Q, &slope)) * 4 / (constants.C1 * f.radius * f.radius);
}

static void the_identity_holds_at_a_stationary_density(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const char *text[] = {"x - x^3", "x - x^3 + 0.7*y, 0.7*(x - x^3) - y"};
    for (int dim = 1; dim <= 2; dim++) {
        hb_problem *drift = make_drift(context, dim, text[dim - 1]);
        for (int i = 0; i < 9; i++) {
            const double x0[2] = {-1.9 + 0.47 * i, 0.8 - 0.31 * i};
            const double fine =
                scaled_residual(context, drift, 8, dim, x0, 0.385, 0.15, stationary, &dim);
            const double coarse =
                scaled_residual(context, drift, 4, dim, x0, 0.385, 0.15, stationary, &dim);
            assert_true(fine < 2e-4 && coarse < 0.08);
        }
        hb_problem_destroy(drift);
    }
    hb_context_destroy(context);
}

/* The mean of arm.y over a unit. */
static double along_arms(hb_context *context, hb_ball_nodes_kind kind, int dim, int degree)
{
    hb_ball_nodes unit = {0};
    double sum = 0;
    assert_ok(context, hb_ball_nodes_cubature(
                           context, &(hb_ball_nodes_rule){kind, dim, 0, degree, 5}, 0, 1, &unit));
    for (size_t k = 0; k < unit.n * (size_t)dim; k++)
        sum += unit.weight[k / (size_t)dim] * unit.arm[k] * unit.y[k];
    hb_ball_nodes_destroy(context, &unit);
    return sum;
}

/* E[arm.y] = dim C1/4, half of E_kappa|y|^2: so the nodes of kappa serve with arms y/2. */
static void nodes_of_kappa_have_the_moment_of_the_arms(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (int dim = 1; dim <= 8; dim++) {
        hb_ball_constants constants;
        assert_ok(context, hb_ball_constants_get(context, dim, 0, sizeof constants, &constants));
        const double half = dim * constants.C1 / 4;
        assert_true(fabs(along_arms(context, HB_BALL_NODES_VALUE, dim, 3) / (2 * half) - 1) <
                    1e-10);
        if (dim <= 3)
            assert_true(fabs(along_arms(context, HB_BALL_NODES_SCORE, dim, 8) / half - 1) < 1e-10);
    }
    hb_context_destroy(context);
}

/* -ln Q 4/(C1 r^2) of the nodes at e^-V, V = sum_k x_k^4/4 - x_k^2/2. */
static double residual_of_wells(size_t dim, const double *x0, size_t n, const hb_drift_nodes *nodes,
                                double scale)
{
    double Q = 0, v0 = 0;
    for (size_t k = 0; k < dim; k++) v0 += x0[k] * x0[k] / 2 - pow(x0[k], 4) / 4;
    for (size_t j = 0; j < n; j++) {
        double v = 0;
        for (size_t k = j * dim; k < (j + 1) * dim; k++)
            v += nodes->z[k] * nodes->z[k] / 2 - pow(nodes->z[k], 4) / 4;
        Q += nodes->weight[j] * exp(v + nodes->shift[j] - v0);
    }
    return -scale * log(Q);
}

/* Wells side by side, F = x - x^3 in each, at e^-V: the nodes of kappa with arms y/2 against those of both
 * measures, both of degree 3, means over 64 rotations. */
static void kappas_nodes_serve_both_averages(void **state)
{
    (void)state;
    enum { DIM = 5, TURNS = 64, MOST = 6 * DIM };
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *drift =
        make_drift(context, DIM, "x1 - x1^3, x2 - x2^3, x3 - x3^3, x4 - x4^3, x5 - x5^3");
    const double x0[DIM] = {1.7, -0.1, 0.2, 0.3, -0.4}, tau0 = 0.385, share = 0.02;
    double F[DIM], scratch[MOST * DIM], z[MOST * DIM], tau[MOST], shift[MOST], weight[MOST];
    double divergence, both = 0, shared = 0, none = 0;
    hb_ball_nodes unit[2][TURNS] = {0};
    hb_ball_constants constants;
    assert_ok(context, hb_ball_constants_get(context, DIM, 0, sizeof constants, &constants));
    for (int k = 0; k < 2; k++)
        assert_ok(context, hb_ball_nodes_cubature(
                               context,
                               &(hb_ball_nodes_rule){k ? HB_BALL_NODES_SCORE : HB_BALL_NODES_VALUE,
                                                     DIM, 0, 3, 1},
                               0, TURNS, unit[k]));
    assert_true(unit[0][0].n + unit[1][0].n <= MOST);
    assert_ok(context, hb_problem_drift(context, drift, 1, x0, 0, F, &divergence, NULL, NULL));
    hb_drift_frame f = {drift, DIM, x0, F, tau0, divergence / DIM, 0};
    f.radius = sqrt(4 * M_PI * share * hb_drift_frame_time(f.growth, tau0));
    const double scale = 4 / (constants.C1 * f.radius * f.radius);
    const hb_drift_nodes nodes = {z, tau, shift, weight};
    for (int i = 0; i < TURNS; i++) {
        const hb_ball_nodes *value = &unit[0][i], *arm = &unit[1][i];
        assert_ok(context,
                  hb_drift_frame_place(context, &f, value, value->n, NULL, 0, scratch, &nodes));
        shared += residual_of_wells(DIM, x0, value->n, &nodes, scale) / TURNS;
        memcpy(weight, value->weight, value->n * sizeof *weight);
        none += residual_of_wells(DIM, x0, value->n, &nodes, scale) / TURNS;
        assert_ok(context,
                  hb_drift_frame_place(context, &f, value, value->n, arm, arm->n, scratch, &nodes));
        both += residual_of_wells(DIM, x0, value->n + arm->n, &nodes, scale) / TURNS;
    }
    assert_true(fabs(shared) < 0.03 && fabs(both) < 0.03 && fabs(none) > 0.05);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < TURNS; i++) hb_ball_nodes_destroy(context, &unit[k][i]);
    hb_problem_destroy(drift);
    hb_context_destroy(context);
}

/* The bistable process from a narrow start, from tau 0.1 to the end. */
static hb_grid *solved_bistable(hb_context *context, double end, hb_problem **problem)
{
    hb_grid *grid;
    hb_grid_settings settings;
    hb_grid_settings_default(sizeof settings, &settings);
    settings.keep_from = 0.1;
    assert_ok(context, hb_problem_parse(context, "x - x^3", "sqrt(2)",
                                        "gaussian(mean=-0.8, var=0.09)", problem));
    assert_ok(context, hb_grid_solve(context, *problem, &settings, 0, NULL, end, &grid));
    return grid;
}

static void the_identity_holds_on_the_grid(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem;
    hb_grid *grid = solved_bistable(context, 0.5, &problem);
    for (int i = 0; i < 9; i++) {
        const double x0 = -1.7 + 0.38 * i;
        const double R = scaled_residual(context, problem, 8, 1, &x0, 0.385, 0.2, of_grid, grid);
        assert_true(R < 2e-4);
    }
    hb_grid_destroy(grid);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

/* ---- residuals of a model ---- */

typedef struct trial {
    hb_context *context;
    hb_problem *drift;
    hb_trainer trainer;
} trial;

static void start(trial *t, hb_train_settings s, int dim, const char *text, double last_scale)
{
    t->context = make_context(HB_ISA_AUTO, 1);
    t->drift = make_drift(t->context, dim, text);
    fill_data(t->context, dim);
    s.drift = t->drift;
    t->trainer = (hb_trainer){.context = t->context, .settings = s, .n = ROWS};
    assert_ok(t->context, hb_trainer_create(&t->trainer, dim, 0, data, NULL));
    assert_ok(t->context, hb_net_initialise(t->context, t->trainer.model->net, 3, last_scale,
                                            t->trainer.model->parameters));
    t->trainer.state.step = 5;
    t->trainer.ramp = 1;
    assert_ok(t->context, t->trainer.source->begin(&t->trainer));
    assert_ok(&t->trainer.micro_batches[0].alone,
              hb_micro_batch_step(&t->trainer.micro_batches[0]));
}

static void finish(trial *t)
{
    hb_trainer_destroy(&t->trainer);
    hb_problem_destroy(t->drift);
    hb_context_destroy(t->context);
}

/* Root mean square of trust (b/2) e at the micro-batch's anchors by the room of averages, over small balls.
 * */
static double residual_of_estimates(trial *t)
{
    const hb_micro_batch *micro = &t->trainer.micro_batches[0];
    const size_t dim = (size_t)t->trainer.model->info.dim;
    hb_field field;
    hb_mean_settings settings;
    hb_mean_settings_default(sizeof settings, &settings);
    assert_ok(t->context, hb_model_field(t->context, t->trainer.model, &field));
    field.tau_min = 1e-4;
    double sum = 0;
    for (size_t i = 0; i < micro->anchors; i++) {
        const hb_noise_level *c = &micro->anchor.level[i];
        const double radius = sqrt(4 * M_PI * 0.02 * c->b / 2);
        double scaled;
        assert_ok(t->context, hb_mean_residual(t->context, t->drift, &field, &settings, 1, 1,
                                               micro->anchor.z + i * dim, c->tau, &radius,
                                               &(hb_residual_values){sizeof(hb_residual_values),
                                                                     NULL, NULL, &scaled, NULL}));
        sum += pow(0.5 * c->b * micro->anchor.weight[i] * scaled, 2) / (double)micro->anchors;
    }
    return sqrt(sum);
}

/* By derivatives, by values over small balls in the moving frame, and by values with a source. */
static void three_ways_to_the_residual(void **state)
{
    (void)state;
    const char *text[] = {"0.8*x - 0.3*x^3", "x - 0.4*x^3 - 0.7*y, 0.6*x - y + 0.2*sin(x)"};
    for (int dim = 1; dim <= 2; dim++) {
        double rms[2];
        for (int k = 0; k < 2; k++) {
            hb_train_settings s = drift_settings(k ? HB_LOSS_HB : HB_LOSS_FP, NULL);
            s.batch = 32;
            s.tau_min = 0.05;
            s.anchor_spread = 0.8;
            s.time_fraction = 0.01;
            trial t;
            start(&t, s, dim, text[dim - 1], 0.7);
            rms[k] = sqrt(t.trainer.micro_batches[0].losses[HB_LOSS_RESIDUAL2]);
            if (k == 0) assert_relative(rms[0], residual_of_estimates(&t), 0.03);
            finish(&t);
        }
        assert_true(rms[0] > 0.02);
        assert_relative(rms[1], rms[0], 0.03);
    }
}

/* ---- targets ---- */

/* F = -x as a user's drift: small tau are reached from the data in one step, whose score over all
 * rows is that of the data as points under OU, up to the step's error. */
/* v_ref at one point. */
static double reference_at(const hb_model *model, const double *z, double tau)
{
    float scratch[2 * 5];
    double value;
    hb_noise_level level;
    hb_model_level(model, tau, &level);
    const hb_points points = {1, z, &level, NULL};
    assert_int_equal(hb_model_reference(model, &points, scratch, &value, NULL), HB_OK);
    return value;
}

/* d_tau v - Lap v - |grad v|^2 + F.grad v + div F by central differences, which are exact for the
 * quadratic v_ref but along tau. */
static double residual_by_differences(hb_context *context, const trial *t, const double *z,
                                      double tau)
{
    const hb_model *model = t->trainer.model;
    const double h = 0.5, step = 1e-3, v = reference_at(model, z, tau);
    double F[5], moved[5], e;
    const size_t d = (size_t)model->info.dim;
    assert_ok(context, hb_problem_drift(context, t->drift, 1, z, 0, F, &e, NULL, NULL));
    e += (reference_at(model, z, tau * exp(step)) - reference_at(model, z, tau * exp(-step))) /
         (2 * step * tau);
    for (size_t j = 0; j < d; j++) {
        memcpy(moved, z, d * sizeof *z);
        moved[j] = z[j] + h;
        const double above = reference_at(model, moved, tau);
        moved[j] = z[j] - h;
        const double below = reference_at(model, moved, tau), slope = (above - below) / (2 * h);
        e += (F[j] - slope) * slope - (above - 2 * v + below) / (h * h);
    }
    return e;
}

static void the_residual_of_the_reference(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const char *text[] = {"1.3 + x - x^3", "0.7 + x - x^3 + 0.7*y, 0.9*x - y"};
    for (int dim = 1; dim <= 2; dim++) {
        trial t;
        start(&t, drift_settings(HB_LOSS_FP, NULL), dim, text[dim - 1], 0);
        for (int k = 0; k < 6; k++) {
            const double z[2] = {0.31 * k - 0.9, 0.8 - 0.27 * k}, tau = 0.083 * (k + 1);
            double F[2], source;
            hb_noise_level level;
            hb_model_level(t.trainer.model, tau, &level);
            const hb_points points = {1, z, &level, NULL};
            assert_ok(context,
                      t.trainer.source->terms(context, &t.trainer, &points, F, NULL, &source));
            assert_near(source, residual_by_differences(context, &t, z, tau), 0.01);
        }
        finish(&t);
    }
    hb_context_destroy(context);
}

static void targets_are_scores_of_the_data(void **state)
{
    (void)state;
    for (int dim = 1; dim <= 2; dim++) {
        hb_train_settings s = drift_settings(HB_LOSS_DSM, NULL);
        s.batch = 64;
        s.target_rows = 1 << 20;
        trial t;
        start(&t, s, dim, dim == 1 ? "-x" : "-x, -y", 0);
        const hb_pool *pool = t.trainer.pool;
        const hb_rows *rows = &t.trainer.micro_batches[0].rows;
        assert_relative(pool->size, 1, 1e-12);
        static double weight[4096], covariance[4096 * 4], means[4096 * 2];
        memset(covariance, 0, sizeof covariance);
        for (size_t i = 0; i < pool->members; i++) {
            weight[i] = 1;
            memcpy(means + i * (size_t)dim, pool->start + i % ROWS * (size_t)dim,
                   (size_t)dim * sizeof(double));
            for (int k = 0; k < dim; k++)
                covariance[(i * (size_t)dim + (size_t)k) * (size_t)dim + (size_t)k] = 1e-10;
        }
        hb_mixture *points;
        int compared = 0;
        assert_ok(t.context, hb_mixture_create(t.context, dim, pool->members, weight, means,
                                               covariance, &points));
        for (size_t i = 0; i < rows->n; i++) {
            double score[2];
            const double tau = rows->level[i].tau;
            if (tau > 0.1) continue;
            assert_ok(t.context, hb_mixture_score(t.context, points, HB_PROCESS_OU, 1,
                                                  rows->z + i * (size_t)dim, tau, NULL, score));
            for (int k = 0; k < dim; k++, compared++)
                assert_near((double)rows->noise[i * (size_t)dim + (size_t)k],
                            -rows->root[i] * score[k], 4e-3);
        }
        assert_true(compared > 10);
        hb_mixture_destroy(points);
        finish(&t);
    }
}

/* The reference's moments are those of OU within five standard errors of 4096 paths. */
static void the_reference_has_the_moments(void **state)
{
    (void)state;
    trial t;
    start(&t, drift_settings(HB_LOSS_DSM, NULL), 1, "-x", 0);
    const hb_model *model = t.trainer.model;
    for (int i = 0; i < 12; i++) {
        hb_noise_level c;
        hb_model_level(model, 0.01 * pow(120, i / 11.0), &c);
        const double a = exp(-c.tau), V = a * a * model->variance[0] + 1 - a * a;
        assert_near(hb_model_mean(model, &c, 0), a * model->mean[0], 5 * sqrt(V / 4096));
        assert_relative(hb_model_variance(model, &c, 0), V, 5 * sqrt(2.0 / 4096));
        assert_near(hb_model_mean_rate(model, &c, 0), -c.tau * a * model->mean[0],
                    0.03 + 5 * c.tau * sqrt(V / 4096));
    }
    assert_int_equal(model->flow.n_ends, 4096);
    finish(&t);
}

/* ---- runs ---- */

static hb_model *train(hb_context *context, const hb_train_settings *settings, int dim)
{
    hb_model *model;
    fill_data(context, dim);
    assert_ok(context, hb_train(context, settings, dim, 0, ROWS, data, NULL, &model));
    return model;
}

static void assert_same_scores(hb_context *context, const hb_model *a, const hb_model *b, int dim)
{
    double tau[50], score[2][250];
    for (int i = 0; i < 50; i++) tau[i] = 0.02 * (i + 1);
    assert_ok(context, hb_model_score(context, a, 50, data, tau, NULL, score[0]));
    assert_ok(context, hb_model_score(context, b, 50, data, tau, NULL, score[1]));
    assert_memory_equal(score[0], score[1], 50 * (size_t)dim * sizeof(double));
}

static const char *const texts[] = {"x - x^3", "x - 0.4*x^3 - 0.7*y, 0.6*x - y",
                                    "0.3*sin(x[i+1]) - 0.5*x[i] - 0.1*x[i]^3"};

static void threads_files_and_resuming_change_no_bit(void **state)
{
    (void)state;
    const char *path = "test_train_drift.safetensors";
    for (int k = 0; k < 3; k++) {
        const int dim = k < 2 ? k + 1 : 5;
        hb_context *context = make_context(HB_ISA_AUTO, 1), *three = make_context(HB_ISA_AUTO, 3);
        hb_problem *drift = make_drift(context, dim, texts[k]);
        hb_train_settings s = drift_settings(k == 1 ? HB_LOSS_FP : HB_LOSS_HB, drift);
        hb_model *one = train(context, &s, dim), *other = train(three, &s, dim), *read;
        assert_same_scores(context, one, other, dim);
        assert_ok(context, hb_model_save(context, one, path));
        assert_ok(context, hb_model_load(context, path, &read));
        assert_same_scores(context, one, read, dim);
        hb_model_info info;
        hb_model_info_get(read, sizeof info, &info);
        assert_int_equal(info.process, HB_PROCESS_DRIFT);
        double F[2][5];
        assert_ok(context, hb_problem_drift(context, hb_model_problem(read), 1, data, 0, F[0], NULL,
                                            NULL, NULL));
        assert_ok(context, hb_problem_drift(context, drift, 1, data, 0, F[1], NULL, NULL, NULL));
        assert_memory_equal(F[0], F[1], (size_t)dim * sizeof(double));
        assert_memory_equal(read->flow.ends, one->flow.ends, 100 * sizeof(float));
        hb_model_destroy(read);
        hb_model_destroy(other);
        hb_model_destroy(one);
        hb_problem_destroy(drift);
        hb_context_destroy(three);
        hb_context_destroy(context);
        unlink(path);
    }
}

/* Asks to stop after so many steps. */
static int stop_after(void *user, const char *what, double done, double total)
{
    (void)total;
    return strcmp(what, "train") == 0 && done >= *(double *)user;
}

static void a_resumed_run_is_the_same(void **state)
{
    (void)state;
    const char *path = "test_train_drift_checkpoint.safetensors";
    double steps = 12;
    hb_context_settings settings;
    hb_context_settings_default(sizeof settings, &settings);
    settings.progress = stop_after;
    settings.progress_user = &steps;
    hb_context *context = make_context(HB_ISA_AUTO, 1), *stopping;
    assert_int_equal(hb_context_create(&settings, &stopping), HB_OK);
    hb_problem *drift = make_drift(context, 1, texts[0]), *other = make_drift(context, 1, "-x^3");
    hb_train_settings s = drift_settings(HB_LOSS_HB, drift);
    hb_model *whole = train(context, &s, 1), *model = NULL;
    s.checkpoint = path;
    s.resume = 1;
    unlink(path);
    assert_int_equal(hb_train(stopping, &s, 1, 0, ROWS, data, NULL, &model), HB_ERROR_INTERRUPTED);
    s.drift = other;
    assert_fails(context, hb_train(context, &s, 1, 0, ROWS, data, NULL, &model), HB_ERROR_ARGUMENT,
                 "of another run: it has drift=");
    s.drift = drift;
    model = train(context, &s, 1);
    assert_same_scores(context, whole, model, 1);
    hb_model_destroy(model);
    hb_model_destroy(whole);
    hb_problem_destroy(other);
    hb_problem_destroy(drift);
    hb_context_destroy(stopping);
    hb_context_destroy(context);
    unlink(path);
}

static void refusals(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *drift = make_drift(context, 1, texts[0]), *timed = make_drift(context, 1, "-t*x");
    hb_problem *away = make_drift(context, 1, "x^3");
    hb_model *model;
    fill_data(context, 2);
    hb_train_settings s = drift_settings(HB_LOSS_HB, NULL);
#define REFUSED(status, text)                                                                      \
    assert_fails(context, hb_train(context, &s, 1, 0, ROWS, data, NULL, &model), status, text)
    REFUSED(HB_ERROR_ARGUMENT, "there is no drift");
    s.drift = timed;
    REFUSED(HB_ERROR_ARGUMENT, "must not depend on t");
    s.drift = away;
    s.tau_max = 3;
    REFUSED(HB_ERROR_NUMERICAL, "of the paths away before tau = 3");
    s = drift_settings(HB_LOSS_HB, drift);
    s.standardise = 1;
    REFUSED(HB_ERROR_ARGUMENT, "cannot be standardised");
    s = drift_settings(HB_LOSS_HB, drift);
    s.head = HB_HEAD_SCORE;
    REFUSED(HB_ERROR_ARGUMENT, "needs the energy head");
    s = drift_settings(HB_LOSS_HB_PAPER, drift);
    REFUSED(HB_ERROR_ARGUMENT, "hb-paper loss has no drift");
    s = drift_settings(HB_LOSS_HB, drift);
    assert_fails(context, hb_train(context, &s, 2, 0, ROWS, data, NULL, &model), HB_ERROR_ARGUMENT,
                 "the drift has 1 components, but the data have 2 columns");
    hb_problem_destroy(away);
    hb_problem_destroy(timed);
    hb_problem_destroy(drift);
    hb_context_destroy(context);
}

static void a_drift_survives_its_text(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const char *names[] = {"mu"};
    const double values[] = {0.1 + 0.2}, x[2] = {0.7, -1.3};
    hb_problem_settings s;
    hb_problem_settings_default(sizeof s, &s);
    s.drift = "y,\n mu*(1 - x^2)*y - x";
    s.noise = "sqrt(2)";
    s.n_parameters = 1;
    s.parameter_names = names;
    s.parameter_values = values;
    hb_problem *one, *two;
    double F[2][2];
    assert_ok(context, hb_problem_create(context, &s, &one));
    assert_ok(context,
              hb_problem_of_text(context, hb_problem_text(one), hb_problem_dim(one), &two));
    assert_string_equal(hb_problem_text(one), hb_problem_text(two));
    assert_ok(context, hb_problem_drift(context, one, 1, x, 0, F[0], NULL, NULL, NULL));
    assert_ok(context, hb_problem_drift(context, two, 1, x, 0, F[1], NULL, NULL, NULL));
    assert_memory_equal(F[0], F[1], sizeof F[0]);
    hb_problem_destroy(two);
    const char *bad[] = {"",
                         "dim=0\n",
                         "dim=1\nnoise=1\n",
                         "dim=1\ndrift=x\nnoise=1\nmu=z\n",
                         "dim=1\ndrift=x+\nnoise=1\n",
                         "dim=1\ndrift=x\nnoise=1\ntime=t\n",
                         "dim=1\ndrift=x\nnoise=x\ntime=t\ninside=1 2\n",
                         "dim=1\ndrift=x\nnoise=x\ntime=t\ninside=nan\n",
                         "dim=2\ndrift=x,y\nnoise=x,y\ntime=t\ninside=1\n",
                         "dim=1\ndrift=x\nnoise=1\nconvention=ito\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(
            hb_problem_of_text(context, bad[i], strncmp(bad[i], "dim=2", 5) ? 1 : 2, &two),
            HB_ERROR_ARGUMENT);
    assert_fails(context, /* a model of the plane: nothing is built */
                 hb_problem_of_text(context, "dim=60000\ndrift=-x[i]\nnoise=0.2*x[i]\n", 2, &two),
                 HB_ERROR_ARGUMENT, "the drift has dimension 60000; it must be 2");
    hb_problem_destroy(one);
    hb_context_destroy(context);
}

/* V = x_1^2/2 + x_2^4/4 under the noise 0.5, 2: y = sqrt(2) (x_1/0.5, x_2/2), F = -sqrt(2) (x_1/0.5, x_2^3/2), and tau is t. */
static void a_noise_becomes_root_2(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem_settings s;
    hb_problem_settings_default(sizeof s, &s);
    s.dim = 2;
    s.potential = "x^2/2 + y^4/4";
    s.noise = "0.5, 2";
    hb_problem *typed, *unit, *again;
    const double x[2] = {0.3, -1.7};
    double y[2], F[2], t;
    assert_ok(context, hb_problem_create(context, &s, &typed));
    assert_ok(context, hb_problem_as_typed(context, typed, x, &unit));
    assert_ok(context, hb_problem_of_text(context, hb_problem_text(unit), 2, &again));
    assert_string_equal(hb_problem_text(unit), hb_problem_text(again));
    assert_non_null(strstr(hb_problem_text(unit), "time=t\ninside=\n"));
    assert_ok(context, hb_problem_tau_of_t(context, again, 0.8, &t));
    assert_float_equal(t, 0.8, 1e-12);
    assert_ok(context, hb_problem_to_frame(context, again, 1, x, 0, y));
    assert_float_equal(y[0], sqrt(2) * x[0] / 0.5, 1e-12);
    assert_float_equal(y[1], sqrt(2) * x[1] / 2, 1e-12);
    assert_ok(context, hb_problem_drift(context, again, 1, y, 0, F, NULL, NULL, NULL));
    assert_float_equal(F[0], -sqrt(2) * x[0] / 0.5, 1e-12);
    assert_float_equal(F[1], -sqrt(2) * x[1] * x[1] * x[1] / 2, 1e-12);
    hb_problem_destroy(again);
    hb_problem_destroy(unit);
    hb_problem_destroy(typed);
    hb_context_destroy(context);
}

/* Without as_typed a noise that is no number is refused, and so are callbacks. */
static void a_noise_needs_as_typed(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *typed;
    hb_model *model;
    hb_train_settings t;
    const double rows[4][2] = {{1, 2}, {2, 1}, {0, 1}, {3, 3}};
    hb_train_settings_default(sizeof t, &t);
    assert_ok(context, hb_problem_parse(context, "-x, -y", "0.5, 2", NULL, &typed));
    t.process = HB_PROCESS_DRIFT;
    t.drift = typed;
    t.steps = 1;
    t.width = 4;
    assert_int_equal(hb_train(context, &t, 2, 0, 4, rows[0], NULL, &model), HB_ERROR_ARGUMENT);
    assert_non_null(strstr(hb_context_message(context), "as_typed must be 1"));
    t.as_typed = 1;
    assert_ok(context, hb_train(context, &t, 2, 0, 4, rows[0], NULL, &model));
    assert_non_null(hb_problem_frame(hb_model_problem(model)));
    assert_null(hb_model_problem(NULL));
    hb_model_destroy(model);
    hb_problem_destroy(typed);
    hb_context_destroy(context);
}

/* ---- it learns ---- */

/* Mean squared error of the score at draws of u(., tau) by the grid's own density on a lattice. */
static double score_error(hb_context *context, const hb_grid *grid, const hb_model *model,
                          double tau)
{
    enum { N = 121 };
    double x[N], v[N], exact[N], at[N], score[N], sum = 0, mass = 0;
    for (int i = 0; i < N; i++) {
        x[i] = -2.4 + 4.8 * i / (N - 1);
        at[i] = tau;
    }
    assert_ok(context, hb_grid_evaluate(context, grid, N, x, tau, v, NULL, exact, NULL));
    assert_ok(context, hb_model_score(context, model, N, x, at, NULL, score));
    for (int i = 0; i < N; i++) {
        sum += exp(v[i]) * pow(score[i] - exact[i], 2);
        mass += exp(v[i]);
    }
    return sum / mass;
}

static void a_bistable_process_is_learnt(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem;
    hb_grid *grid = solved_bistable(context, 1, &problem);
    static double rows[2000];
    assert_ok(context, hb_problem_initial_sample(context, problem, 3, 0, 2000, rows));
    hb_train_settings s = drift_settings(HB_LOSS_HB, problem);
    s.width = 32;
    s.depth = 3;
    s.batch = 128;
    s.anchors = 48;
    s.steps = 800;
    hb_model *model;
    assert_ok(context, hb_train(context, &s, 1, 0, 2000, rows, NULL, &model));
    assert_true(score_error(context, grid, model, 0.1) < 0.01);
    assert_true(score_error(context, grid, model, 0.3) < 0.01);
    assert_true(score_error(context, grid, model, 0.8) < 0.1);
    hb_model_destroy(model);
    hb_grid_destroy(grid);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_identity_holds_at_a_stationary_density),
        cmocka_unit_test(nodes_of_kappa_have_the_moment_of_the_arms),
        cmocka_unit_test(kappas_nodes_serve_both_averages),
        cmocka_unit_test(the_identity_holds_on_the_grid),
        cmocka_unit_test(three_ways_to_the_residual),
        cmocka_unit_test(the_residual_of_the_reference),
        cmocka_unit_test(targets_are_scores_of_the_data),
        cmocka_unit_test(the_reference_has_the_moments),
        cmocka_unit_test(threads_files_and_resuming_change_no_bit),
        cmocka_unit_test(a_resumed_run_is_the_same),
        cmocka_unit_test(refusals),
        cmocka_unit_test(a_drift_survives_its_text),
        cmocka_unit_test(a_noise_becomes_root_2),
        cmocka_unit_test(a_noise_needs_as_typed),
        cmocka_unit_test(a_bistable_process_is_learnt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
