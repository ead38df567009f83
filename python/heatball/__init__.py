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
    mmd, curl, helmholtz   how good samples and fields are
    residual    how well a solution satisfies the mean-value identity
    random      counter-based uniforms and normals

Arrays are row-major: points are (n, dim). Every random result is a function of its arguments alone,
to the last bit, for every number of threads. docs/python.md is the guide.
"""

from heatball import random
from heatball._errors import ArgumentError, Error
from heatball._version import __version__
from heatball.ball import constants, cubature, kernel, sample
from heatball.data import Mixture, dataset
from heatball.judge import curl, helmholtz, mmd
from heatball.sde import Solution, residual, solve
from heatball.wellposed import budget

__all__ = ["ArgumentError", "Error", "Mixture", "Solution", "__version__", "budget", "constants",
           "cubature", "curl", "dataset", "helmholtz", "kernel", "mmd", "random", "residual", "sample",
           "solve"]
