"""Trained score models: score, log-density, samples, likelihoods, files."""

from __future__ import annotations

import ctypes
import math
import os
import tempfile
import warnings
import weakref
from typing import Any

import numpy as np

from heatball._arguments import (INT_MAX, array, c_int, choice, draws, filled, path_bytes, pointer, real,
                                 real_array, renamed, uint64)
from heatball._context import Handle, alone, call
from heatball._errors import ArgumentError, check
from heatball._interrupt import interruptible
from heatball._native import (DensityCheck, Denoise, GenerateSettings, Head, Model as _CModel, ModelInfo, Process, Solver,
                              library)
from heatball._tables import Result, Shown
from heatball._types import ArrayLike, Floats, Path

__all__ = ["Model"]

HEADS = {head.name.removeprefix("HEAD_").lower(): int(head) for head in Head}
PROCESSES = {process.name.removeprefix("PROCESS_").lower(): int(process) for process in Process}
SOLVERS = {solver.name.removeprefix("SOLVER_").lower(): int(solver) for solver in Solver}
DENOISES = {denoise.name.removeprefix("DENOISE_").lower(): int(denoise) for denoise in Denoise}
CHECK_ROWS = 256  # samples of a density check
CHUNK = 1 << 14  # rows between two chances for KeyboardInterrupt; a multiple of the library's 256


def load_model(path: Path) -> Model:
    """Read a model from a .safetensors file; `heatball.load` reads it too."""
    owner, handle = Handle(1), ctypes.POINTER(_CModel)()
    check(owner.pointer, library.hb_model_load(owner.pointer, path_bytes("path", path),
                                               ctypes.byref(handle)))
    return Model._own(owner, handle)


