/* problem/noise_text.h: the noise as typed, as nodes of the drift's graph. */
#pragma once

#include "formula/expression.h"

typedef struct hb_noise_nodes {
    int rows, columns;
    hb_node *G; // (rows, columns)
} hb_noise_nodes;

/* 1: the text is one formula g(t) without x for all axes. parameters: as in the settings. */
int hb_noise_text_is_plain(hb_context *context, const char *text, int n_parameters,
                           const char *const *names, const double *values);
/* Into a graph that has the drift's variables and parameters. G: release by hb_release. */
hb_status hb_noise_text_parse(hb_context *context, const char *text, int dim, hb_graph *graph,
                              hb_noise_nodes *out);
/* Ito's drift of a Stratonovich equation, in place: f_i += 1/2 sum_jk G_jk dG_ik/dx_j. */
hb_status hb_noise_convert(hb_graph *graph, const hb_noise_nodes *noise, hb_node *f);
