/* formula/fingerprint.h: are two formulas the same? */
#pragma once

#include "formula/expression.h"

/* What is read where a formula has no fingerprint, because it divides by what is 0. */
#define HB_NO_FINGERPRINT UINT64_MAX

/* Fingerprints of the nodes 0 .. top, fingerprint[top + 1]. Formulas that the rules of algebra
 * and those listed in fingerprint.c make equal have the same; others differ. */
void hb_graph_fingerprints(const hb_graph *graph, hb_node top, uint64_t *fingerprint);
