/* The losses: gradients against differences, zeros at exact solutions, and each residual against
 * another room's.
 *
 * Differences are taken of the loss itself, along the gradient and along random directions; the
 * network is float, so a step of 1e-2 leaves errors of 1e-4 or so, and a wrong term in a loss is
 * far larger. */
#include "support.h"
#include "train/ball_rows.h"
#include "train/trainer.h"

enum { ROWS = 400, MOST_DIM = 8, BEYOND = 100 }; /* few rotations with signs from 65 on */

static double data[ROWS * BEYOND];

/* Two Gaussian blobs, so that nothing is symmetric. */
static void fill_data(hb_context *context, int dim)
{
    assert_ok(context, hb_random_normal(context, 5, 77, 0, (size_t)(ROWS * dim), data));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < dim; j++) {
            double *x = &data[i * dim + j];
            *x = i % 3 ? 0.7 * *x + 2.4 : 0.4 * *x + 0.2 + 0.2 * j;
        }
}

typedef struct trial {
    hb_context *context;
    hb_trainer trainer;
    int labels[ROWS];
} trial;

/* A run at step 5 with the ramp done. last_scale 0: the network is 0. */
static void start(trial *t, const hb_train_settings *settings, int dim, int classes,
                  double last_scale)
{
    t->context = make_context(HB_ISA_AUTO, 1);
    fill_data(t->context, dim);
    for (int i = 0; i < ROWS; i++) t->labels[i] = classes ? i % classes : 0;
    t->trainer = (hb_trainer){.context = t->context, .settings = *settings, .n = ROWS};
    assert_ok(t->context, hb_trainer_create(&t->trainer, dim, classes, data, t->labels));
    assert_ok(t->context, hb_net_initialise(t->context, t->trainer.model->net, 3, last_scale,
                                            t->trainer.model->parameters));
    t->trainer.state.step = 5;
    t->trainer.ramp = 1;
    assert_ok(t->context, t->trainer.source->begin(&t->trainer));
}

static void finish(trial *t)
{
    hb_trainer_destroy(&t->trainer);
    hb_context_destroy(t->context);
}

static hb_train_settings small_settings(int loss, int head)
{
    hb_train_settings s;
    hb_train_settings_default(sizeof s, &s);
    s.standardise = HB_STANDARDISE_NO;
    s.loss = loss;
    s.head = head;
    s.width = 24;
    s.depth = 2;
    s.batch = 32;
    s.anchors = 16;
    s.tau_min = 0.02;
    s.weight = 50;
    s.target_rows = 0;
    return s;
}

static double loss_of(trial *t)
{
    hb_micro_batch *micro = &t->trainer.micro_batches[0];
    assert_int_equal(t->trainer.n_micro_batches, 1);
    assert_ok(&micro->alone, hb_micro_batch_step(micro));
    return micro->losses[HB_LOSS_OF_DSM] + micro->losses[HB_LOSS_OF_CONSTRAINT];
}

/* Loss differences along a direction of length 1 against <gradient, direction>. */
static void check_direction(trial *t, const float *gradient, const float *direction,
                            double gradient_norm)
{
    const size_t n = t->trainer.model->info.parameters;
    float *p = t->trainer.model->parameters, *kept = malloc(n * sizeof *kept);
    const double h = 4e-3;
    double expected = 0, sides[2];
    for (size_t i = 0; i < n; i++) expected += (double)gradient[i] * (double)direction[i];
    memcpy(kept, p, n * sizeof *p);
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < n; i++) p[i] = kept[i] + (float)(side ? -h : h) * direction[i];
        sides[side] = loss_of(t);
    }
    memcpy(p, kept, n * sizeof *p);
    free(kept);
    assert_near((sides[0] - sides[1]) / (2 * h), expected, 2e-3 * gradient_norm);
}

