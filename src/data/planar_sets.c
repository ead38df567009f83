/* The eight planar sets of the 2-D study, each a Gaussian mixture.
 *
 * Three are mixtures by name, given by weight, mean, deviations along two axes and the angle of the
 * first. The others live near curves; components stand along the curve at equal distances h, round
 * with deviation s. A row of Gaussians of equal weight sums to a constant times
 *     1 + 2 exp(-2 pi^2 s^2/h^2) cos(2 pi x/h) + ...,
 * so s/h >= 0.73 keeps the ripple along the curve below 6e-5. Across the curve the distribution is
 * that of the curve plus noise N(0, s^2 I).
 *     ring         radius 2.5; the distance from the centre has deviation 0.12
 *     double_ring  radii 1.5 and 3, half of the mass each
 *     two_moon     half circles of radius 2, moved by (2, -1) against each other, around the origin
 *     two_spiral   r = theta/pi for theta from pi/2 to 7 pi/2, and the same turned by pi
 *     pinwheel     five Gaussians bent by a swirl (M. Johnson et al., Composing graphical models
 *                  with neural networks, 2016): (rho, t) ~ N((1, 0), diag(0.3^2, 0.1^2)) goes to
 *                  2 R(phi)(rho, t), phi = 2 pi k/5 + e^rho/4. N(1, 0.3^2) is cut into pieces of
 *                  standard deviation 0.06, on each of which the map is linearised
 * A number to reproduce: the ring has covariance (2.5^2/2 + 0.12^2) I = 3.1394 I. */
#include "base/context.h"
#include "data/mixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 512 }; /* components of a set */

typedef struct planar_set {
    size_t count;
    int modes;
    double weight[MOST], mean[MOST][2], covariance[MOST][2][2];
    int mode_of[MOST];
} planar_set;

static void planar_add(planar_set *set, int mode, double weight, double x, double y, double xx,
                       double xy, double yy)
{
    const size_t k = set->count++;
    set->weight[k] = weight;
    set->mean[k][0] = x;
    set->mean[k][1] = y;
    set->covariance[k][0][0] = xx;
    set->covariance[k][0][1] = set->covariance[k][1][0] = xy;
    set->covariance[k][1][1] = yy;
    set->mode_of[k] = mode;
    if (mode >= set->modes) set->modes = mode + 1;
}

/* ---- mixtures ---- */

typedef struct blob {
    double weight, x, y, first, second, angle; /* deviations; angle of the first axis in degrees */
} blob;

static void planar_add_blobs(planar_set *set, size_t n, const blob *blobs)
{
    for (size_t k = 0; k < n; k++) {
        const blob *b = &blobs[k];
        const double c = cos(b->angle * M_PI / 180), s = sin(b->angle * M_PI / 180);
        const double u = b->first * b->first, v = b->second * b->second;
        planar_add(set, (int)k, b->weight, b->x, b->y, u * c * c + v * s * s, (u - v) * c * s,
                   u * s * s + v * c * c);
    }
}

static void asymmetric_gmm(planar_set *set)
{
    static const blob blobs[] = {{0.4, -1.6, -1.2, 0.75, 0.45, 30},
                                 {0.3, 1.8, 1.0, 0.4, 0.4, 0},
                                 {0.2, -1.2, 2.0, 0.6, 0.25, -40},
                                 {0.1, 2.0, -2.0, 0.25, 0.25, 0}};
    planar_add_blobs(set, sizeof blobs / sizeof *blobs, blobs);
}

static void sparse_dense_gmm(planar_set *set)
{
    static const blob blobs[] = {{0.35, -1.2, 0.4, 0.2, 0.2, 0},
                                 {0.35, 0.4, -1.2, 0.2, 0.2, 0},
                                 {0.10, 2.2, 1.6, 0.6, 0.6, 0},
                                 {0.10, -2.2, -2.0, 0.6, 0.6, 0},
                                 {0.10, -0.4, 2.6, 0.4, 0.4, 0}};
    planar_add_blobs(set, sizeof blobs / sizeof *blobs, blobs);
}

static void elongated_gmm(planar_set *set)
{
    static const blob blobs[] = {{1, -1.0, 1.5, 1.0, 0.125, 30},
                                 {1, 0.6, -0.1, 1.0, 0.125, 30},
                                 {1, 1.0, -2.0, 1.0, 0.125, -30}};
    planar_add_blobs(set, sizeof blobs / sizeof *blobs, blobs);
}

/* ---- curves ---- */

/* n round components at equal distances on an arc of angles from .. to, of total weight
 * `weight`. */
static void planar_add_arc(planar_set *set, int mode, double weight, double x, double y,
                           double radius, double from, double to, int n, double sd)
{
    for (int i = 0; i < n; i++) {
        const double angle = from + (to - from) * (i + 0.5) / n;
        planar_add(set, mode, weight / n, x + radius * cos(angle), y + radius * sin(angle), sd * sd,
                   0, sd * sd);
    }
}

static void ring(planar_set *set)
{
    planar_add_arc(set, 0, 1, 0, 0, 2.5, 0, 2 * M_PI, 96, 0.12);
}

