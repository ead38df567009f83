"""Networks of any convention as f(x, tau): noise prediction, denoiser, EDM, score, log-density."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Tuple

import numpy as np
import torch
from numpy.typing import ArrayLike

from heatball._arguments import choice, function, shown
from heatball._callables import check_process, own_process
from heatball._torch_arguments import Network, Time, anchors, checked, scaled_rows
from heatball._torch_clocks import clock_of, known, table_clock
from heatball.nodes import KINDS

__all__ = ["Adapter", "LogDensity", "from_denoiser", "from_edm", "from_eps", "from_log_density", "from_score"]


class Adapter:
    """A network as f(x, tau): with tensors it is differentiable, with NumPy arrays it returns NumPy arrays.

    Attributes
    ----------
    kind, process : str
        "log_density" or "score"; "ou" or "ve". `heat_ball_loss` and the other functions here take them from it.
    model : callable
        The network.
    dtype : torch.dtype
        That in which NumPy arrays are handed to the network: by default that of its parameters, of a plain function
        float64.

    Examples
    --------
    >>> import numpy as np, heatball.torch
    >>> f = heatball.torch.from_edm(lambda x, sigma: 0 * x)  # all rows are 0: the score is -x/(2 tau)
    >>> f(np.array([[1.0]]), 0.5), f.kind, f.process
    (array([[-1.]]), 'score', 've')
    """

    def __init__(self, evaluate, model, kind, process, shape=None, dtype=None):
        self.evaluate, self.model, self.kind, self.process = evaluate, function("model", model), kind, process
        self.shape = None if shape is None else tuple(shape)
        like = next(iter(model.parameters()), None) if isinstance(model, torch.nn.Module) else None
        self.dtype = dtype or (torch.float64 if like is None else like.dtype)

    def __call__(self, x: Any, tau: Any) -> Any:
        """Return ln p (n,) or the score (n, dim) at x (n, dim) and tau (n,), or one tau for all."""
        if torch.is_tensor(x):
            x, tau = anchors(x, tau)
            return self._at(x, tau)
        like = next(iter(self.model.parameters()), None) if isinstance(self.model, torch.nn.Module) else None
        device = None if like is None else like.device
        points, times = anchors(torch.as_tensor(np.asarray(x), dtype=self.dtype, device=device), np.asarray(tau))
        with torch.no_grad():
            return self._at(points, times).double().cpu().numpy()

    def _at(self, x, tau):
        values = self.evaluate(x if self.shape is None else x.reshape(-1, *self.shape), tau)
        if not torch.is_tensor(values):
            raise TypeError(f"the model returned {shown(values)}; it must return a tensor")
        return checked(values.reshape(x.shape) if self.kind == "score" and values.numel() == x.numel() else values,
                        len(x), x.shape[1] if self.kind == "score" else None)

    def score(self, x: Any, tau: Any) -> Any:
        """Return the score, as calling the adapter does.

        Parameters
        ----------
        x : tensor or array_like of shape (n, dim)
            The points.
        tau : tensor or array_like of shape (n,), or float
            Their times.

        Returns
        -------
        tensor or ndarray of shape (n, dim)
            The score, of the kind of x.

        Examples
        --------
        >>> import numpy as np, heatball.torch
        >>> f = heatball.torch.from_score(lambda x, tau: -x)
        >>> f.score(np.ones((1, 2)), 0.3)
        array([[-1., -1.]])
        """
        return self(x, tau)


class LogDensity(Adapter):
    """The `Adapter` of a log-density; `score` is its gradient, by autograd.

    Examples
    --------
    >>> import numpy as np, heatball.torch
    >>> f = heatball.torch.from_log_density(lambda x, tau: -0.5 * (x**2).sum(1))
    >>> f(np.array([[1.0, 2.0]]), 0.3), f.score(np.array([[1.0, 2.0]]), 0.3)
    (array([-2.5]), array([[-1., -2.]]))
    """

    def log_density(self, x: Any, tau: Any) -> Any:
        """Return ln p, as calling the adapter does.

        Parameters
        ----------
        x : tensor or array_like of shape (n, dim)
            The points.
        tau : tensor or array_like of shape (n,), or float
            Their times.

        Returns
        -------
        tensor or ndarray of shape (n,)
            ln p, of the kind of x.

        Examples
        --------
        >>> import numpy as np, heatball.torch
        >>> f = heatball.torch.from_log_density(lambda x, tau: -0.5 * (x**2).sum(1))
        >>> f.log_density(np.ones((1, 2)), 0.3)
        array([-1.])
        """
        return self(x, tau)

    def score(self, x: Any, tau: Any) -> Any:
        """Return grad ln p; of tensors with its graph.

        Parameters
        ----------
        x : tensor or array_like of shape (n, dim)
            The points.
        tau : tensor or array_like of shape (n,), or float
            Their times.

        Returns
        -------
        tensor or ndarray of shape (n, dim)
            The score, of the kind of x.

        Examples
        --------
        >>> import numpy as np, heatball.torch
        >>> f = heatball.torch.from_log_density(lambda x, tau: -0.5 * (x**2).sum(1))
        >>> f.score(np.ones((1, 2)), 0.3)
        array([[-1., -1.]])
        """
        if not torch.is_tensor(x):
            slope = Adapter(lambda points, times: self.score(points, times).detach(), self.model, "score", self.process,
                            dtype=self.dtype)
            return slope(x, tau)
        with torch.enable_grad():
            at = x if x.requires_grad else x.detach().requires_grad_()
            return torch.autograd.grad(self(at, tau).sum(), at, create_graph=True)[0]


def from_log_density(model: Network, *, process: str = "ou", shape: Optional[Sequence[int]] = None,
                     dtype: Optional[torch.dtype] = None) -> LogDensity:
    """Return a network of ln p as an `Adapter`.

    Parameters
    ----------
    model : callable
        model(x, tau) of ln p.
    process : {"ou", "ve"}
        The noising process.
    shape : sequence of int
        Shape of one sample as the model takes it, (3, 32, 32) for images; default: (dim,).
    dtype : torch.dtype
        Of NumPy arrays handed to a model that is a plain function; default: float64.

    Returns
    -------
    LogDensity
        f(x, tau); its gradient is ``adapter.score``.

    Examples
    --------
    >>> import numpy as np, heatball.torch
    >>> f = heatball.torch.from_log_density(lambda x, tau: -0.5 * (x**2).sum(1))
    >>> f(np.ones((2, 3)), 0.1)
    array([-1.5, -1.5])
    """
    return LogDensity(model, model, "log_density", known(process), shape, dtype)


def from_score(model: Network, *, process: str = "ou", time: Time = None, shape: Optional[Sequence[int]] = None,
               dtype: Optional[torch.dtype] = None) -> Adapter:
    """Return a score network as an `Adapter`.

    Parameters
    ----------
    model : callable
        model(x, t) of grad ln p.
    process : {"ou", "ve"}
        The noising process.
    time : callable, str, or (float, float)
        t of tau: a function; "tau" (default); "sigma", the standard deviation of the noise, sqrt(2 tau) for "ve"; or
        (beta_min, beta_max) for t in [0, 1] of the VP process, see the notes.
    shape : sequence of int
        Shape of one sample as the model takes it; default: (dim,).
    dtype : torch.dtype
        Of NumPy arrays handed to a model that is a plain function; default: float64.

    Returns
    -------
    Adapter
        f(x, tau).

    Notes
    -----
    The VP process is dx = -beta x/2 dt + sqrt(beta) dW with beta = beta_min + t (beta_max - beta_min).

    Examples
    --------
    >>> import numpy as np, heatball.torch
    >>> f = heatball.torch.from_score(lambda x, t: -x, time=(0.1, 20.0))  # of N(0, 1), which stays
    >>> f(np.array([[2.0]]), 0.3)
    array([[-2.]])
    """
    clock = clock_of(time, process)
    return Adapter(lambda x, tau: model(x, clock(tau)), model, "score", known(process), shape, dtype)


def from_eps(model: Network, alphas_cumprod: Optional[ArrayLike] = None, *, betas: Optional[Tuple[float, float]] = None,
             whole: bool = False, shape: Optional[Sequence[int]] = None, dtype: Optional[torch.dtype] = None) -> Adapter:
    """Return a network that predicts noise under a VP process as the score of "ou".

    Parameters
    ----------
    model : callable
        model(x, t) of e.
    alphas_cumprod : array_like of shape (T,)
        alpha at the times t = 0 .. T-1, falling. Between two of them ln alpha is linear, and t is a fraction; tau outside their
        range is refused.
    betas : (float, float)
        Instead: beta_min, beta_max of continuous times t in [0, 1], ln alpha = -(beta_min t + (beta_max - beta_min) t^2/2).
    whole : bool
        Round t to the nearest integer, for a network that looks times up in a table. The score is then that of a slightly
        different tau.
    shape : sequence of int
        Shape of one sample as the model takes it; default: (dim,).
    dtype : torch.dtype
        Of NumPy arrays handed to a model that is a plain function; default: float64.

    Returns
    -------
    Adapter
        f(x, tau).

    Notes
    -----
    x = sqrt(alpha) x_0 + sqrt(1 - alpha) e is x at exp(-2 tau) = alpha, and the score is -e(x, t)/sqrt(1 - alpha).

    Examples
    --------
    >>> import torch, heatball.torch
    >>> eps = lambda x, t: x * 0.6  # of N(0, 1): e = x sqrt(1 - alpha), here at alpha = 0.64
    >>> f = heatball.torch.from_eps(eps, [0.9, 0.64, 0.1])
    >>> f([[2.0]], -0.5 * torch.log(torch.tensor(0.64, dtype=torch.float64)))
    array([[-2.]])
    """
    if (alphas_cumprod is None) == (betas is None):
        raise TypeError("give either alphas_cumprod, of whole times, or betas, of continuous ones")
    clock = table_clock(alphas_cumprod, whole) if betas is None else clock_of(tuple(betas), "ou")
    return Adapter(lambda x, tau: scaled_rows(-1 / torch.sqrt(-torch.expm1(-2 * tau)), model(x, clock(tau))), model, "score",
                   "ou", shape, dtype)


def from_denoiser(model: Network, *, process: str = "ve", time: Time = None, shape: Optional[Sequence[int]] = None,
                  dtype: Optional[torch.dtype] = None) -> Adapter:
    """Return a network that gives E[x_0 | x] as the score of the process, (a D - x)/b.

    Parameters
    ----------
    model : callable
        model(x, t) of D = E[x_0 | x].
    process : {"ou", "ve"}
        The noising process.
    time : callable, str, or (float, float)
        t of tau, as in `from_score`; default: "sigma" for "ve" and tau for "ou".
    shape : sequence of int
        Shape of one sample as the model takes it; default: (dim,).
    dtype : torch.dtype
        Of NumPy arrays handed to a model that is a plain function; default: float64.

    Returns
    -------
    Adapter
        f(x, tau).

    Examples
    --------
    >>> import numpy as np, heatball.torch
    >>> f = heatball.torch.from_denoiser(lambda x, sigma: 0 * x + 3)  # all rows are 3
    >>> f(np.array([[1.0]]), 0.5)
    array([[2.]])
    """
    known(process)
    clock = clock_of("sigma" if time is None and process == "ve" else time, process)

    def evaluate(x, tau):
        a, b = (torch.exp(-tau), -torch.expm1(-2 * tau)) if process == "ou" else (torch.ones_like(tau), 2 * tau)
        return scaled_rows(1 / b, scaled_rows(a, model(x, clock(tau))) - x)

    return Adapter(evaluate, model, "score", process, shape, dtype)


def from_edm(model: Network, *, sigma_data: Optional[float] = None, shape: Optional[Sequence[int]] = None,
             dtype: Optional[torch.dtype] = None) -> Adapter:
    """Return an EDM network as the score of "ve", tau = sigma^2/2.

    Parameters
    ----------
    model : callable
        model(x, sigma) of the denoiser D; with `sigma_data` the network inside, F(c_in x, ln(sigma)/4).
    sigma_data : float
        Standard deviation of the data.
    shape : sequence of int
        Shape of one sample as the model takes it; default: (dim,).
    dtype : torch.dtype
        Of NumPy arrays handed to a model that is a plain function; default: float64.

    Returns
    -------
    Adapter
        f(x, tau).

    Notes
    -----
    D = c_skip x + c_out F with c_skip = sigma_data^2/(sigma^2 + sigma_data^2), c_out = sigma sigma_data/sqrt(sigma^2 +
    sigma_data^2), c_in = 1/sqrt(sigma^2 + sigma_data^2) [1]_.

    References
    ----------
    .. [1] T. Karras et al., "Elucidating the design space of diffusion-based generative models", NeurIPS 2022.

    Examples
    --------
    >>> import numpy as np, heatball.torch
    >>> f = heatball.torch.from_edm(lambda x, noise: 0 * x, sigma_data=0.5)  # D = c_skip x: rows of N(0, 0.25)
    >>> f(np.array([[1.0]]), 0.375)
    array([[-1.]])
    """
    if sigma_data is None:
        return from_denoiser(model, shape=shape, dtype=dtype)
    own = float(sigma_data)

    def evaluate(x, tau):
        sigma = torch.sqrt(2 * tau)
        total = 2 * tau + own**2
        F = model(scaled_rows(1 / torch.sqrt(total), x), torch.log(sigma) / 4)
        return scaled_rows(-1 / total, x) + scaled_rows(own / (sigma * torch.sqrt(total)), F)  # (D - x)/sigma^2

    return Adapter(evaluate, model, "score", "ve", shape, dtype)


def what_of(f, kind, process, drift):
    """Kind and process of f: what is given, else what an adapter says; None is the default of `balls`."""
    if kind is None:
        kind = f.kind if isinstance(f, Adapter) else "log_density"
    choice("kind", kind, KINDS)
    if drift is None and isinstance(process, str):
        check_process(f, process)
    return kind, own_process(f) if process is None and drift is None else process
