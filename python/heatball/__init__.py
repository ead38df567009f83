"""heatball: exact heat-ball measures for diffusions, over the C library libheatball.

The heat ball of radius r is E_r = {(y, s): s > 0, Phi(y, s) >= r^-d}, Phi the heat kernel and s
time backward from an anchor. The mean of a caloric function over E_r under the Watson measure kappa
is its value at the anchor; with a second measure the same holds for equations with a source.

    sample      exact draws from kappa, source and gradient measures
    cubature    nodes and weights for small dimensions
    kernel      the kernels themselves
    constants   every constant of the representation
    budget      how long a drift of a given size is safe
    solve       an SDE: density, log-density, score and entropy density at points
    dataset     the planar sets with exact densities and scores; Mixture for your own
    images, image_grid     sets of grey images such as MNIST, and pictures of many
    balls       nodes and weights behind anchors, for a network of your own; heatball.torch: its loss
    train, load a score model: score, log-density, samples and likelihoods; training_log: its losses
    ScoreDensity   the density of a table with mixed columns, with fit, score_samples and sample
    log_likelihood, generate   likelihoods with errors, and samples, of any score f(x, tau)
    mmd, kolmogorov, curl, helmholtz   how good samples and fields are; evaluate: a model or any score
    score_error the error of a score against a distribution that is known
    certify     how far any score is from solving its equation, where, and by which test
    Classifier  which class a row is of
    precision_recall, nearest, memorisation, mmd_floor, artifacts   how good images are
    residual    how well a solution, a log-density or a score satisfies the mean-value identity
    random      counter-based uniforms and normals
    mpi         several processes, also on several machines, do all of this together

Solutions, models and results print as tables, also in notebooks; .plot(), .to_dict() and .to_pandas() draw and convert them.
Arrays are row-major: points are (n, dim). Every random result is a function of its arguments alone, and
bit-identical for every number of threads. docs/reference/python.md is the guide.
"""

from heatball import mpi, random
from heatball._certificate import Certificate, certify
from heatball._errors import ArgumentError, Error
from heatball._evaluation import evaluate, score_error
from heatball._generation import generate
from heatball._images import image_grid, images
from heatball._likelihood import LogLikelihood, log_likelihood
from heatball._tables import Result
from heatball._training import train
from heatball._training_log import training_log
from heatball._version import __version__
from heatball.ball import constants, cubature, kernel, sample
from heatball.classify import Classifier
from heatball.data import Mixture, dataset
from heatball.density import NotFittedError, ScoreDensity
from heatball.judge import (artifact_threshold, artifacts, curl, helmholtz, kolmogorov, memorisation,
                            mmd, mmd_floor, nearest, precision_recall)
from heatball._files import load
from heatball.model import Model
from heatball.nodes import Balls, balls
from heatball.sde import Solution, mesh, residual, solve
from heatball.wellposed import budget

__all__ = ["ArgumentError", "Balls", "Certificate", "Classifier", "Error", "LogLikelihood", "Mixture", "Model",
           "NotFittedError", "Result", "ScoreDensity", "Solution", "__version__", "artifact_threshold", "artifacts", "balls", "budget", "certify", "constants", "cubature",
           "curl", "dataset", "evaluate", "generate", "helmholtz", "image_grid", "images", "kernel", "kolmogorov", "load",
           "log_likelihood", "memorisation", "mesh", "mmd", "mmd_floor", "mpi", "nearest", "precision_recall",
           "random", "residual", "sample", "score_error", "solve", "train", "training_log"]