class Model(Shown):
    """A score network with the process that it was trained for; made by `train` and `load`.

    Attributes
    ----------
    dim, classes : int
        Coordinates of a point; number of labels, 0 without.
    head : str
        "energy" (has a log-density), "score" or "helmholtz".
    process, loss : str
        The noising process, and the loss of the training.
    width, depth, skip, time_features, parameters : int
        Of the network.
    shift, scales : numpy.ndarray of shape (dim,)
        z_j = (x_j - shift_j)/scales_j.
    maps : str
        The maps of the columns before they are shifted and scaled, as "ln price, arsinh((y - 2)/3)"; "" where there are none.
    scale : float
        Their geometric mean; the scale itself where all columns have one.
    tau_min, tau_max : float
        The range of tau that it was trained on.
    seed, steps : int
        Of the training.
    image_height, image_width : int
        Of a model of images, whose rows have height*width pixels; 0 for others.
    pixel_low, pixel_high : float
        The values of black and white in them.
    half : int
        1 when the weights have 16 bits.
    columns : list of str
        The names of the columns, from the header of the .csv file that it was trained on; None without.
    sde : dict
        Of a model of a drift, the texts that it was trained with: dim, drift, noise, parameters; None of others.
    coordinates : str
        Of a model that was trained with `noise`, those in which it is sqrt(2), where they are not x; None without.
    info : dict
        All of these that are numbers and texts.

    See Also
    --------
    train, load

    Notes
    -----
    The process adds noise to data x for a time tau: "ou", dx = -x dtau + sqrt(2) dW; "ve", dx = sqrt(2) dW; "drift",
    dx = F(x) dtau + sqrt(2) dW or, trained with `noise`, dx = F(x) dtau + G(x) dW. A model of standardised data has the
    process in z_j = (x_j - shift_j)/scales_j, and tau is that of z; x, scores and log-densities are always those of x.

    A model is a function: ``model(x, tau)`` is its score.

    Examples
    --------
    >>> import numpy as np, heatball
    >>> model = heatball.train(heatball.dataset("two_moon"), n=500, steps=20, width=16, depth=2)
    >>> model
    Model in dimension 2: energy head, loss hb, process ou, width 16, depth 2, 20 steps
         name           value
      network  465 parameters
          tau      0.001 to 3
         seed              42
    >>> x = np.array([[0.3, -0.2], [1.4, 0.5]])
    >>> model.score(x, 0.2).shape, model.log_density(x, [0.2, 0.7]).shape
    ((2, 2), (2,))
    """

    info: dict[str, Any]
    shift: Floats
    scales: Floats
    maps: str
    columns: list[str] | None
    dim: int

    def __init__(self) -> None:
        raise TypeError("a model is made by heatball.train or heatball.load")

    @classmethod
    def _own(cls, owner, handle):
        """The model that `handle` points to; the library made it on the context of `owner`."""
        self = cls._borrow(handle)
        weakref.finalize(self, _destroy, handle, owner).atexit = False
        return self

    @classmethod
    def _borrow(cls, handle):
        self = cls.__new__(cls)
        self._handle = handle
        raw = ModelInfo()
        library.hb_model_info_get(handle, ctypes.sizeof(raw), ctypes.byref(raw))
        names = [name for name, _ in ModelInfo._fields_ if name != "drift"]
        self.info = {name: getattr(raw, name) for name in names}
        self.info.update(head=_name_of(HEADS, raw.head), process=_name_of(PROCESSES, raw.process),
                         loss=raw.loss.decode())
        self.shift, self.scales = np.empty(raw.dim), np.empty(raw.dim)
        library.hb_model_scales(handle, pointer(self.shift), pointer(self.scales))
        self.maps = library.hb_model_maps(handle).decode()
        names = [library.hb_model_column_name(handle, j) for j in range(raw.dim)]
        self.columns = None if names[0] is None else [name.decode() for name in names]
        problem = library.hb_model_problem(handle)
        frame = library.hb_problem_frame(problem)
        self.coordinates = None if frame is None else frame.decode()
        self.sde = _lines(library.hb_problem_text(problem)) if problem else None
        return self

    def __getattr__(self, name: str) -> Any:
        if name in ("method", "residual"):
            new = "loss" if name == "method" else "skip"
            warnings.warn(f"{name} is now {new}; the old name goes in the next release", DeprecationWarning, stacklevel=2)
            name = new
        if name in self.__dict__.get("info", ()):
            return self.info[name]
        raise AttributeError(f"'Model' object has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.info]

    def _title(self) -> str:
        return (f"Model in dimension {self.dim}: {self.head} head, loss {self.loss}, process "
                f"{self.process}, width {self.width}, depth {self.depth}, {self.steps} steps"
                + f", {self.classes} classes" * (self.classes > 0))

    def _columns(self) -> dict[str, Any]:
        """What the title lacks, in words."""
        said = {"network": f"{self.parameters} parameters", "tau": f"{self.tau_min:g} to {self.tau_max:g}",
                "seed": self.seed}
        if self.columns:
            said["columns"] = ", ".join(self.columns[:6]) + ", ..." * (len(self.columns) > 6)
        if self.image_height:
            said["images"] = f"{self.image_height} x {self.image_width}, black {self.pixel_low:g}, white {self.pixel_high:g}"
        if np.any(self.scales != 1) or np.any(self.shift != 0):
            said["shift"], said["scales"] = self.shift, self.scales
        return {"name": list(said), "value": list(said.values())}

    def _values(self) -> dict[str, Any]:
        return {**self.info, "shift": self.shift, "scales": self.scales, "columns": self.columns}

    def plot(self, x: ArrayLike | None = None, *, tau: float | None = None, n: int | None = None,
             label: ArrayLike | None = None, seed: int = 1, ax: Any = None) -> Any:
        """Draw generated samples over what the model has learnt, by matplotlib.

        Parameters
        ----------
        x : array_like of shape (m, dim)
            Samples to draw instead of generated ones.
        tau : float
            Of the density or score; default: 0.1.
        n : int
            Samples to generate; default: 500, of images 40.
        label : int or array_like of int
            Of a model with classes, as in `generate`.
        seed : int
            Seed of the samples.
        ax : matplotlib.axes.Axes
            Where to draw; default: a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Raises
        ------
        ImportError
            When matplotlib is not installed.

        Notes
        -----
        In one and two dimensions with the learnt density (energy head) or score; above, the first two columns; of a model of images
        pictures of them.

        Examples
        --------
        >>> import heatball
        >>> model = heatball.train("ring", "dsm", n=300, steps=20, width=16, depth=2)
        >>> model.plot(n=50).get_title()
        'learnt density at tau = 0.1 (blue)'
        """
        from heatball._plots import plot_model
        return plot_model(self, x, tau, n, label, seed, ax)

    def __reduce__(self):  # pickle, copy: through the bytes of its file
        with alone(), tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "model.safetensors")
            self.save(path)
            with open(path, "rb") as file:
                return _from_bytes, (file.read(),)

    @property
    def _model(self):
        if self._handle is None:
            raise ArgumentError("this model was lent to `watch` and ended with its call; save it "
                                "there, or copy it")
        return self._handle

    def __call__(self, x: ArrayLike, tau: ArrayLike, label: ArrayLike | None = None) -> Floats:
        """Return the score at x and tau, as `score` does: a model is a function f(x, tau).

        Parameters
        ----------
        x : array_like of shape (n, dim)
            The points.
        tau : float or array_like of shape (n,)
            Above 0.
        label : int or array_like of int of shape (n,)
            Of a model with classes; -1: none.

        Returns
        -------
        ndarray of shape (n, dim)
            The score.
        """
        return self.score(x, tau, label)

    def score(self, x: ArrayLike, tau: ArrayLike, label: ArrayLike | None = None, *, threads: int = 0) -> Floats:
        """Return the score, the gradient of ln u.

        Parameters
        ----------
        x : array_like of shape (n, dim)
            The points.
        tau : float or array_like of shape (n,)
            Above 0.
        label : int or array_like of int of shape (n,)
            Of a model with classes; -1: none.
        threads : int
            0: one per core. The result does not depend on it.

        Returns
        -------
        ndarray of shape (n, dim)
            The score in the units of x.

        Examples
        --------
        >>> import numpy as np, heatball
        >>> model = heatball.train("ring", "dsm", n=200, steps=10, width=8, depth=2)
        >>> model.score([[0.3, -0.2], [1.4, 0.5]], [0.1, 0.7]).shape
        (2, 2)
        """
        x, tau, labels = self._points(x, tau, label)
        out = np.empty(x.shape)
        for part in _pieces(len(x)):
            call("hb_model_score", threads, self._model, len(x[part]), pointer(x[part]),
                 pointer(tau[part]), _ints(labels, part), pointer(out[part]))
        return out

    def log_density(self, x: ArrayLike, tau: ArrayLike, label: ArrayLike | None = None, *,
                    threads: int = 0) -> Floats:
        """Return ln u of a model with the energy head; its gradient is `score`.

        Parameters
        ----------
        x : array_like of shape (n, dim)
            The points.
        tau : float or array_like of shape (n,)
            Above 0.
        label : int or array_like of int of shape (n,)
            Of a model with classes; -1: none.
        threads : int
            0: one per core. The result does not depend on it.

        Returns
        -------
        ndarray of shape (n,)
            The log-density. It is normalised as well as it was learnt.

        See Also
        --------
        Model.log_likelihood : Normalised, at tau_min.
        Model.density_check : How well it is normalised.

        Examples
        --------
        >>> import numpy as np, heatball
        >>> model = heatball.train("ring", "dsm", n=200, steps=10, width=8, depth=2)
        >>> x, h = np.array([[0.3, -0.2]]), np.array([[0.01, 0.0]])
        >>> slope = (model.log_density(x + h, 0.5) - model.log_density(x - h, 0.5)) / 0.02
        >>> bool(abs(slope[0] - model.score(x, 0.5)[0, 0]) < 1e-2)
        True
        """
        x, tau, labels = self._points(x, tau, label)
        out = np.empty(len(x))
        for part in _pieces(len(x)):
            call("hb_model_log_density", threads, self._model, len(x[part]), pointer(x[part]),
                 pointer(tau[part]), _ints(labels, part), pointer(out[part]), None)
        return out

    def _field(self, process):
        """Its score, its log-density if it has one, and its dim, for `Field`."""
        return self.score, self.log_density if self.head == "energy" else None, self.dim

    def divergence(self, x: ArrayLike, tau: ArrayLike, label: ArrayLike | None = None, *, probes: int = 0,
                   seed: int = 1, threads: int = 0) -> Floats:
        """Return the divergence of the score.

        Parameters
        ----------
        x : array_like of shape (n, dim)
            The points.
        tau : float or array_like of shape (n,)
            Above 0.
        label : int or array_like of int of shape (n,)
            Of a model with classes; -1: none.
        probes : int
            Random probes that estimate it; 0: exact.
        seed : int
            Seed of the probes.
        threads : int
            0: one per core. The result does not depend on it.

        Returns
        -------
        ndarray of shape (n,)
            The divergence.

        Examples
        --------
        >>> import numpy as np, heatball
        >>> model = heatball.train("ring", "dsm", n=200, steps=10, width=8, depth=2)
        >>> model.divergence([[0.3, -0.2]], 0.5).shape
        (1,)
        """
        x, tau, labels = self._points(x, tau, label)
        out = np.empty(len(x))
        call("hb_model_divergence", threads, self._model, c_int("probes", probes, 0, INT_MAX),
             uint64("seed", seed), len(x), pointer(x), pointer(tau), _ints(labels), None,
             pointer(out))
        return out

    @renamed(tolerance="ode_tolerance")
    def generate(self, n: int, solver: str = "sde", *, label: ArrayLike | None = None, n_steps: int = 500,
                 n_correct: int = 1, snr: float = 0.16, det_tau: float = 0.15, tau_min: float | None = None,
                 tau_max: float | None = None, rho: float = 7.0,
                 denoise: str | None = None, clip: bool | None = None, ode_tolerance: float | None = None,
                 ends: ArrayLike | None = None, detail: float | None = None, seed: int = 1, first: int = 0,
                 threads: int = 0) -> Floats:
        """Return samples of the learnt data.

        Parameters
        ----------
        n : int
            Number of samples.
        solver : {"sde", "ode", "heun"}
            Reverse-time SDE with predictor and corrector; probability-flow ODE with adaptive steps; the same by Heun's method.
        label : int or array_like of int of shape (n,)
            Of a model with classes; -1: none.
        n_steps : int
            Steps of "sde" and "heun".
        n_correct : int
            Of "sde": Langevin steps after each step.
        snr : float
            Of "sde": size of a Langevin step.
        det_tau : float
            Of "sde": below this tau the ODE is taken; 0: never.
        tau_min, tau_max : float
            Range of tau; default: that of the training.
        rho : float
            Of "heun": exponent of EDM's times.
        denoise : {"none", "mean", "flow"}
            What is done with the noise of tau_min; default: "flow", for images "mean".
        clip : bool
            Keep the means of a step between black and white; default: True for a model of images.
        ode_tolerance : float
            Of "ode": error of a step in every coordinate; default: 1e-5.
        ends : array_like of shape (k, dim)
            Of a model of a drift: where its process was at tau_max; default: the samples that it keeps of its training. From
            sample k on their copies are moved first.
        detail : float
            Of a model of a drift: variance of the finest details of its distribution; default: chosen.
        seed, first : int
            Sample i is a function of the settings and i alone; the result holds i = first .. first+n-1.
        threads : int
            0: one per core. The result does not depend on it.

        Returns
        -------
        ndarray of shape (n, dim)
            The samples in the units of the data. Images reshape to (n, model.image_height, model.image_width).

        See Also
        --------
        generate : Samples of any score, with references.

        Examples
        --------
        >>> import numpy as np, heatball
        >>> model = heatball.train("ring", "dsm", n=200, steps=10, width=8, depth=2)
        >>> x = model.generate(6, n_steps=20, seed=5)
        >>> x.shape, np.array_equal(model.generate(2, n_steps=20, seed=5, first=4), x[4:])
        ((6, 2), True)
        """
        first, n = draws(first, n)
        settings = _settings(solver=choice("solver", solver, SOLVERS), n_steps=n_steps, n_correct=n_correct,
                             snr=snr, det_tau=det_tau, tau_min=tau_min, tau_max=tau_max, rho=rho,
                             ode_tolerance=ode_tolerance, detail=detail, seed=seed)
        if ends is not None:
            ends = rows("ends", ends, self.dim)
            if ends.shape[1] != self.dim:
                raise ArgumentError(f"ends has {ends.shape[1]} columns; the model has dimension {self.dim}")
            settings.ends, settings.n_ends = pointer(ends), len(ends)
        if denoise is None:
            denoise = "mean" if self.image_height else "flow"
        settings.denoise = choice("denoise", denoise, DENOISES)
        if clip and not self.image_height:
            raise ArgumentError("clip is True, but the model is not one of images")
        if clip is not None and not clip:
            settings.low, settings.high = -math.inf, math.inf
        labels = self._labels(label, n)
        out = np.empty((n, self.dim))
        with interruptible(threads) as run:
            run("hb_model_generate", self._model, ctypes.byref(settings), first, n, _ints(labels),
                pointer(out))
        return out

    @renamed(tolerance="ode_tolerance")
    def log_likelihood(self, x: ArrayLike, *, method: str = "ode", error: float = 0.05, label: ArrayLike | None = None,
                       probes: int = 0, tau_min: float | None = None, tau_max: float | None = None,
                       ode_tolerance: float | None = None, threads: int = 0) -> Floats:
        """Return ln p of samples in nats.

        Parameters
        ----------
        x : array_like of shape (n, dim)
            The samples.
        method : {"ode", "direct", "auto"}
            The probability-flow ODE; one pass of a network with the energy head, normalised; or one pass where its error is at
            most `error`, else the ODE.
        error : float
            Of "auto", in nats.
        label : int or array_like of int of shape (n,)
            Of a model with classes; -1: none.
        probes : int
            Random probes that estimate the divergence; 0: exact.
        tau_min, tau_max : float
            Range of tau; default: that of the training. p is the density at tau_min.
        ode_tolerance : float
            Error of a step in every coordinate; default: 1e-5.
        threads : int
            0: one per core. The result does not depend on it.

        Returns
        -------
        ndarray of shape (n,)
            ln p.

        See Also
        --------
        heatball.log_likelihood : The same with errors.

        Notes
        -----
        The first call of "direct" or "auto" makes a `density_check`, which takes as long as 256 likelihoods by the ODE. Of a model
        of a drift all values by the ODE have the common error of `log_normaliser`.

        Examples
        --------
        >>> import numpy as np, heatball
        >>> model = heatball.train("ring", "dsm", n=200, steps=10, width=8, depth=2)
        >>> model.log_likelihood([[0.3, -0.2], [1.4, 0.5]]).shape
        (2,)
        """
        x, _, labels = self._points(x, 1.0, label)
        settings = _settings(tau_min=tau_min, tau_max=tau_max, ode_tolerance=ode_tolerance)
        probes = c_int("probes", probes, 0, INT_MAX)
        out, by_ode = self._direct(method, error, x, labels, settings, threads)[::3]
        out[by_ode] = self._by_ode(x[by_ode], labels if labels is None else labels[by_ode], settings, probes, None, threads)
        return out

    def _by_ode(self, x, labels, settings, probes, errors, threads):
        """ln p of rows by the ODE, and into errors (n, 2), unless None."""
        out, x = np.empty(len(x)), np.ascontiguousarray(x)
        with interruptible(threads) as run:
            run("hb_model_likelihood", self._model, ctypes.byref(settings), probes, len(x), pointer(x), _ints(labels),
                pointer(out), None if errors is None else pointer(errors))
        return out

    def _direct(self, method, error, x, labels, settings, threads):
        """ln p of rows from one pass, its error, the error of their mean, and the rows that are left to the ODE."""
        choice("method", method, {"ode": 0, "direct": 1, "auto": 2})
        most = {"ode": -math.inf, "direct": math.inf}.get(method, real("error", error))
        out, errors, bias = np.empty(len(x)), np.full(len(x), math.inf), 0.0
        if method == "ode":
            return out, errors, bias, np.ones(len(x), bool)
        for label in np.unique(labels) if labels is not None else [-1]:
            of = np.flatnonzero(labels == label) if labels is not None else slice(None)
            (check, z, off), part = self._check(int(label), settings, threads), np.ascontiguousarray(x[of])
            values, spread = np.empty(len(part)), np.empty(len(part))
            own = None if labels is None else np.ascontiguousarray(labels[of])
            call("hb_model_direct_likelihood", threads, self._model, len(part), ctypes.byref(check), pointer(z),
                 pointer(off), pointer(part), _ints(own), pointer(values), pointer(spread))
            out[of], errors[of] = values, spread
            bias = max(bias, abs(check.mean) + check.spread / math.sqrt(check.rows))
        return out, errors, bias, errors > most

    def _check(self, label, settings, threads, rows=CHECK_ROWS):
        """The hb_density_check of a label with its samples z and how far both densities differ there, kept with the model."""
        kept = self.__dict__.setdefault("_checks", {})
        key = (label, rows, *(repr(getattr(settings, name)) for name in ("tau_min", "tau_max", "ode_tolerance", "seed")))
        if key not in kept:
            check, n = DensityCheck(), rows or CHECK_ROWS
            z, off = np.empty((n, self.dim)), np.empty(n)
            with interruptible(threads) as run:
                run("hb_model_density_check", self._model, ctypes.byref(settings), rows, label, ctypes.sizeof(check),
                    ctypes.byref(check), pointer(z), pointer(off))
            kept[key] = check, z, off
        return kept[key]

    @renamed(tolerance="ode_tolerance")
    def density_check(self, *, samples: int = CHECK_ROWS, label: int = -1, tau_min: float | None = None,
                      tau_max: float | None = None, ode_tolerance: float | None = None, seed: int = 1,
                      threads: int = 0) -> Result:
        """Compare the network's own density at tau_min with that of its probability flow, over samples of the flow.

        Parameters
        ----------
        samples : int
            At least 80.
        label : int
            Of a model with classes: that of the samples; -1: none.
        tau_min, tau_max : float
            Range of tau; default: that of the training.
        ode_tolerance : float
            Error of a step in every coordinate; default: 1e-5.
        seed : int
            Seed of the samples.
        threads : int
            0: one per core. The result does not depend on it.

        Returns
        -------
        Result
            log_normaliser, log_normaliser_se: ln of the integral of the network's density, 0 if it is normalised, and its standard
            error; effective: fraction of the samples that count in it; mean, spread: of the difference of ln p from one pass to
            that of the ODE; error_all: 95 % of the samples differ by less than 1.96 of it; offset: what is subtracted from the
            network's log-density.

        Notes
        -----
        Of a model with the energy head. docs/howto/likelihoods.md has the formulas.

        Examples
        --------
        >>> import heatball
        >>> model = heatball.train("ring", n=200, steps=10, width=8, depth=2)
        >>> check = model.density_check(samples=80)
        >>> 0 < check.effective <= 1
        True
        """
        settings = _settings(tau_min=tau_min, tau_max=tau_max, ode_tolerance=ode_tolerance, seed=seed)
        found, _, _ = self._check(c_int("label", label, -1, INT_MAX), settings, threads, c_int("samples", samples, 0, INT_MAX))
        names = [name for name, _ in DensityCheck._fields_ if name != "size"]
        return Result({name: getattr(found, name) for name in names}, f"Density of one pass at tau {found.tau_min:g} against the ODE's")

    def log_normaliser(self, *, seed: int = 1, threads: int = 0) -> tuple[float, float]:
        """Return ln of the integral of the model's density at tau_max, and its standard error.

        Parameters
        ----------
        seed : int
            Seed of the samples; `log_likelihood` uses the value of seed 1.
        threads : int
            0: one per core. The result does not depend on it.

        Returns
        -------
        tuple of float
            The value and its standard error; (0, 0) for "ou" and "ve", which begin with a Gaussian.

        Notes
        -----
        Of a model of a drift with the energy head.

        Examples
        --------
        >>> import numpy as np, heatball
        >>> model = heatball.train("ring", "dsm", n=200, steps=10, width=8, depth=2)
        >>> model.log_normaliser()
        (0.0, 0.0)
        """
        out = np.empty(2)
        call("hb_model_log_normaliser", threads, self._model, uint64("seed", seed), pointer(out),
             pointer(out[1:]))
        return tuple(out.tolist())

    def noised(self, x: ArrayLike, tau: float, noise: ArrayLike) -> Floats:
        """Return samples x after the process has run for tau.

        Parameters
        ----------
        x : array_like of shape (n, dim)
            The samples.
        tau : float
            The time.
        noise : array_like of shape (n, dim)
            Standard normals.

        Returns
        -------
        ndarray of shape (n, dim)
            a x + sqrt(b) noise in the model's coordinates; under a drift x itself, whose distribution at tau has no formula.

        Examples
        --------
        >>> import numpy as np, heatball
        >>> model = heatball.train("ring", "dsm", n=200, steps=10, width=8, depth=2)
        >>> model.noised([[1.0, 2.0]], np.log(2), [[0.0, 0.0]]).round(6).tolist()
        [[0.5, 1.0]]
        """
        x, noise = self._points(x, 1.0, None)[0], rows("noise", noise, self.dim)
        if x.shape != noise.shape:
            raise ArgumentError(f"noise has shape {noise.shape}; it must be {x.shape}")
        if self.process == "drift":
            return x
        z, tau = np.empty_like(x), real("tau", tau)
        library.hb_model_standardise(self._model, len(x), pointer(x), pointer(z))
        a, b = (math.exp(-tau), -math.expm1(-2 * tau)) if self.process == "ou" else (1, 2 * tau)
        if self.maps:
            z = a * z + math.sqrt(b) * noise
            library.hb_model_to_data(self._model, len(x), pointer(z), pointer(z))
            return z
        return x + self.scales * ((a - 1) * z + math.sqrt(b) * noise)

    def _standardised(self, x):
        """Rows x in the coordinates z, in which the process is."""
        z = np.empty_like(x)
        library.hb_model_standardise(self._model, len(x), pointer(x), pointer(z))
        return z

    def _of_z(self, name, z, tau):
        """The score, or the log-density, of z at z: what hb_model_score_of_z, hb_model_log_density_of_z give."""
        z = np.ascontiguousarray(z, dtype=np.float64)
        tau = np.ascontiguousarray(np.broadcast_to(np.asarray(tau, dtype=np.float64), (len(z),)))
        out = np.empty(z.shape if name == "score" else len(z))
        more = () if name == "score" else (None,)
        call(f"hb_model_{name}_of_z", 0, self._model, len(z), pointer(z), pointer(tau), None, pointer(out), *more)
        return out

    def save(self, path: Path) -> None:
        """Write the model to a .safetensors file, which is whole or not there.

        Parameters
        ----------
        path : path
            The file.

        See Also
        --------
        load : Read it again.

        Examples
        --------
        >>> import os, tempfile, heatball
        >>> model = heatball.train("ring", "dsm", n=200, steps=10, width=8, depth=2)
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     path = os.path.join(directory, "ring.safetensors")
        ...     model.save(path)
        ...     twin = heatball.load(path)
        >>> twin.info == model.info
        True
        """
        call("hb_model_save", 1, self._model, path_bytes("path", path))

    def _points(self, x, tau, label):
        """Return x (n, dim), tau (n,) and labels (n,) or None, contiguous."""
        x = rows("x", x, self.dim)
        if x.shape[1] != self.dim:
            raise ArgumentError(f"x has {x.shape[1]} columns; the model has dimension {self.dim}")
        if np.ndim(tau) == 0:
            tau = np.full(len(x), real("tau", tau))
        tau = array("tau", tau, 1)
        if len(tau) != len(x):
            raise ArgumentError(f"tau has {len(tau)} values; x has {len(x)} rows")
        return x, tau, self._labels(label, len(x))

    def _labels(self, label, n):
        if label is None:
            return None
        if self.classes == 0:
            raise ArgumentError("label is given, but the model was trained without labels")
        label = integers("label", label)
        if label.ndim == 0:
            label = np.full(n, label, np.int32)
        if label.shape != (n,):
            raise ArgumentError(f"label has shape {label.shape}; it must be a number or {(n,)}")
        return label


