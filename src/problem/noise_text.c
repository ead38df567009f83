/* The noise as typed: g; g_1, ..., g_d; or the rows of a matrix, by semicolons.
 *
 *     0.5                     G = 0.5 I
 *     0.5, 2                  G = diag(0.5, 2)
 *     1, 0; 0.3, 0.8          G, d rows, any number of columns
 *     0.2*x[i]                one for each axis: i is the axis
 *     0.2*x[i];               one row for all axes, each in its own i: one noise for all
 * Ito's drift of a Stratonovich equation is f_i + 1/2 sum_jk G_jk dG_ik/dx_j: P. E. Kloeden, E.
 * Platen, Numerical Solution of Stochastic Differential Equations, 1992, section 4.9.
 * A number to reproduce: dX = X o dW has Ito's drift X/2. */
#include "problem/noise_text.h"
#include "base/context.h"
#include "base/memory.h"
#include "formula/graph.h"

#include <stdio.h>
#include <string.h>

enum { MOST_ROWS = 2048 }; /* so that numbers of entries stay far below INT_MAX */

int hb_noise_text_is_plain(hb_context *context, const char *text, int n_parameters,
                           const char *const *names, const double *values)
{
    hb_graph *graph = NULL;
    hb_node g;
    int count = 0, plain;
    char *pieces = NULL;
    if (!text) return 1;
    if (strchr(text, ';')) return 0;
    hb_status status = hb_graph_split(context, text, &count, &pieces);
    hb_release(context, pieces);
    if (status != HB_OK || count != 1) return 0;
    status = hb_graph_create(context, 1, &graph);
    if (status == HB_OK && (n_parameters == 0 || (names && values)))
        status = hb_graph_parameters(graph, n_parameters, names, values);
    if (status == HB_OK) status = hb_graph_parse(graph, text, "noise", 0, &g);
    plain = status == HB_OK && !hb_graph_depends(graph, g, 1);
    hb_graph_destroy(graph);
    return plain;
}

/* ---- rows ---- */

/* Where the row that begins at `text` ends: a semicolon outside of parentheses, or the end. */
static const char *end_of_row(const char *text)
{
    int depth = 0;
    for (; *text; text++) {
        depth += (*text == '(' || *text == '[') - (*text == ')' || *text == ']');
        if (*text == ';' && depth <= 0) break;
    }
    return text;
}

static int is_blank(const char *from, const char *to)
{
    while (from < to && strchr(" \t\r\n", *from)) from++;
    return from == to;
}

/* Rows that are not blank; repeats: the only one ends with a semicolon. */
static int noise_count_rows(const char *text, int *repeats)
{
    int rows = 0, semicolons = 0;
    for (const char *at = text;; at++) {
        const char *end = end_of_row(at);
        rows += !is_blank(at, end);
        if (!*end) break;
        semicolons++;
        at = end;
    }
    *repeats = rows == 1 && semicolons == 1;
    return rows;
}

/* The entries of row `row` (1 .. rows) from their texts, nodes[columns]. */
static hb_status parse_row(hb_graph *graph, const char *pieces, int row, int columns,
                           hb_node *nodes)
{
    for (int k = 0; k < columns; k++) {
        char what[64];
        snprintf(what, sizeof what, "noise, row %d, column %d", row, k + 1);
        HB_TRY(hb_graph_parse(graph, pieces, what, row, nodes + k));
        pieces += strlen(pieces) + 1;
    }
    return HB_OK;
}

/* The text of one row, cut at its commas. */
static hb_status split_row(hb_context *context, const char *begin, const char *end, int *count,
                           char **pieces)
{
    char *copy;
    const size_t length = (size_t)(end - begin);
    HB_TRY(HB_NEW_CLEARED(context, copy, length + 1));
    memcpy(copy, begin, length);
    const hb_status status = hb_graph_split(context, copy, count, pieces);
    hb_release(context, copy);
    return status;
}

static hb_status allocate_nodes(hb_context *context, int rows, int columns, hb_noise_nodes *out)
{
    HB_CHECK(context, rows <= MOST_ROWS && columns >= 1 && columns <= MOST_ROWS, HB_ERROR_ARGUMENT,
             "the noise is a matrix of %d rows and %d columns; there may be %d of each, and more "
             "where the noise is one formula in t for all axes",
             rows, columns, MOST_ROWS);
    *out = (hb_noise_nodes){.rows = rows, .columns = columns};
    return HB_NEW(context, out->G, (size_t)rows * (size_t)columns);
}

