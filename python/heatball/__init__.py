"""heatball: Fokker-Planck equations, score networks, and the heat-ball identity behind both.

Equations
    solve           density, log-density and score of an SDE at points and times, each with an error
    mesh            the points of a mesh
    residual        mean-value residual of a solution, a log-density or a score

Score networks
    train, load     a model on data: score, log-density, samples, likelihoods
    certify         tests of any score against data that it has not seen
    generate        samples of any score
    log_likelihood  log-likelihoods under any score, with errors
    evaluate, score_error   a model or a score against a known distribution or held-out data
    import heatball.torch   losses, residuals and denoising targets for networks in PyTorch

Data
    ScoreDensity    the density of a table, with the methods of scikit-learn
    dataset, dataset_names, Mixture   data sets with exact densities and scores
    images, image_grid, Classifier   images such as MNIST

Modules
    metrics         mmd, kolmogorov, precision_recall, curl and others
    ball            measures on the heat ball: sample, nodes, constants, kernel
    random          counter-based random numbers
    mpi             several processes, also on several machines

Conventions: dx = f(x, t) dt + G(x, t) dW in the sense of Ito, the diffusion matrix is D = G G^T/2, tau is the integral of
g^2/2. A score is the gradient of the log-density. Arrays are row-major, points have shape (n, dim). A random result is a
function of its arguments alone, and bit-identical for every number of threads.

Results print as tables, also in notebooks, and have plot(), to_dict() and to_pandas(). docs/reference/python.md is the
guide; help(heatball.solve) and so on have the parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heatball import ball, metrics, mpi, random
from heatball._certificate import Certificate, certify
from heatball._errors import ArgumentError, Error
from heatball._evaluation import evaluate, score_error
from heatball._files import load
from heatball._generation import generate
from heatball._grid import Evaluation
from heatball._images import image_grid, images
from heatball._likelihood import LogLikelihood, log_likelihood
from heatball._residual import Residual
from heatball._tables import Result
from heatball._training import train
from heatball._training_log import training_log
from heatball._version import __version__
from heatball.classify import Classifier
from heatball.data import Mixture, dataset, dataset_names
from heatball.density import NotFittedError, ScoreDensity
from heatball.model import Model
from heatball.nodes import Balls, balls
from heatball.sde import Solution, mesh, residual, solve
from heatball.wellposed import budget

__all__ = [
    # equations
    "solve", "mesh", "residual", "budget", "Solution", "Evaluation", "Residual",
    # score networks
    "train", "training_log", "load", "certify", "generate", "log_likelihood", "evaluate", "score_error", "Model", "Certificate",
    "LogLikelihood",
    # data
    "ScoreDensity", "dataset", "dataset_names", "Mixture", "images", "image_grid", "Classifier",
    # modules, and heat balls behind anchors
    "metrics", "ball", "random", "mpi", "balls", "Balls",
    # results and errors
    "Result", "Error", "ArgumentError", "NotFittedError", "__version__",
]


def __dir__() -> list[str]:
    return [*__all__, "__doc__", "__file__", "__name__", "__path__"]


if not TYPE_CHECKING:  # a checker of types would take every name
    _MOVED = {"cubature": "ball.nodes", **{name: f"ball.{name}" for name in ("sample", "kernel", "constants")},
              **{name: f"metrics.{name}" for name in metrics.__all__}}

    def __getattr__(name):
        if name in _MOVED:
            import warnings
            warnings.warn(f"heatball.{name} is now heatball.{_MOVED[name]}; the old name goes with the next release",
                          DeprecationWarning, stacklevel=2)
            module, function = _MOVED[name].split(".")
            return getattr(globals()[module], function)
        if name == "judge":
            import sys
            import warnings
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                import heatball.judge  # noqa: F401
            warnings.warn("heatball.judge is now heatball.metrics; the old name goes with the next release",
                          DeprecationWarning, stacklevel=2)
            return sys.modules["heatball.judge"]
        if name == "torch":
            raise AttributeError("heatball.torch is loaded by `import heatball.torch`; it needs PyTorch")
        raise AttributeError(f"module 'heatball' has no attribute {name!r}")