static void double_ring(planar_set *set)
{
    planar_add_arc(set, 0, 0.5, 0, 0, 1.5, 0, 2 * M_PI, 60, 0.12);
    planar_add_arc(set, 1, 0.5, 0, 0, 3.0, 0, 2 * M_PI, 120, 0.12);
}

static void two_moon(planar_set *set)
{
    planar_add_arc(set, 0, 0.5, -1, -0.5, 2, 0, M_PI, 40, 0.12);
    planar_add_arc(set, 1, 0.5, 1, 0.5, 2, M_PI, 2 * M_PI, 40, 0.12);
}

/* Length of r = theta from 0 to theta, and the theta of a length by Newton's method. */
static double spiral_length(double theta)
{
    return 0.5 * (theta * sqrt(1 + theta * theta) + asinh(theta));
}

static double spiral_angle(double length)
{
    double theta = sqrt(2 * length); // right for long arms, and above the root
    for (int i = 0; i < 20; i++) theta -= (spiral_length(theta) - length) / sqrt(1 + theta * theta);
    return theta;
}

static void two_spiral(planar_set *set)
{
    enum { PER_ARM = 144 };
    const double sd = 0.1, from = spiral_length(0.5 * M_PI), to = spiral_length(3.5 * M_PI);
    for (int arm = 0; arm < 2; arm++)
        for (int i = 0; i < PER_ARM; i++) {
            const double theta = spiral_angle(from + (to - from) * (i + 0.5) / PER_ARM);
            const double radius = theta / M_PI, angle = theta + arm * M_PI;
            planar_add(set, arm, 1, radius * cos(angle), radius * sin(angle), sd * sd, 0, sd * sd);
        }
}

static void pinwheel(planar_set *set)
{
    enum { ARMS = 5, HALF = 12 };
    const double scale = 2, radial = 0.3, across = 0.1, rate = 0.25, piece = 0.06, step = 0.08;
    const double spread = radial * radial - piece * piece; // the variance that the pieces leave
    for (int arm = 0; arm < ARMS; arm++)
        for (int i = -HALF; i <= HALF; i++) {
            const double rho = 1 + i * step, turn = rate * exp(rho);
            const double phi = 2 * M_PI * arm / ARMS + turn, c = cos(phi), s = sin(phi);
            const double along[2] = {scale * (c - rho * turn * s), scale * (s + rho * turn * c)};
            const double side[2] = {-scale * s, scale * c};
            const double u = piece * piece, v = across * across;
            planar_add(set, arm, exp(-0.5 * (rho - 1) * (rho - 1) / spread), scale * rho * c,
                       scale * rho * s, u * along[0] * along[0] + v * side[0] * side[0],
                       u * along[0] * along[1] + v * side[0] * side[1],
                       u * along[1] * along[1] + v * side[1] * side[1]);
        }
}

/* ---- the table ---- */

typedef struct planar_entry {
    const char *description;
    void (*make)(planar_set *set);
} planar_entry;

static const char *const names[] = {
    "asymmetric_gmm", "sparse_dense_gmm", "elongated_gmm", "two_spiral", "ring",
    "pinwheel",       "two_moon",         "double_ring",   NULL};
static const planar_entry entries[] = {
    {"four Gaussians of different weight, size and direction", asymmetric_gmm},
    {"two small dense Gaussians with 70 % of the mass, three wide sparse ones", sparse_dense_gmm},
    {"three Gaussians eight times as long as wide", elongated_gmm},
    {"two arms of a spiral, one turn and a half each", two_spiral},
    {"a ring of radius 2.5 and radial standard deviation 0.12", ring},
    {"five arms bent by a swirl", pinwheel},
    {"two half circles, one inside the other's opening", two_moon},
    {"two rings of radius 1.5 and 3 around one centre", double_ring}};

const char *const *hb_data_names(void)
{
    return names;
}

static const planar_entry *find_entry(const char *name)
{
    for (size_t i = 0; name && names[i]; i++)
        if (strcmp(names[i], name) == 0) return &entries[i];
    return NULL;
}

const char *hb_data_describe(const char *name)
{
    const planar_entry *entry = find_entry(name);
    return entry ? entry->description : NULL;
}

static hb_status refuse_name(hb_context *context, const char *name)
{
    char list[256];
    size_t used = 0;
    for (size_t i = 0; names[i] && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                 i == 0         ? ""
                                 : names[i + 1] ? ", "
                                                : " and ",
                                 names[i]);
    return hb_fail(context, HB_ERROR_ARGUMENT, "there is no set called %.60s; the sets are %s",
                   name ? name : "(null)", list);
}

hb_status hb_mixture_named(hb_context *context, const char *name, hb_mixture **out)
{
    const planar_entry *entry = find_entry(name);
    if (!entry) return refuse_name(context, name);
    planar_set *set;
    HB_TRY(HB_NEW(context, set, 1));
    set->count = 0;
    set->modes = 0;
    entry->make(set);
    const hb_status status = hb_mixture_create(context, 2, set->count, set->weight, set->mean[0],
                                               set->covariance[0][0], out);
    if (status == HB_OK) {
        (*out)->modes = set->modes;
        memcpy((*out)->mode_of, set->mode_of, set->count * sizeof *set->mode_of);
    }
    hb_release(context, set);
    return status;
}