/* One formula, or one for each axis: a diagonal matrix. */
static hb_status parse_diagonal(hb_context *context, const char *text, int dim, hb_graph *graph,
                                hb_noise_nodes *out)
{
    int count;
    char *pieces;
    hb_node zero;
    HB_TRY(split_row(context, text, text + strlen(text), &count, &pieces));
    hb_status status = HB_OK;
    if (count != 1 && count != dim)
        status =
            hb_fail(context, HB_ERROR_ARGUMENT,
                    "the noise has %d entries and dim is %d; give one, one for each axis, or a "
                    "matrix, its rows by semicolons",
                    count, dim);
    if (status == HB_OK) status = allocate_nodes(context, dim, dim, out);
    if (status == HB_OK) status = hb_graph_constant(graph, 0, &zero);
    for (int k = 0; k < dim * dim && status == HB_OK; k++) out->G[k] = zero;
    const char *piece = pieces;
    for (int i = 0; i < dim && status == HB_OK; i++) {
        char what[48];
        snprintf(what, sizeof what, "noise of axis %d", i + 1);
        if (count == 1) snprintf(what, sizeof what, "noise");
        status = hb_graph_parse(graph, piece, what, i + 1, out->G + (size_t)i * (size_t)dim + i);
        if (count > 1) piece += strlen(piece) + 1;
    }
    hb_release(context, pieces);
    return status;
}

static hb_status parse_matrix(hb_context *context, const char *text, int dim, hb_graph *graph,
                              hb_noise_nodes *out)
{
    int repeats, row = 0;
    const int rows = noise_count_rows(text, &repeats);
    HB_CHECK(context, rows == dim || repeats, HB_ERROR_ARGUMENT,
             "the noise has %d row%s and dim is %d; give %d rows by semicolons, or one that ends "
             "with a semicolon and stands for all",
             rows, rows == 1 ? "" : "s", dim, dim);
    for (const char *at = text; row < dim;) {
        const char *end = end_of_row(at);
        int count;
        char *pieces;
        if (is_blank(at, end)) {
            at = end + 1;
            continue;
        }
        HB_TRY(split_row(context, at, end, &count, &pieces));
        hb_status status = out->G ? HB_OK : allocate_nodes(context, dim, count, out);
        if (status == HB_OK && count != out->columns)
            status = hb_fail(context, HB_ERROR_ARGUMENT,
                             "row %d of the noise has %d entries and the first one %d; all rows "
                             "need the same number",
                             row + 1, count, out->columns);
        if (status == HB_OK)
            status = parse_row(graph, pieces, row + 1, count, out->G + row * out->columns);
        hb_release(context, pieces);
        if (status != HB_OK) return status;
        row++;
        if (!repeats) at = *end ? end + 1 : end;
    }
    return HB_OK;
}

hb_status hb_noise_text_parse(hb_context *context, const char *text, int dim, hb_graph *graph,
                              hb_noise_nodes *out)
{
    *out = (hb_noise_nodes){0};
    const hb_status status =
        (*end_of_row(text) ? parse_matrix : parse_diagonal)(context, text, dim, graph, out);
    if (status == HB_OK) return HB_OK;
    hb_release(context, out->G);
    *out = (hb_noise_nodes){0};
    return status;
}

/* ---- conventions ---- */

hb_status hb_noise_convert(hb_graph *graph, const hb_noise_nodes *noise, hb_node *f)
{
    const int m = noise->columns;
    for (int i = 0; i < noise->rows; i++)
        for (int j = 0; j < noise->rows; j++)
            for (int k = 0; k < m; k++) {
                hb_node slope, term = noise->G[i * m + k];
                if (!hb_graph_depends(graph, term, j + 1)) continue;
                HB_TRY(hb_graph_derivative(graph, term, j + 1, &slope));
                term = hb_build_scaled(graph, 0.5,
                                       hb_build_multiply(graph, noise->G[j * m + k], slope));
                HB_TRY(hb_graph_finish(graph, hb_build_add(graph, f[i], term), &f[i]));
            }
    return HB_OK;
}
