/* The sampler study's tables of the page: what the estimators give in each dimension, and how far the
 * draws are from the two limit laws. The paper shows curves only, so no column is its own. */
#include "sampler.h"

#include <math.h>

static json_t *variance_text(double value)
{
    return value < 1000 ? hb_study_text("%.4g", value) : hb_study_text("%.0f", value);
}

static json_t *dimension_row(const hb_sampler_row *row)
{
    return json_pack(
        "[o,o,o,o,o,o,o,o,o]", hb_study_text("%.0f", row->dim),
        hb_study_text("%.3f", row->direct_mean), hb_study_text("%.4g", row->direct_variance),
        hb_study_text("%.4g", row->direct_variance_exact), variance_text(row->uniform_variance),
        variance_text(row->uniform_variance_exact), hb_study_text("%.1f", row->uniform_ess),
        hb_study_text("%.1f", row->uniform_ess_exact),
        hb_study_text("%.4f", row->cylinder_ratio / sqrt(row->dim)));
}

static json_t *law_row(const hb_sampler_row *row)
{
    return json_pack("[o,o,o,o,o,o,o]", hb_study_text("%.0f", row->dim),
                     hb_study_text("%.4f", row->radial_ks_limit),
                     hb_study_text("%.4f", row->radial_limit_distance),
                     hb_study_text("%.4f", row->temporal_ks_limit),
                     hb_study_text("%.4f", row->temporal_limit_distance),
                     hb_study_text("%.4f", fmax(row->radial_ks_exact, row->temporal_ks_exact)),
                     hb_study_text("%.4g", row->temporal_variance));
}

void hb_sampler_tables(json_t *root, const hb_sampler_row *rows)
{
    json_t *dimensions = json_array(), *laws = json_array();
    for (int i = 0; i < SAMPLER_DIMS; i++) {
        json_array_append_new(dimensions, dimension_row(&rows[i]));
        json_array_append_new(laws, law_row(&rows[i]));
    }
    hb_study_table(root, "sampler_laws", laws,
                   HB_FILL(SAMPLER_DRAWS, SAMPLER_KS_MEAN / sqrt(SAMPLER_DRAWS),
                           2 / (16 * M_PI * M_PI * M_E * M_E)));
    hb_study_table(root, "sampler_dimensions", dimensions,
                   HB_FILL(SAMPLER_N, SAMPLER_M, M_E / (2 * sqrt(M_PI))));
}