static void check_gradient(const hb_train_settings *settings, int dim, int classes)
{
    trial t;
    start(&t, settings, dim, classes, 0.7);
    const size_t n = t.trainer.model->info.parameters;
    float *gradient = malloc(n * sizeof *gradient), *direction = malloc(n * sizeof *direction);
    float *aside = malloc(n * sizeof *aside); /* no gradient is taken through directions */
    t.trainer.aside = memcpy(aside, t.trainer.model->parameters, n * sizeof *aside);
    loss_of(&t);
    const double *losses = t.trainer.micro_batches[0].losses;
    if (settings->loss != HB_LOSS_DSM && /* the constraint must be seen */
        !(fabs(losses[HB_LOSS_OF_CONSTRAINT]) > 0.5 * losses[HB_LOSS_OF_DSM]))
        fail_msg("loss %d dim %d: %g beside %g", settings->loss, dim, losses[HB_LOSS_OF_CONSTRAINT],
                 losses[HB_LOSS_OF_DSM]);
    memcpy(gradient, t.trainer.micro_batches[0].gradient, n * sizeof *gradient);
    double norm = 0;
    for (size_t i = 0; i < n; i++) norm += (double)gradient[i] * (double)gradient[i];
    norm = sqrt(norm);
    for (size_t i = 0; i < n; i++) direction[i] = (float)((double)gradient[i] / norm);
    check_direction(&t, gradient, direction, norm);
    for (uint64_t k = 0; k < 3; k++) {
        assert_ok(t.context, hb_random_normal_f32(t.context, 9, k, 0, n, direction));
        for (size_t i = 0; i < n; i++) direction[i] /= sqrtf((float)n);
        check_direction(&t, gradient, direction, norm);
    }
    free(gradient);
    free(direction);
    free(aside);
    finish(&t);
}

/* With a focus F the part p of row i of a batch, stratified, becomes p + F sin(2 pi p)/(2 pi): undone,
 * row i lies in the i-th part; 1/(1-F) times as many rows are around the middle. */
static void a_focus_moves_rows_to_the_middle(void **state)
{
    (void)state;
    enum { BATCH = 64 };
    const double F = 0.6;
    hb_train_settings s = small_settings(HB_LOSS_DSM, HB_HEAD_SCORE);
    s.batch = BATCH;
    s.tau_max = 5;
    s.tau_focus = F;
    trial t;
    start(&t, &s, 2, 0, 0.7);
    int near = 0;
    for (size_t k = 0; k < t.trainer.n_micro_batches; k++) {
        hb_micro_batch *micro = &t.trainer.micro_batches[k];
        assert_ok(&micro->alone, t.trainer.source->rows(micro));
        for (size_t i = 0; i < micro->rows.n; i++) {
            const double place =
                log(micro->rows.level[i].tau / s.tau_min) / log(s.tau_max / s.tau_min);
            double low = 0, high = 1; /* bisection: the map rises */
            for (int b = 0; b < 60; b++) {
                const double p = (low + high) / 2;
                *(p + F * sin(2 * M_PI * p) / (2 * M_PI) < place ? &low : &high) = p;
            }
            const double row = (double)(micro->first + i);
            assert_true(low >= (row - 1e-9) / BATCH && low <= (row + 1 + 1e-9) / BATCH);
            near += fabs(place - 0.5) < 0.05;
        }
    }
    assert_true(near >= 13 && near <= 16); /* 64 * 0.1/(1-F) = 16, a little less off the middle */
    finish(&t);
}

static void gradients_of_dsm(void **state)
{
    (void)state;
    for (int head = HB_HEAD_SCORE; head <= HB_HEAD_HELMHOLTZ; head++) {
        hb_train_settings s = small_settings(HB_LOSS_DSM, head);
        check_gradient(&s, 2, 0);
        s.process = HB_PROCESS_VE;
        s.skip = 1;
        check_gradient(&s, 2, 3);
    }
}

