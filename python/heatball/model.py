"""Trained score models: score, log-density, samples, likelihoods, files."""

from __future__ import annotations

import ctypes
import math
import os
import tempfile
import weakref
from typing import Any

import numpy as np

from heatball._arguments import (INT_MAX, array, c_int, choice, draws, filled, path_bytes, pointer, real,
                                 real_array, uint64)
from heatball._context import Handle, alone, call
from heatball._errors import ArgumentError, check
from heatball._interrupt import interruptible
from heatball._native import (DensityCheck, Denoise, GenerateSettings, Head, Model as _CModel, ModelInfo, Process, Solver,
                              library)
from heatball._tables import Result, Shown
from heatball._types import ArrayLike, Floats, Path

__all__ = ["Model", "load"]

HEADS = {head.name.removeprefix("HEAD_").lower(): int(head) for head in Head}
PROCESSES = {process.name.removeprefix("PROCESS_").lower(): int(process) for process in Process}
SOLVERS = {solver.name.removeprefix("SOLVER_").lower(): int(solver) for solver in Solver}
DENOISES = {denoise.name.removeprefix("DENOISE_").lower(): int(denoise) for denoise in Denoise}
CHECK_ROWS = 256  # samples of a density check
CHUNK = 1 << 14  # rows between two chances for KeyboardInterrupt; a multiple of the library's 256


def load(path: Path) -> Model:
    """Read a model from a file that `Model.save` or ``heatball train`` has written.

    Parameters
    ----------
    path : path
        A .safetensors file. One that is not a model, is cut short or was changed is refused with
        the reason.

    Returns
    -------
    Model

    Examples
    --------
    >>> import heatball
    >>> heatball.load("/nowhere/model.safetensors")
    Traceback (most recent call last):
    ...
    heatball.Error: cannot open /nowhere/model.safetensors: No such file or directory
    """
    owner, handle = Handle(1), ctypes.POINTER(_CModel)()
    check(owner.pointer, library.hb_model_load(owner.pointer, path_bytes("path", path),
                                               ctypes.byref(handle)))
    return Model._own(owner, handle)


