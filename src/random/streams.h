/* random/streams.h: every random stream that the library takes for itself, in one list.
 *
 * A draw is a function of (seed, stream, index). Two uses of one seed must not share a stream, or
 * they have the same numbers; so each use has streams of its own, first .. first + count - 1. A new
 * use is a new line; tests/random/test_random.c checks that no two meet. What is taken must not
 * move: results are bits. Streams from 2^63 on are the library's own; callers have the others. */
#pragma once

#include <stdint.h>

/* X(name, first, count) */
/* clang-format off */
#define HB_STREAMS(X) \
    X(HEAT_BALL, 0x8000000000000000, UINT64_C(3) << 60) /* draws of a ball */\
    X(WEIGHTS, 0xB000000000000000, 1 << 20) /* a network's weights at the start; the layer */      \
    X(ROTATION, 0xC000000000000000, 1) /* of a cubature rule */                                    \
    X(GRID_BOX, 0xC000000067726964, 1) /* trajectories that find the box of a grid */              \
    X(FACTS, 0xD000000000000000, 1) /* where declared facts of a drift are tried */                \
    X(START_CHOICE, 0xE000000000000001, 1) /* which part of an initial density */                  \
    X(START_VALUES, 0xE000000000000002, 1) /* a draw of it */                                      \
    X(START_ATTEMPT, 0xE000000100000000, 1 << 20) /* draws in a box; the attempt */\
    X(MEAN_VALUE, 0xE570000000000000, 4) /* averages over heat balls */                            \
    X(BINARIZE, 0xF0000062696E6100, 1) /* images to black and white */                             \
    X(CERTIFY, 0xF000636572740000, 1 << 16) /* certify/certify_run.h */\
    X(CURL, 0xF000006375726C00, 1) /* probes of a score's curl */                                  \
    X(CLASSIFIER, 0xF00000636C617300, 1) /* shifts of the images that a classifier learns from */  \
    X(DEQUANTISE, 0xF000006465717500, 1) /* noise within a grey level */                           \
    X(DIVERGENCE, 0xF000006469762000, 1) /* probes of a score's divergence */                      \
    X(MIXTURE, 0xF000006D69787400, 256) /* draws of a mixture; the use */                          \
    X(ORDER, 0xF000006F72647200, 1) /* rows in a random order */                                   \
    X(TRAIN, 0xF000747261696E00, 256) /* draws of a training step; train/trainer.h */              \
    X(GENERATE, 0xF67656E000000000, UINT64_C(1) << 36) /* a sampler; the step and its use */       \
    X(GUIDE, 0xF975696465000000, 16) /* guided walks; the use */ \
    X(PATHS, 0xF9A0000000000000, UINT64_C(1) << 52) /* trajectories; the first of a block */       \
    X(PARTICLES, 0xF9C0000000000000, 1) /* the seed of particles */                                \
    X(PILOT, 0xF9D0000000000000, UINT64_C(1) << 52) /* the start of a pilot's kernels; the point */\
    X(UNSEEN, 0xF9E0000000000000, 1) /* trajectories too rare to be seen */                        \
    X(WALKS, 0xFA10000000000000, UINT64_C(1) << 52) /* walks; twice the step */
/* clang-format on */

/* HB_STREAM_<name>: the first of them. */
#define HB_DECLARE_STREAM(name, first, count)                                                      \
    static const uint64_t HB_STREAM_##name = UINT64_C(first);
HB_STREAMS(HB_DECLARE_STREAM)
#undef HB_DECLARE_STREAM