static void gradients_of_constraints(void **state)
{
    (void)state;
    for (int loss = HB_LOSS_FP; loss <= HB_LOSS_HB_PAPER; loss++) {
        hb_train_settings s = small_settings(loss, HB_HEAD_ENERGY);
        s.weight = loss == HB_LOSS_HB_PAPER ? 5000 : 200; /* the paper's residual is not scaled */
        s.time_fraction = 0.05; /* the rounding of smaller ones is in the differences */
        check_gradient(&s, 2, 0);
        check_gradient(&s, 1, 2);
        hb_train_settings many = s;
        many.weight = 500;
        if (loss != HB_LOSS_HB_PAPER) check_gradient(&many, BEYOND, 0);
        check_gradient(&s, 5, 0); /* probes; 2 dim nodes */
        s.process = HB_PROCESS_VE;
        check_gradient(&s, 2, 0);
    }
}

static void gradients_of_score_constraints(void **state)
{
    (void)state;
    for (int process = HB_PROCESS_OU; process <= HB_PROCESS_VE; process++) {
        hb_train_settings fp = small_settings(HB_LOSS_FP, HB_HEAD_SCORE);
        hb_train_settings hb = small_settings(HB_LOSS_HB, HB_HEAD_SCORE);
        fp.process = hb.process = process;
        fp.weight = hb.weight = 1000;
        hb.time_fraction = 0.05;
        for (int dim = 1; dim <= 3; dim++) check_gradient(&fp, dim, 0);
        for (int dim = 1; dim <= 5; dim++) check_gradient(&hb, dim, 0);
        hb.anchors = 3;
        check_gradient(&hb, BEYOND, 0);
        hb.anchors = 16;
        hb.head = HB_HEAD_HELMHOLTZ;
        check_gradient(&hb, 2, 2);
    }
}

/* A drift of the user's, in 1, 2 or 5 dimensions: not linear, not a gradient. */
static hb_problem *make_drift(hb_context *context, int dim)
{
    const char *text[] = {"0.8*x - 0.3*x^3", "x - 0.4*x^3 - 0.7*y, 0.6*x - y + 0.2*sin(x)",
                          "0.3*sin(x[i+1]) - 0.5*x[i] - 0.1*x[i]^3"};
    hb_problem_settings settings;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.dim = dim;
    settings.drift = text[dim < 3 ? dim - 1 : 2];
    settings.noise = "sqrt(2)";
    hb_problem *problem;
    assert_ok(context, hb_problem_create(context, &settings, &problem));
    return problem;
}

static void check_drift_gradient(hb_train_settings s, int dim, int classes)
{
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *drift = make_drift(context, dim);
    s.process = HB_PROCESS_DRIFT;
    s.drift = drift;
    check_gradient(&s, dim, classes);
    hb_problem_destroy(drift);
    hb_context_destroy(context);
}

static void gradients_with_a_drift(void **state)
{
    (void)state;
    for (int loss = HB_LOSS_DSM; loss <= HB_LOSS_HB; loss++) {
        hb_train_settings s = small_settings(loss, HB_HEAD_ENERGY);
        s.weight = 200;        /* such anchors count less */
        s.time_fraction = 0.2; /* the rounding of smaller ones is in the differences */
        check_drift_gradient(s, 1, 0);
        s.target_rows = 100;
        check_drift_gradient(s, 2, 3);
        check_drift_gradient(s, 5, 0);
    }
    hb_train_settings s = small_settings(HB_LOSS_FP, HB_HEAD_SCORE);
    s.weight = 300;
    s.anchor_tau_min = s.tau_min;
    check_drift_gradient(s, 1, 0);
    check_drift_gradient(s, 2, 0);
    s.loss = HB_LOSS_DSM;
    s.head = HB_HEAD_HELMHOLTZ;
    check_drift_gradient(s, 2, 0);
}

/* b, but no less than at tau = 0.02, and dim/8 times that below it, so that log-densities hold at
 * small tau; above 64 dimensions a b; under a drift b. */
