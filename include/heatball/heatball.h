/* heatball/heatball.h: everything. See base.h for the conventions. */
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
