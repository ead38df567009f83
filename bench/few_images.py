"""Trainings on few digits: the held-out denoising loss while a network memorises them.

    bench/few_images.py METHOD [--rows N] [--steps K] [--every K] [--weight W] [--anchors N] [--seed S]

Rows 20001 .. of MNIST's training images at 16 x 16 pixels (the first ones when there are not as many behind), energy head, width 256,
batch 128, tau from 0.02, no labels, one thread. Every `--look` steps a line: the step, and E |sqrt(b) s + e|^2/256 at tau 0.05, 0.1, 0.3
and 1 over images 52001 to 54000; at the end processor milliseconds of a step. Needs `heatball data fetch mnist`. docs/dev/tuning-history.md
has results.
"""
import argparse
import time

import numpy as np

import heatball

TAUS = (0.05, 0.1, 0.3, 1.0)
FIRST, HELD, HELD_ROWS = 20000, 52000, 2000


def held_out_loss(model, images, noise):
    z = (images - model.shift) / model.scales
    losses = []
    for tau, e in zip(TAUS, noise):
        a, b = np.exp(-tau), -np.expm1(-2 * tau)
        score = model.scales * model.score(model.shift + model.scales * (a * z + np.sqrt(b) * e), tau, threads=1)
        losses.append(np.mean((np.sqrt(b) * score + e) ** 2))
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("method")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=8000)
    parser.add_argument("--look", type=int, default=500)
    parser.add_argument("--every", type=int, help="constraint_every")
    parser.add_argument("--weight", type=float)
    parser.add_argument("--anchors", type=int)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    images = heatball.images("mnist", resize=16)
    images = np.asarray(images[0] if isinstance(images, tuple) else images)
    first = FIRST if FIRST + given.rows <= HELD else 0
    held = images[HELD:HELD + HELD_ROWS].reshape(HELD_ROWS, -1)
    noise = np.random.default_rng(7).standard_normal((len(TAUS), *held.shape))
    looking = 0

    def watch(step, model):
        nonlocal looking
        start = time.process_time()
        print(step, *(f"{loss:.4f}" for loss in held_out_loss(model, held, noise)), flush=True)
        looking += time.process_time() - start

    start = time.process_time()
    heatball.train(images[first:first + given.rows], given.method, steps=given.steps, width=256, batch=128,
                   tau_min=0.02, weight=given.weight, anchors=given.anchors, constraint_every=given.every,
                   target_rows=0, watch=watch, watch_every=given.look, seed=given.seed, threads=1)
    print(f"{1000 * (time.process_time() - start - looking) / given.steps:.1f} ms")


if __name__ == "__main__":
    main()