static void anchors_count_at_small_tau(void **state)
{
    (void)state;
    const double at_limit = -expm1(-0.04), knot = 0;
    const hb_noise_level small = {.a = 0.999, .b = 0.002}, large = {.a = 0.6, .b = 0.64},
                         drift = {.a = 1, .b = 0.002, .knot = &knot};
    assert_near(hb_anchor_weight(&small, 2), at_limit, 1e-4);
    assert_near(hb_anchor_weight(&small, 32), 4 * at_limit, 1e-3);
    assert_true(hb_anchor_weight(&large, 2) == 0.64 && hb_anchor_weight(&drift, 2) == 0.002);
    assert_near(hb_anchor_weight(&small, 65), 0.999 * 0.002, 1e-15);
}

/* By default anchors reach down to tau_min: uniform in ln tau above 0.02, half as dense below; the
 * weight and the number of those above stay. anchor_tau_min = 0.02 has none below. A score has no
 * need of them. */
static void anchors_reach_down_to_tau_min(void **state)
{
    (void)state;
    hb_train_settings s = small_settings(HB_LOSS_HB, HB_HEAD_ENERGY);
    s.tau_min = 0.001;
    s.anchors = 0;
    s.weight = NAN;
    trial t;
    start(&t, &s, 2, 0, 0);
    const double above = log(3 / 0.02), below = 0.5 * log(0.02 / 0.001), more = 1 + below / above;
    assert_int_equal(t.trainer.settings.anchors, (int)(64 * more));
    assert_near(t.trainer.settings.weight, 2 * more, 1e-12);
    loss_of(&t);
    const hb_rows *anchor = &t.trainer.micro_batches[0].anchor;
    for (size_t i = 0; i < anchor->n; i++) {
        const double l = log(anchor->level[i].tau / 0.02);
        const double part = (l < 0 ? below + 0.5 * l : below + l) / (above + below);
        assert_true(part * (double)anchor->n >= (double)i &&
                    part * (double)anchor->n <= (double)i + 1);
    }
    finish(&t);
    s.anchor_tau_min = 0.02;
    start(&t, &s, 2, 0, 0);
    assert_true(t.trainer.settings.anchors == 64 && t.trainer.settings.weight == 2);
    finish(&t);
    s.anchor_tau_min = 0;
    s.head = HB_HEAD_SCORE;
    start(&t, &s, 2, 0, 0);
    assert_true(t.trainer.settings.anchor_tau_min == 0.02);
    finish(&t);
}

/* ln tau of the anchors of the paper's loss and above 64 dimensions is uniform from tau_min on. */
static void other_anchors_are_uniform(void **state)
{
    (void)state;
    for (int many = 0; many < 2; many++) {
        hb_train_settings s = small_settings(many ? HB_LOSS_HB : HB_LOSS_HB_PAPER, HB_HEAD_ENERGY);
        s.tau_min = 0.001;
        s.weight = NAN;
        trial t;
        start(&t, &s, many ? 65 : 2, 0, 0);
        assert_true(many || t.trainer.settings.weight == 1);
        loss_of(&t);
        const hb_rows *anchor = &t.trainer.micro_batches[0].anchor;
        for (size_t i = 0; i < anchor->n; i++) {
            const double part = 16 * log(anchor->level[i].tau / 0.001) / log(3 / 0.001);
            assert_true(part >= (double)i && part <= (double)i + 1);
        }
        finish(&t);
    }
}

/* v_ref solves the equation whatever the data: with the network at 0 the constraint and its
 * gradient vanish. */
static void constraints_vanish_at_a_solution(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++)
        for (int dim = 1; dim <= (k == 2 ? 3 : 5); dim += 2)
            for (int process = HB_PROCESS_OU; process <= HB_PROCESS_VE; process++) {
                hb_train_settings s = small_settings(k % 2 ? HB_LOSS_HB : HB_LOSS_FP,
                                                     k < 2 ? HB_HEAD_ENERGY : HB_HEAD_SCORE);
                s.process = process;
                trial t, plain;
                start(&t, &s, dim, 0, 0);
                s.loss = HB_LOSS_DSM;
                start(&plain, &s, dim, 0, 0);
                loss_of(&t);
                loss_of(&plain);
                assert_true(t.trainer.micro_batches[0].losses[HB_LOSS_OF_CONSTRAINT] < 1e-24);
                for (size_t i = 0; i < t.trainer.model->info.parameters; i++)
                    assert_near((double)t.trainer.micro_batches[0].gradient[i],
                                (double)plain.trainer.micro_batches[0].gradient[i], 1e-12);
                finish(&t);
                finish(&plain);
            }
}