Model.__module__ = "heatball"


def _settings(**given):
    return filled(GenerateSettings, library.hb_generate_settings_default, given)


def _destroy(handle, owner):
    """The model first, then, when `owner` goes, its context."""
    library.hb_model_destroy(handle)


def _from_bytes(data):
    with alone(), tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "model.safetensors")
        with open(path, "wb") as file:
            file.write(data)
        return load_model(path)


def _lines(text):
    """The lines NAME=VALUE of a problem as a dict, without those of its coordinates."""
    lines = text.decode().splitlines()
    if "time=t" in lines:
        first = lines.index("time=t")
        del lines[first:first + 2]
    return dict(line.split("=", 1) for line in lines)


def _name_of(table, code):
    return next(name for name, value in table.items() if value == code)


def _pieces(n):
    return [slice(first, first + CHUNK) for first in range(0, max(n, 1), CHUNK)]


def _ints(values, part=slice(None)):
    if values is None:
        return None
    return values[part].ctypes.data_as(ctypes.POINTER(ctypes.c_int))


# ---- what `train` needs too -----------------------------------------------------------------------

def rows(name, values, dim=None):
    """Return `values` as contiguous doubles (n, dim); (n,) will do for dim 1."""
    values = real_array(name, values)
    return array(name, values[:, None] if values.ndim == 1 and dim in (None, 1) else values, 2)


def integers(name, values):
    """Return `values` as an array of C's int, without rounding or wrapping."""
    values = real_array(name, values, "integers")
    if values.dtype.kind not in "iu":
        raise TypeError(f"{name} has dtype {values.dtype}; it must be integers")
    if values.size and (values.max() > INT_MAX or values.min() < -INT_MAX):
        raise ArgumentError(f"{name} has {max(values.max(), -values.min())}; it must be -1 or a class")
    return np.asarray(values, np.int32, order="C")