class Model(Shown):
    """A score network with the process that it was trained for; made by `train` and `load`.

    The process adds noise to data x for a time tau: "ou", dx = -x dtau + sqrt(2) dW; "ve", dx =
    sqrt(2) dW; "drift", dx = F(x) dtau + sqrt(2) dW or, trained with `noise`, dx = F(x) dtau + G(x) dW. A
    model of standardised data has the process in z_j = (x_j - shift_j)/scales_j, and tau is that of z; x, scores and log-densities are always those
    of x.

    Attributes
    ----------
    dim, classes : int
        Coordinates of a point; number of labels, 0 without.
    head : str
        "energy" (has a log-density), "score" or "helmholtz".
    process, method : str
    width, depth, residual, time_features, parameters : int
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

    Examples
    --------
    >>> import numpy as np, heatball
    >>> model = heatball.train(heatball.dataset("two_moon"), n=500, steps=20, width=16, depth=2)
    >>> model
    Model in dimension 2: energy head, method hb, process ou, width 16, depth 2, 20 steps
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
                         method=raw.method.decode())
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
        if name in self.__dict__.get("info", ()):
            return self.info[name]
        raise AttributeError(f"'Model' object has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.info]

    def _title(self) -> str:
        return (f"Model in dimension {self.dim}: {self.head} head, method {self.method}, process "
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
        """Draw generated rows over what the model has learnt, by matplotlib; return the axes.

        In one and two dimensions with the learnt density (of the energy head) or score; above, the first two columns; of a
        model of images pictures of them.

        Parameters
        ----------
        x : array_like of shape (m, dim)
            Rows to draw instead of generated ones.
        tau : float
            Of the density or score; default 0.1.
        n : int
            Rows to generate: 500, images 40.
        label, seed : int
            As in `generate`.
        ax : matplotlib.axes.Axes
            Where to draw; default: a new figure.

        Raises
        ------
        ImportError
            When matplotlib is not installed.

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

    def score(self, x: ArrayLike, tau: ArrayLike, label: ArrayLike | None = None, *, threads: int = 0) -> Floats:
        """Return the gradient of ln u at x and tau, of shape (n, dim).

        x is (n, dim), tau a number above 0 or (n,); label, of a model with classes, a number or (n,),
        -1 for none.

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
        """Return ln u at x and tau, of shape (n,); of a model with the energy head.

        Its gradient is `score`. It is normalised as well as it was learnt.

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
        """Return the divergence of the score, of shape (n,); exact, or by random probes.

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

    def generate(self, n: int, solver: str = "sde", *, label: ArrayLike | None = None, n_steps: int | None = None,
                 n_correct: int | None = None, snr: float | None = None, det_tau: float | None = None,
                 tau_min: float | None = None, tau_max: float | None = None, rho: float | None = None,
                 denoise: str | None = None, clip: bool | None = None, tolerance: float | None = None,
                 ends: ArrayLike | None = None, detail: float | None = None, seed: int = 1, first: int = 0,
                 threads: int = 0) -> Floats:
        """Return samples first .. first+n-1 of the learnt data, of shape (n, dim).

        solver is "sde" (predictor and corrector, then the ODE below det_tau), "ode" (adaptive) or
        "heun"; denoise, at the end, "none", "mean" or "flow", by default "mean" for a model of images
        and "flow" for others; clip keeps the means that a step heads for between black and white, by
        default True for a model of images; docs/explanation/generation.md says what each setting does and its default. Sample
        i is a function of the settings and i alone. Images are rows too, in the units of the data;
        ``reshape(n, model.image_height, model.image_width)`` gives them their sides.

        A model of a drift starts from the rows `ends`, of shape (k, dim), where its process was at tau_max, by
        default from those that it keeps of its training (at most 4096); from sample k on their copies are
        moved first. detail is the variance of the finest details of its distribution, which steps go by.

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
                             tolerance=tolerance, detail=detail, seed=seed)
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

    def log_likelihood(self, x: ArrayLike, *, method: str = "ode", error: float = 0.05, label: ArrayLike | None = None,
                       probes: int = 0, tau_min: float | None = None, tau_max: float | None = None,
                       tolerance: float | None = None, threads: int = 0) -> Floats:
        """Return ln p(x) in nats, of shape (n,).

        p is the distribution at tau_min, by default the smallest trained tau. method is "ode", the probability-flow ODE;
        "direct", one pass of a network with the energy head, normalised; or "auto", one pass where its error is at most
        `error` nats, else the ODE. The first call of the latter two makes a `density_check`, which takes as long as 256
        likelihoods by the ODE. `heatball.log_likelihood` gives the same with errors.

        probes is 0 for the exact divergence, else the number of random probes that estimate it, for large dim. Of a model of
        a drift (energy head) all values by the ODE share the error of `log_normaliser`.

        Examples
        --------
        >>> import numpy as np, heatball
        >>> model = heatball.train("ring", "dsm", n=200, steps=10, width=8, depth=2)
        >>> model.log_likelihood([[0.3, -0.2], [1.4, 0.5]]).shape
        (2,)
        """
        x, _, labels = self._points(x, 1.0, label)
        settings = _settings(tau_min=tau_min, tau_max=tau_max, tolerance=tolerance)
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
        key = (label, rows, *(repr(getattr(settings, name)) for name in ("tau_min", "tau_max", "tolerance", "seed")))
        if key not in kept:
            check, n = DensityCheck(), rows or CHECK_ROWS
            z, off = np.empty((n, self.dim)), np.empty(n)
            with interruptible(threads) as run:
                run("hb_model_density_check", self._model, ctypes.byref(settings), rows, label, ctypes.sizeof(check),
                    ctypes.byref(check), pointer(z), pointer(off))
            kept[key] = check, z, off
        return kept[key]

    def density_check(self, *, samples: int = CHECK_ROWS, label: int = -1, tau_min: float | None = None,
                      tau_max: float | None = None, tolerance: float | None = None, seed: int = 1,
                      threads: int = 0) -> Result:
        """Compare the network's own density at tau_min with that of its probability flow, over samples of the flow.

        Of a model with the energy head. docs/howto/likelihoods.md has the formulas.

        Parameters
        ----------
        samples : int
            At least 80.
        label : int
            Of a model with classes: that of the samples, -1 for none.
        tau_min, tau_max, tolerance, seed, threads
            As in `generate`.

        Returns
        -------
        Result
            log_normaliser, log_normaliser_se: ln of the integral of the network's density, 0 if it is normalised, and the
            standard error; effective: fraction of the samples that count in it; mean, spread: of the
            difference of ln p from one pass to that of the ODE; error_all: 95 % of the samples differ by less than 1.96 of it; offset: what is taken off the network's log-density, log_normaliser, or where
            effective is below 0.5 the median of the differences.

        Examples
        --------
        >>> import heatball
        >>> model = heatball.train("ring", n=200, steps=10, width=8, depth=2)
        >>> check = model.density_check(samples=80)
        >>> 0 < check.effective <= 1
        True
        """
        settings = _settings(tau_min=tau_min, tau_max=tau_max, tolerance=tolerance, seed=seed)
        found, _, _ = self._check(c_int("label", label, -1, INT_MAX), settings, threads, c_int("samples", samples, 0, INT_MAX))
        names = [name for name, _ in DensityCheck._fields_ if name != "size"]
        return Result({name: getattr(found, name) for name in names}, f"Density of one pass at tau {found.tau_min:g} against the ODE's")

    def log_normaliser(self, *, seed: int = 1, threads: int = 0) -> tuple[float, float]:
        """Return ln of the integral of the model's density at tau_max, and the standard error of it.

        Of a model of a drift with the energy head; (0, 0) for "ou" and "ve", which start from a Gaussian.
        `log_likelihood` takes the value of seed 1 off.

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
        """Return rows x after the process has run for tau, with standard normals `noise` like x.

        Under "ou" and "ve"; under a drift x itself, whose distribution at tau has no formula.

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
        return load(path)


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