/* The loss without a source is not 0 at a solution: v_ref again. */
static void the_papers_loss_does_not_vanish(void **state)
{
    (void)state;
    hb_train_settings s = small_settings(HB_LOSS_HB_PAPER, HB_HEAD_ENERGY);
    trial t;
    start(&t, &s, 2, 0, 0);
    loss_of(&t);
    assert_true(t.trainer.micro_batches[0].losses[HB_LOSS_RESIDUAL2] > 1e-4);
    finish(&t);
}

/* (b/2) times the pointwise residual of the model at the micro-batch's anchors, root mean square, by the
 * room of averages: averages over small balls with their source. */
static double residual_of_estimates(trial *t, const char *drift)
{
    const hb_micro_batch *micro = &t->trainer.micro_batches[0];
    const int dim = t->trainer.model->info.dim;
    hb_problem *problem;
    hb_field field;
    hb_mean_settings settings;
    hb_mean_settings_default(sizeof settings, &settings);
    assert_ok(t->context,
              hb_problem_parse(t->context, drift, "sqrt(2)", "gaussian(mean=0,var=1)", &problem));
    assert_ok(t->context, hb_model_field(t->context, t->trainer.model, &field));
    double sum = 0;
    for (size_t i = 0; i < micro->anchors; i++) {
        const hb_noise_level *c = &micro->anchor.level[i];
        const double radius = sqrt(4 * M_PI * 0.05 * c->b / 2);
        double scaled;
        field.tau_min = 1e-4;
        assert_ok(t->context, hb_mean_residual(t->context, problem, &field, &settings, 1, 1,
                                               micro->anchor.z + i * (size_t)dim, c->tau, &radius,
                                               &(hb_residual_values){sizeof(hb_residual_values),
                                                                     NULL, NULL, &scaled, NULL}));
        sum += pow(0.5 * c->b * scaled, 2) / (double)micro->anchors;
    }
    hb_problem_destroy(problem);
    return sqrt(sum);
}

/* The same for OU by derivatives of the model, above the dimensions that balls have many nodes in. */
static double residual_by_derivatives(trial *t)
{
    const hb_micro_batch *micro = &t->trainer.micro_batches[0];
    const hb_model *model = t->trainer.model;
    const size_t d = (size_t)model->info.dim;
    double sum = 0;
    for (size_t i = 0; i < micro->anchors; i++) {
        const hb_noise_level *c = &micro->anchor.level[i];
        const double *z = micro->anchor.z + i * d, h = 0.02 * c->tau;
        double later, before, score[BEYOND], left;
        assert_ok(t->context, hb_model_log_density(t->context, model, 1, z, &(double){c->tau + h},
                                                   NULL, &later, NULL));
        assert_ok(t->context, hb_model_log_density(t->context, model, 1, z, &(double){c->tau - h},
                                                   NULL, &before, NULL));
        assert_ok(t->context,
                  hb_model_divergence(t->context, model, 0, 1, 1, z, &c->tau, NULL, score, &left));
        left = (later - before) / (2 * h) - left - (double)d;
        for (size_t k = 0; k < d; k++) left -= score[k] * (score[k] + z[k]);
        sum += pow(0.5 * c->b * left, 2) / (double)micro->anchors;
    }
    return sqrt(sum);
}

/* 2 dim nodes leave no noise: single balls have the residual, whatever their rotation. With random pairs this is
 * 6 % off in 4 dimensions. */
