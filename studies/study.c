/* The list of studies; reproduce.c runs them all.
 *
 * To add a study: write studies/NAME/NAME_study.c with an hb_study and add it to STUDIES here. The
 * page shows whatever its NAME.json says (report_page.c). */
#include "study.h"
#include "bistable/bistable.h"
#include "density/density.h"
#include "dimension/dimension.h"
#include "drift/drift.h"
#include "identities/identities.h"
#include "mnist/mnist.h"
#include "planar/planar.h"
#include "sampler/sampler.h"

#include <string.h>

static const hb_study *const STUDIES[] = {
    &hb_identities_study, &hb_sampler_study,   &hb_bistable_study,
    &hb_planar_study,     &hb_dimension_study, &hb_density_study,
    &hb_drift_study,      &hb_mnist_study,     NULL};

const hb_study *const *hb_study_list(void)
{
    return STUDIES;
}

const hb_study *hb_study_find(const char *name)
{
    for (const hb_study *const *study = STUDIES; *study; study++)
        if (strcmp((*study)->name, name) == 0) return *study;
    return NULL;
}
