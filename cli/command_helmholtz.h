/* cli/command_helmholtz.h: a planar field on a lattice, of a model's score or of a file, and its
 * split. */
#pragma once

#include "session.h"

#include <heatball/plot.h>

enum { HB_HELMHOLTZ_POINTS = 129 }; /* per side, of a model without --points */

typedef struct hb_helmholtz_values {
    const char *source, *box, *directory;
    hb_reals spacing;
    double tau;
    int points, label, json;
} hb_helmholtz_values;

typedef struct hb_helmholtz_field {
    hb_lattice lattice;
    int has_model, head;                 /* head: hb_head of the model */
    double *field, *gradient, *rotation; // (ny, nx, 2); field owns the block
    double mean[2];                      /* field - mean = gradient + rotation */
    double gradient_mass, rotation_mass; /* fractions of the sum of their squares */
    double gradient_rms, rotation_rms;   /* root mean square lengths over the lattice */
    double rms;                          /* of field - mean */
} hb_helmholtz_field;

/* Reads or evaluates the field and splits it. Destroy in either case. */
hb_status hb_helmholtz_field_create(hb_session *session, const hb_helmholtz_values *v,
                                    hb_helmholtz_field *out);
void hb_helmholtz_field_destroy(hb_helmholtz_field *field);

/* Writes stem.svg and stem.png with the .csv and .gp behind them. */
hb_status hb_helmholtz_figure_write(hb_session *session, const hb_helmholtz_field *field,
                                    double tau, const char *stem);