static void rotated_nodes_see_the_residual(void **state)
{
    (void)state;
    for (int dim = 4; dim <= BEYOND; dim += dim < MOST_DIM ? 2 : BEYOND - MOST_DIM) {
        hb_train_settings s = small_settings(HB_LOSS_HB, HB_HEAD_ENERGY);
        s.anchor_spread = 0.5;
        trial t;
        start(&t, &s, dim, 0, 0.7);
        loss_of(&t);
        const double rms = sqrt(t.trainer.micro_batches[0].losses[HB_LOSS_RESIDUAL2]);
        assert_true(rms > 0.05);
        assert_relative(rms, residual_by_derivatives(&t), 0.03);
        finish(&t);
    }
}

static void residuals_agree(int process, const char *drift)
{
    double rms[2];
    for (int k = 0; k < 2; k++) {
        hb_train_settings s = small_settings(k ? HB_LOSS_HB : HB_LOSS_FP, HB_HEAD_ENERGY);
        s.process = process;
        s.time_fraction = 0.02;
        trial t;
        start(&t, &s, 2, 0, 0.7);
        loss_of(&t);
        rms[k] = sqrt(t.trainer.micro_batches[0].losses[HB_LOSS_RESIDUAL2]);
        if (k == 0) assert_relative(rms[0], residual_of_estimates(&t, drift), 0.03);
        finish(&t);
    }
    assert_true(rms[0] > 0.05);
    assert_relative(rms[1], rms[0], 0.03);
}

/* The pointwise residual by derivatives, the heat-ball residual of small balls by values in the
 * frame without drift, and that of src/mean, by values and a source: three ways to the same
 * number. */
static void three_ways_to_the_residual(void **state)
{
    (void)state;
    residuals_agree(HB_PROCESS_OU, "-x, -y");
    residuals_agree(HB_PROCESS_VE, "0, 0");
}

/* ln p~ of the model in the frame without drift: y = e^tau z, s = (e^(2 tau) - 1)/2, p~ = e^(-2
 * tau) p. */
static int frame_field(void *user, size_t n, const double *y, const double *s, double *v,
                       double *gradient)
{
    const trial *t = user;
    for (size_t i = 0; i < n; i++) {
        const double tau = 0.5 * log1p(2 * s[i]), a = exp(-tau);
        const double z[2] = {a * y[2 * i], a * y[2 * i + 1]};
        double score[2];
        if (hb_model_log_density(t->context, t->trainer.model, 1, z, &tau, NULL, &v[i], score))
            return 1;
        v[i] -= 2 * tau;
        for (int k = 0; k < 2 && gradient; k++) gradient[2 * i + (size_t)k] = a * score[k];
    }
    return 0;
}

/* Large balls: the residual of u by src/mean for the heat equation, u_0 - E u, is u_0 (1 -
 * e^-R). */
static void residuals_of_large_balls(void **state)
{
    (void)state;
    hb_train_settings s = small_settings(HB_LOSS_HB, HB_HEAD_ENERGY);
    s.time_fraction = 0.1;
    s.tau_min = 0.3;
    trial t;
    start(&t, &s, 2, 0, 0.7);
    loss_of(&t);
    const hb_micro_batch *micro = &t.trainer.micro_batches[0];
    hb_problem *heat;
    hb_mean_settings settings;
    hb_mean_settings_default(sizeof settings, &settings);
    settings.quantity = HB_QUANTITY_U;
    assert_ok(t.context,
              hb_problem_parse(t.context, "0, 0", "sqrt(2)", "gaussian(mean=0,var=1)", &heat));
    const hb_field field = {2, 1e-6, 1e6, frame_field, &t};
    double sum = 0;
    for (size_t i = 0; i < micro->anchors; i++) {
        const hb_noise_level *c = &micro->anchor.level[i];
        const double s0 = c->b / (2 * c->a * c->a), radius = sqrt(4 * M_PI * 0.1 * s0);
        const double y[2] = {micro->anchor.z[2 * i] / c->a, micro->anchor.z[2 * i + 1] / c->a};
        double residual, v0;
        assert_int_equal(frame_field(&t, 1, y, &s0, &v0, NULL), 0);
        assert_ok(t.context,
                  hb_mean_residual(t.context, heat, &field, &settings, 1, 1, y, s0, &radius,
                                   &(hb_residual_values){sizeof(hb_residual_values), &residual,
                                                         NULL, NULL, NULL}));
        const double R = -log(1 - residual * exp(-v0));
        sum += pow(R / (M_PI * 0.1 * 0.0397887357729738), 2) / (double)micro->anchors;
    }
    assert_true(sum > 1e-4);
    assert_relative(sqrt(micro->losses[HB_LOSS_RESIDUAL2]), sqrt(sum), 0.03);
    hb_problem_destroy(heat);
    finish(&t);
}

