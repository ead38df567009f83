/* problem/transform/transform_parts.h: what the files that make a transform share: a noise taken
 * apart, and the drift in y. */
#pragma once

#include "formula/graph.h"
#include "problem/noise_text.h"
#include "problem/problem_parts.h"
#include "problem/transform/transform.h"

enum {
    HB_TRANSFORM_MOST_DIM = 200
}; /* up to which formulas of all second derivatives are looked at */

typedef struct hb_transform_building {
    hb_context *context;
    const hb_problem_settings *s;
    hb_problem *problem;
    int d, m;
    hb_drift typed;       /* in x; its graph holds the noise too */
    hb_node *f;           // (d), of typed.graph; NULL: a callback
    hb_noise_nodes noise; /* of typed.graph */
    hb_transform *transform;
    hb_graph *to; /* in y */
    hb_node *M;   // (d, m), formulas in t, of `to`
    hb_node *L;   // (d, d), of `to`
    hb_node g;    /* of `to` */
} hb_transform_building;

/* transform_find.c: the coordinate of each axis (*field: the noise cannot be taken apart); M(t)
 * in `to`; then L, g, and what the noise of y is. */
hb_status hb_transform_read_axes(hb_transform_building *b, int *field);
hb_status hb_transform_read_matrix(hb_transform_building *b);
hb_status hb_transform_find_coordinates(hb_transform_building *b, hb_noise_kind *kind);
hb_node hb_transform_product_of_rows(const hb_transform_building *b, int i, int j); /* (M M')_ij */

/* transform_drift.c: the drift of z as formulas out[d] in y (or in z itself), x[d] scratch; from
 * it that of y, in place; and components that are linear written so, origin[d] scratch. */
hb_status hb_transform_drift_of_z(hb_transform_building *b, int with_matrix, hb_node *x,
                                  hb_node *out);
hb_status hb_transform_drift_of_y(hb_transform_building *b, hb_node *f);
hb_status hb_transform_normalise(hb_transform_building *b, hb_node *origin, hb_node *f);
