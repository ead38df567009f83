/* heatball/heatball.h: the whole library in one header.
 * First tier: for users. Start here.
 *
 * heatball computes the density and the score (the gradient of the log-density) of an SDE at
 * points, each with an error; it learns scores from data, draws samples from them and tests them.
 * Five calls do this. Each has a header of its own with its settings, for which NULL means the
 * defaults, and takes a context, which holds threads, callbacks and the message of a call that
 * failed (base.h).
 *
 * The blocks below make one program, in this order; tests/tree/test_examples.py builds and runs it.
 * HB_TRY returns the status of a call that fails. Longer programs are in examples/c.
 *
 *     hb_context *ctx;
 *     HB_TRY(hb_context_create(NULL, &ctx));
 *
 * 1. hb_problem_parse (problem.h) makes a problem of drift, noise and initial density as text:
 *    dx = (x - x^3) dt + dW from N(0, 1). hb_problem_create takes callbacks, parameters and noise
 *    matrices too, hb_problem_load a problem file.
 *
 *     hb_problem *problem;
 *     HB_TRY(hb_problem_parse(ctx, "x - x^3", "1", "gaussian(mean=0, var=1)", &problem));
 *
 * 2. hb_solve (solve.h) gives density, log-density, score and entropy density at points. It chooses
 *    the method: closed forms, a grid in one to three dimensions, trajectories and walks above. An
 *    error that cannot be trusted is infinite, and hb_solution_warning says why.
 *
 *     const double points[] = {-1, 0, 0.5};
 *     hb_solution *solution;
 *     HB_TRY(hb_solve(ctx, problem, NULL, 3, points, &solution));
 *     const double *u = hb_solution_values(solution, HB_COLUMN_DENSITY);
 *     const double *e = hb_solution_values(solution, HB_COLUMN_DENSITY_ERROR);
 *     for (int i = 0; i < 3; i++) printf("p(%g) = %.6f +- %.1e\n", points[i], u[i], e[i]);
 *     hb_solution_destroy(solution);
 *     hb_problem_destroy(problem);
 *
 * 3. hb_train (train.h) learns the score of rows x[n][dim] by denoising score matching, by default
 *    with the heat-ball identity as a constraint. The same rows, settings and kind of processor
 *    give bit-identical weights on any number of threads. model.h evaluates, saves, loads models.
 *
 *     static double x[2000][2];
 *     hb_mixture *ring;
 *     HB_TRY(hb_mixture_named(ctx, "ring", &ring));
 *     HB_TRY(hb_mixture_sample(ctx, ring, 1, 0, 2000, x[0], NULL));
 *     hb_train_settings training;
 *     hb_train_settings_default(sizeof training, &training);
 *     training.width = 32;
 *     training.steps = 300;
 *     hb_model *model;
 *     HB_TRY(hb_train(ctx, &training, 2, 0, 2000, x[0], NULL, &model));
 *
 * 4. hb_model_generate (generate.h) draws samples first .. first+n-1 of a model by the reverse-time
 *    SDE or the probability-flow ODE. Sample i depends on the seed and on i alone. hb_generate does
 *    it for the score of a callback, hb_model_likelihood gives the density of rows.
 *
 *     static double made[500][2];
 *     HB_TRY(hb_model_generate(ctx, model, NULL, 0, 500, NULL, made[0]));
 *     printf("the first sample is (%.3f, %.3f)\n", made[0][0], made[0][1]);
 *
 * 5. hb_certify (certify.h) tests any score against rows that it has not seen: every line is a
 *    number that is 0 for the true score, with an error and a p-value. hb_certify_model does it for
 *    a model.
 *
 *     HB_TRY(hb_mixture_sample(ctx, ring, 1, 2000, 2000, x[0], NULL));
 *     hb_certificate *certificate;
 *     HB_TRY(hb_certify_model(ctx, model, NULL, -1, 2000, x[0], &certificate));
 *     printf("%s\n", hb_certificate_summary(certificate));
 *     hb_certificate_destroy(certificate);
 *     hb_model_destroy(model);
 *     hb_mixture_destroy(ring);
 *     hb_context_destroy(ctx);
 *
 * First tier, for users:
 *     base.h      status, context; the conventions of all headers
 *     problem.h   SDEs, noise, initial densities, time change
 *     solve.h     density and score at points
 *     train.h     learning a score            model.h     what was learnt, and its files
 *     generate.h  samples and likelihoods     certify.h   tests of a score
 *     data.h      rows to learn from; Gaussian mixtures with exact scores
 *     ball.h      heat balls: constants, kernels, exact samplers, cubature
 *     balls.h     heat balls as nodes, for a loss of your own in any framework
 * Second tier, for bindings and tools:
 *     formula.h   expressions                 field.h     ln u as a callback
 *     grid.h      Fokker-Planck on a grid     estimate.h  averages over heat balls on a field
 *     budget.h    well-posedness bound        random.h    counter-based random numbers
 *     images.h    sets of images              classify.h  a classifier of rows
 *     metrics.h   of scores and samples       settings.h  fields of settings as tables
 *     file.h      files whole or absent       plot.h      figures
 *     team.h      process groups              mpi.h       process groups by MPI (not included here)
 *     compat.h    names of 0.2, judge.h: metrics.h by its name of 0.2 (not included here) */
#ifndef HEATBALL_HEATBALL_H
#define HEATBALL_HEATBALL_H

#include <heatball/ball.h>
#include <heatball/balls.h>
#include <heatball/base.h>
#include <heatball/budget.h>
#include <heatball/certify.h>
#include <heatball/classify.h>
#include <heatball/data.h>
#include <heatball/estimate.h>
#include <heatball/field.h>
#include <heatball/file.h>
#include <heatball/formula.h>
#include <heatball/generate.h>
#include <heatball/grid.h>
#include <heatball/images.h>
#include <heatball/metrics.h>
#include <heatball/model.h>
#include <heatball/plot.h>
#include <heatball/problem.h>
#include <heatball/random.h>
#include <heatball/settings.h>
#include <heatball/solve.h>
#include <heatball/team.h>
#include <heatball/train.h>

#endif