/* A network of one hidden layer whose last weight is the transpose of its first is a gradient by
 * its inputs; then the two forms of the residual of a score must agree: by second derivatives, and
 * by values on small balls. */
static void make_gradient(hb_model *model)
{
    hb_net_tensor first, last;
    hb_net_tensor_get(model->net, 0, &first);
    hb_net_tensor_get(model->net, 2, &last);
    for (int i = 0; i < last.rows; i++)
        for (int u = 0; u < last.columns; u++)
            model->parameters[last.offset + (size_t)(i * last.columns + u)] =
                0.4f * model->parameters[first.offset + (size_t)(u * first.columns + i)];
}

static void two_ways_to_the_residual_of_a_score(void **state)
{
    (void)state;
    for (int process = HB_PROCESS_OU; process <= HB_PROCESS_VE; process++)
        for (int dim = 1; dim <= 3; dim++) {
            double rms[2];
            for (int k = 0; k < 2; k++) {
                hb_train_settings s = small_settings(k ? HB_LOSS_HB : HB_LOSS_FP, HB_HEAD_SCORE);
                s.process = process;
                s.time_fraction = 0.01;
                s.depth = 1;
                s.tau_min = 0.1;
                trial t;
                start(&t, &s, dim, 0, 1);
                make_gradient(t.trainer.model);
                loss_of(&t);
                rms[k] = sqrt(t.trainer.micro_batches[0].losses[HB_LOSS_RESIDUAL2]);
                finish(&t);
            }
            assert_true(rms[0] > 0.05);
            assert_relative(rms[1], rms[0], 0.03);
        }
}

/* Over all rows the target is the score of the data as a mixture of points, which hb_mixture has
 * (with components of deviation 1e-5 for points). */
static void targets_are_scores_of_the_data(void **state)
{
    (void)state;
    hb_train_settings s = small_settings(HB_LOSS_DSM, HB_HEAD_ENERGY);
    s.target_rows = 4000;
    trial t;
    start(&t, &s, 2, 0, 0);
    static double weight[ROWS], covariance[ROWS][4];
    for (int i = 0; i < ROWS; i++) {
        weight[i] = 1;
        covariance[i][0] = covariance[i][3] = 1e-10;
    }
    hb_mixture *points;
    assert_ok(t.context,
              hb_mixture_create(t.context, 2, ROWS, weight, data, &covariance[0][0], &points));
    loss_of(&t);
    const hb_rows *rows = &t.trainer.micro_batches[0].rows;
    for (size_t i = 0; i < rows->n; i++) {
        double score[2];
        assert_ok(t.context, hb_mixture_score(t.context, points, HB_PROCESS_OU, 1, rows->z + 2 * i,
                                              rows->level[i].tau, NULL, score));
        for (int k = 0; k < 2; k++)
            assert_near((double)rows->noise[2 * i + (size_t)k], -sqrt(rows->level[i].b) * score[k],
                        1e-3);
    }
    hb_mixture_destroy(points);
    finish(&t);
}

/* With labels, only rows of the same one: with a label for each row the target is the row's own
 * noise. */
