/* The paper's sections and the list of corrections, in our words: the only text of the page that does
 * not come from the studies. It holds no results. */
#include "report_plan.h"

const hb_page_section hb_page_sections[] = {
    {"1", "What the paper sets out to show", ""},
    {"2", "The process and its equation", ""},
    {"2.1", "From the process to a heat equation with a source",
     "The density of the process solves the Fokker–Planck equation; in the right time it is the "
     "heat "
     "equation with a source on its right-hand side."},
    {"2.2", "Two parts of the drift",
     "The Helmholtz decomposition: a gradient, which has all of the divergence, and a rest without "
     "divergence."},
    {"2.3", "When there is a solution, and for how long",
     "Conditions on the drift and on the first density under which a solution exists on a short "
     "time window."},
    {"3", "The heat ball and its mean values", ""},
    {"3.1", "The heat ball",
     "The region of space and past time around a point that replaces the ball of harmonic "
     "functions."},
    {"3.2", "Balls of growing radius",
     "How the mean over a heat ball changes with its radius, and what it is at radius zero."},
    {"3.3", "A hierarchy of mean values",
     "The density u, its logarithm, its entropy density u ln u and the score each solve a heat "
     "equation with a "
     "source of their own, so each is a mean over a heat ball plus a mean of that source."},
    {"3.4", "Small balls, and denoising score matching",
     "What the identities become when the radius goes to zero, and what the loss of denoising "
     "score matching can reach."},
    {"3.5", "A first illustration", "The bistable process; its numbers are in appendix C."},
    {"4", "The Watson measure κ and its exact sampler", ""},
    {"4.1", "Watson’s mean-value identity",
     "The mean over the heat ball with weight |z|²/(4σ²) is the value at its centre, for every "
     "solution of the heat equation."},
    {"4.2", "Three independent parts, and a sampler",
     "Direction, relative radius and time of a draw are independent, and each has a simple law."},
    {"4.3", "In high dimension",
     "The draws gather in a thin shell at the boundary of the ball, and their times at one value."},
    {"4.4", "Variance, against uniform sampling",
     "Draws from κ itself need no weights; draws from a cylinder around the ball do."},
    {"4.5", "The residual as a loss",
     "How far a network is from the mean-value identity, as something to train on."},
    {"5", "Score networks", ""},
    {"5.1", "Eight sets in the plane",
     "Networks trained with three losses on sets whose scores are known exactly. HB has averaged "
     "denoising targets, which help any loss. So DSM and FP stand twice: as published, and with "
     "the same targets. From DSM to “DSM, same targets” is what the targets give, from there to HB "
     "what the constraint gives."},
    {"5.2", "Digits in 256 dimensions", "Generation of 16 by 16 images of digits."},
    {"5.3", "Mixtures in 2 to 64 dimensions",
     "Not an experiment of the paper, which claims high dimensions and shows networks in 2 and in "
     "256: the same losses on mixtures whose scores are known exactly in every dimension."},
    {"A", "Appendix A: proof of the local theorem", ""},
    {"B", "Appendix B: more on the sets in the plane", ""},
    {"C", "Appendix C: the score of a bistable process",
     "One dimension, where a grid solution gives the exact score: dX = (X − X³) dt + dW at t = 1."},
    {0}};

const hb_page_correction hb_page_corrections[HB_PAGE_CORRECTIONS] = {
    {"The loss leaves out the source",
     "The loss of section 4.5 compares v = ln p with its mean over the heat ball. But v does not "
     "solve the heat equation: it has a source, and the exact v does not make this loss zero. The "
     "residual used here takes off the mean of the source, R = v(x₀) − E[v] − (C₁r²/4) E[h]. The "
     "loss as printed stays as an option under the paper’s name."},
    {"A squared sample mean is biased",
     "The square of a residual that was estimated by sampling is too large by the variance of the "
     "estimate. Here the average is taken by cubature in few dimensions, and the square is the "
     "product of two independent halves in many."},
    {"The residual has no scale",
     "It shrinks with r² and says little by itself. Divided by C₁r²/4 it tends to the residual of "
     "the Fokker–Planck equation at the point; times τ it has no unit."},
    {"Cutting the times off breaks the identity",
     "The paper’s runs cut σ to a range. Then the draws follow another law and the mean value is "
     "no longer exact. An upper limit of σ is a smaller ball, r² = 4πσ_max. Here balls are whole, "
     "with one rule for their radius; the cut-off as printed is for the paper’s rows only."},
    {"The direction of time", "In the lemma of section 4.1 the function must solve the heat "
                              "equation forward in time, and be "
                              "evaluated at (−z, −σ), before the centre, as the loss does."},
    {"The score of the ring",
     "It is called purely tangential. It is radial: the density of the ring depends on the radius "
     "only."},
    {"The reference of the bistable table",
     "The score at t = 1 is compared with the stationary score, and no start is named. Here there "
     "are two starts and two references: the stationary score, and the exact score at t = 1."},
    {"Settings that are not given",
     "The kernel of the MMD, the sizes of the data, the depth of the networks, the forward process "
     "of the planar study and the resizing of the digits had to be chosen; each study says how."}};
