"""Heat-ball residuals and losses of PyTorch networks, and adapters to f(x, tau).

    heat_ball_residual, heat_ball_loss     of a log-density or a score, by values of the network alone
    fokker_planck_residual                 the same equation pointwise, by autograd
    denoising_targets                      targets of denoising, averaged over rows of the data
    from_log_density, from_score           a network in our own convention, callable with NumPy arrays too
    from_eps, from_denoiser, from_edm      noise prediction, denoiser, EDM: with the times of their training

A function here is f(x, tau): x is (n, dim), tau (n,), and what comes back (n,) for a log-density or
(n, dim) for a score. tau is the time of dx = -x dtau + sqrt(2) dW ("ou": a = exp(-tau), b = 1 -
exp(-2 tau)), of dx = sqrt(2) dW ("ve": a = 1, b = 2 tau) or of a drift of yours. Only f is called on
tensors, so that all is differentiable by PyTorch. docs/howto/own-network.md has the formulas.

This module needs PyTorch; the rest of the package does not.
"""

from __future__ import annotations

try:
    import torch  # noqa: F401
except ImportError as error:
    raise ImportError("heatball.torch needs PyTorch, which is not installed; on Debian it is the package python3-torch. "
                      "heatball.balls gives the same nodes and weights as NumPy arrays") from error

from heatball._torch_adapters import (Adapter, LogDensity, from_denoiser, from_edm, from_eps, from_log_density,
                                      from_score)
from heatball._torch_heat_ball import heat_ball_loss, heat_ball_residual
from heatball._torch_pointwise import fokker_planck_residual
from heatball._torch_targets import denoising_targets

__all__ = ["Adapter", "LogDensity", "denoising_targets", "fokker_planck_residual", "from_denoiser", "from_edm", "from_eps",
           "from_log_density", "from_score", "heat_ball_loss", "heat_ball_residual"]

for _name in __all__:
    globals()[_name].__module__ = __name__