static void targets_keep_to_their_label(void **state)
{
    (void)state;
    hb_train_settings s = small_settings(HB_LOSS_DSM, HB_HEAD_ENERGY);
    s.label_dropout = 0;
    trial plain, averaged;
    start(&plain, &s, 2, ROWS, 0);
    s.target_rows = 4000;
    start(&averaged, &s, 2, ROWS, 0);
    loss_of(&plain);
    loss_of(&averaged);
    for (size_t i = 0; i < 2 * plain.trainer.micro_batches[0].rows.n; i++)
        assert_near((double)averaged.trainer.micro_batches[0].rows.noise[i],
                    (double)plain.trainer.micro_batches[0].rows.noise[i], 1e-5);
    finish(&plain);
    finish(&averaged);
}

/* The row of data that (z - spread e)/a is, or -1. */
static int row_of(const hb_rows *rows, size_t i, double reach)
{
    const hb_noise_level *c = &rows->level[i];
    for (int row = 0; row < ROWS; row++) {
        double miss = 0;
        for (size_t k = 0; k < 2; k++)
            miss += fabs(
                (rows->z[2 * i + k] - reach * sqrt(c->b) * (double)rows->noise[2 * i + k]) / c->a -
                data[2 * row + (int)k]);
        if (miss < 1e-9) return row;
    }
    return -1;
}

/* An epoch shows every row; tau is in its part of the range, of anchors in that of theirs; anchors are rows with more noise;
 * every step and both kinds of rows draw anew. */
static void draws_are_what_they_should_be(void **state)
{
    (void)state;
    hb_train_settings s = small_settings(HB_LOSS_HB, HB_HEAD_ENERGY);
    s.anchor_spread = 1.5;
    s.anchor_tau_min = 0.3;
    trial t;
    start(&t, &s, 2, 0, 0);
    hb_micro_batch *micro = &t.trainer.micro_batches[0];
    int seen[ROWS] = {0};
    double last[3] = {0};
    assert_int_equal(t.trainer.steps_per_epoch, 13);
    for (t.trainer.state.step = 13; t.trainer.state.step < 26; t.trainer.state.step++) {
        loss_of(&t);
        for (size_t i = 0; i < 32; i++) {
            const double part = 32 * log(micro->rows.level[i].tau / 0.02) / log(3 / 0.02);
            const int row = row_of(&micro->rows, i, 1);
            assert_true(part >= (double)i && part <= (double)i + 1);
            assert_true(row >= 0);
            seen[row]++;
        }
        for (size_t i = 0; i < 16; i++) {
            const double part = 16 * log(micro->anchor.level[i].tau / 0.3) / log(3 / 0.3);
            assert_true(part >= (double)i && part <= (double)i + 1);
            assert_true(row_of(&micro->anchor, i, sqrt(3.25)) >= 0);
        }
        const double now[3] = {(double)micro->rows.noise[0], (double)micro->anchor.noise[0],
                               micro->anchor.level[0].tau};
        assert_true(now[0] != now[1]);
        for (int k = 0; k < 3; k++) {
            assert_true(now[k] != last[k]);
            last[k] = now[k];
        }
    }
    for (int row = 0; row < ROWS; row++) assert_true(seen[row] == 1 || seen[row] == 2);
    finish(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_are_what_they_should_be),
        cmocka_unit_test(a_focus_moves_rows_to_the_middle),
        cmocka_unit_test(gradients_of_dsm),
        cmocka_unit_test(gradients_of_constraints),
        cmocka_unit_test(gradients_of_score_constraints),
        cmocka_unit_test(gradients_with_a_drift),
        cmocka_unit_test(anchors_count_at_small_tau),
        cmocka_unit_test(anchors_reach_down_to_tau_min),
        cmocka_unit_test(other_anchors_are_uniform),
        cmocka_unit_test(constraints_vanish_at_a_solution),
        cmocka_unit_test(the_papers_loss_does_not_vanish),
        cmocka_unit_test(three_ways_to_the_residual),
        cmocka_unit_test(rotated_nodes_see_the_residual),
        cmocka_unit_test(residuals_of_large_balls),
        cmocka_unit_test(two_ways_to_the_residual_of_a_score),
        cmocka_unit_test(targets_are_scores_of_the_data),
        cmocka_unit_test(targets_keep_to_their_label),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
