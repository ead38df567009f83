/* Langevin's steps that keep a density: proposals with a gradient, accepted by Metropolis' rule.
 *
 *     y = x + e g(x) + sqrt(2 e) z,       accepted with probability min(1, e^r),
 *     r = v(y) - v(x) + ( |y - x - e g(x)|^2 - |x - y - e g(y)|^2 )/(4 e).
 * Whatever g is, e^v is kept exactly; g = grad v makes most steps accepted. Without the rule
 * (adjusted = 0) a normal distribution of variance w becomes one of w/(1 - e/2w). Row i has its own
 * normals and its own uniform, those of its number in the stream: a row is alone.
 * A number to reproduce: g = 0 and v flat: every step is accepted, and y - x has the variance 2 e.
 *
 * G. O. Roberts and R. L. Tweedie, Bernoulli 2, 1996. */
#include "generate/reverse.h"
#include "random/fill.h"

#include <math.h>
#include <string.h>

hb_status hb_metropolis_create(hb_metropolis *m)
{
    const size_t n = m->n, size = n * m->dim;
    return HB_WORKSPACE(m->context, &m->work, HB_ARRAY(m->value, n), HB_ARRAY(m->gradient, size),
                        HB_ARRAY(m->y, size), HB_ARRAY(m->value_y, n),
                        HB_ARRAY(m->gradient_y, size), HB_ARRAY(m->noise, size),
                        HB_ARRAY(m->uniform, n));
}

/* r of row i. */
static double metropolis_log_ratio(const hb_metropolis *m, size_t i)
{
    double there = 0, back = 0;
    for (size_t k = i * m->dim; k < (i + 1) * m->dim; k++) {
        const double step = m->y[k] - m->x[k];
        there += pow(step - m->step * m->gradient[k], 2);
        back += pow(step + m->step * m->gradient_y[k], 2);
    }
    return m->value_y[i] - m->value[i] + (there - back) / (4 * m->step);
}

static void metropolis_accept(hb_metropolis *m, size_t i)
{
    const size_t d = m->dim;
    m->value[i] = m->value_y[i];
    memcpy(m->x + i * d, m->y + i * d, d * sizeof *m->x);
    memcpy(m->gradient + i * d, m->gradient_y + i * d, d * sizeof *m->x);
}

hb_status hb_metropolis_move(hb_metropolis *m, uint64_t stream)
{
    const hb_vector_kernels *kernels = hb_vector_kernels_of(m->context->isa);
    const size_t size = m->n * m->dim;
    const double spread = sqrt(2 * m->step);
    hb_fill_normal(kernels, m->seed, stream, m->first * m->dim, size, m->noise);
    hb_fill_uniform(kernels, m->seed, stream + 1, m->first, m->n, m->uniform);
    for (size_t k = 0; k < size; k++)
        m->y[k] = m->x[k] + m->step * m->gradient[k] + spread * m->noise[k];
    HB_TRY(m->target(m->user, m->n, m->y, m->value_y, m->gradient_y));
    for (size_t i = 0; i < m->n; i++)
        if (!m->adjusted || log(m->uniform[i]) < metropolis_log_ratio(m, i))
            metropolis_accept(m, i);
    return HB_OK;
}
