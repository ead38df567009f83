"""How far a score is from solving its equation, where, and by which test."""

from __future__ import annotations

import copy
import ctypes
import html
import json
import math
import os
import pickle
import tempfile
import weakref
import zlib
from typing import Any, Callable, Mapping, NamedTuple, Sequence

import numpy as np

from heatball._arguments import array, c_int, filled, path_bytes, pointer, renamed, shown, uint64
from heatball._callables import as_field, values_of_rows
from heatball._context import call, context
from heatball._errors import ArgumentError, check
from heatball._interrupt import interruptible
from heatball._native import (CERTIFY, Certificate as _CCertificate, CertificateLine, CertifySettings,
                              Mixture as _CMixture, Problem, ProblemSettings, Verdict, library)
from heatball._tables import Shown
from heatball._training import _reporter
from heatball._types import ArrayLike
from heatball.data import Mixture, dataset
from heatball.model import PROCESSES, Model
from heatball.sde import drift_text, fill_parameters

__all__ = ["Certificate", "certify"]

_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p,
                             ctypes.c_void_p)
JSON, PAGE = "certificate.json", "certificate.html"
DRAWS, FIRST = 2000, 2**40  # rows of a set, far from those of a training whatever the seeds


class Line(NamedTuple):
    """One line of a certificate."""

    name: str
    tau: float | None
    value: float | None
    error: float | None
    p_value: float | None
    verdict: str
    text: str


@renamed(share="time_fraction", samples="flow_samples")
def certify(f: Any, data: ArrayLike | Mixture | str | os.PathLike[str], *, process: str = "ou",
            drift: str | Sequence[str] | None = None, params: Mapping[str, float] | None = None,
            initial: str | None = None, tau: ArrayLike | None = None, tau_min: float | None = None,
            tau_max: float | None = None, training: ArrayLike | None = None,
            divergence: Callable[..., Any] | None = None, tolerance: float = 0.0, level: float = 0.95,
            rows: int = 1000, pairs: int = 16, time_fraction: float = 0.3, flow_samples: int = 500, label: int | None = None, seed: int = 1, name: str | None = None,
            threads: int = 0, progress: bool | Callable[[int, int], Any] | None = None,
            max_time: float = 0.0) -> Certificate:
    """Test a score against samples that it has not seen.

    Parameters
    ----------
    f : callable, Model, Mixture, or object with a method score
        f(x, tau) with x of shape (n, dim) and tau of shape (n,) returns the score, of shape (n, dim), or the log-density, of
        shape (n,).
    data : array_like of shape (n, dim), Mixture, or str
        At least 100 samples that f was not made from; or a mixture or the name of a data set, from which samples are drawn
        and whose score is known; or the path of a .npy or .csv file.
    process : {"ou", "ve", "drift"}
        The noising process; `drift` implies "drift". A model has its own.
    drift : str or list of str
        F of dx = F(x) dtau + sqrt(2) dW.
    params : dict
        Named numbers of `drift`.
    initial : str
        With `drift`: the initial density as in `solve`, if it is known, for the exact score at points.
    tau : array_like of shape (k,)
        Where f is tested; default: 0.02, 0.1, 0.3 and 1.
    tau_min, tau_max : float
        Where f is known; default: 0.001 and 3, or the model's.
    training : array_like of shape (m, dim)
        Samples that f was made from, for the test of memorisation.
    divergence : callable
        divergence(x, tau) of shape (n,), the divergence of the score; default: differences.
    tolerance : float
        Relative effect that is accepted; no trained network passes at 0 with enough samples.
    level : float
        Level of all verdicts together (Holm).
    rows : int
        Samples that are used at most.
    pairs : int
        Pairs of nodes of a heat ball, in each of two halves.
    time_fraction : float
        Fraction of the time from tau_min that a heat ball reaches back.
    flow_samples : int
        Samples carried along the probability flow, at most half of all; 0: none.
    label : int
        Of a model with classes.
    seed : int
        Seed of all draws.
    name : str
        Name of f on the page.
    threads : int
        0: one per core. The result does not depend on it.
    progress : bool or callable
        True: lines on the standard error stream with the evaluations of f and the seconds left; or progress(done, total).
    max_time : float
        Seconds after which the lines that are measured make the certificate, which has not passed; 0: no limit.

    Returns
    -------
    Certificate
        With passed, lines, summary and save(directory).

    See Also
    --------
    residual : The mean-value residual alone.
    score_error : The error against a known distribution.

    Notes
    -----
    Every line is a number that is 0 for the score of the true distribution, with its error and a p-value. The true score
    passes with probability `level` at least. The residual lines test the Fokker-Planck equation over heat balls, the Stein
    lines the identity of Hyvärinen [1]_, E[|s|^2 + div s] and its relatives, on the samples.
    docs/explanation/certificates.md says what each line finds.

    References
    ----------
    .. [1] A. Hyvärinen, "Estimation of non-normalized statistical models by score matching", JMLR 6, 2005.
    .. [2] S. Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Statist. 6, 1979.

    Examples
    --------
    >>> import heatball
    >>> moons = heatball.dataset("two_moon")
    >>> c = heatball.certify(lambda x, tau: 1.1 * moons.score(x, tau), moons, rows=300, flow_samples=0, tau=[0.3])
    >>> c.passed
    False
    >>> [line.name for line in c.lines if line.verdict == "fails"]
    ['residual', 'stein scale', 'stein width', 'truth']
    """
    x, truth, data_name = _rows(data, seed)
    if not np.isfinite(x).all():
        row, column = np.argwhere(~np.isfinite(x))[0]
        raise ArgumentError(f"row {row + 1}, column {column + 1} of data is {x[row, column]}; it must be finite")
    settings = filled(CertifySettings, library.hb_certify_settings_default,
                      {"tau_min": tau_min, "tau_max": tau_max, "tolerance": tolerance, "level": level, "rows": rows,
                       "pairs": pairs, "time_fraction": time_fraction, "flow_samples": flow_samples, "seed": seed, "max_time": max_time})
    keep = [x]
    if tau is not None:
        keep.append(array("tau", np.atleast_1d(tau), 1))
        settings.tau, settings.n_tau = pointer(keep[-1]), len(keep[-1])
    if training is not None:
        keep.append(array("training", training, 2))
        if keep[-1].shape[1] != x.shape[1]:
            raise ArgumentError(f"training has {keep[-1].shape[1]} columns; the rows have {x.shape[1]}")
        settings.training, settings.n_training = pointer(keep[-1]), len(keep[-1])
    settings.name = str(name if name is not None else _name_of(f)).encode(errors="replace")
    settings.data_name = data_name.encode(errors="replace")
    certificate = ctypes.POINTER(_CCertificate)()
    with interruptible(threads, _reporter(progress, "certify: evaluation")) as run, _Problem(run, drift, params, initial, x.shape[1]) as problem, \
            _Truth(run, truth) as mixture:
        settings.drift, settings.truth = problem, mixture
        if isinstance(f, Model):
            if process != "ou" and process != f.process or drift is not None and f.process != "drift":
                raise ArgumentError(f"process is {shown(process)}; the model's is {f.process!r}")
            run("hb_certify_model", f._model, ctypes.byref(settings),
                -1 if label is None else c_int("label", label, -1, 2**31 - 1), len(x), pointer(x),
                ctypes.byref(certificate))
        else:
            _certify_field(run, f, x, process, drift, divergence, label, settings, certificate)
        return Certificate._own(run.owner, certificate)


def _certify_field(run, f, x, process, drift, divergence, label, settings, certificate):
    if label is not None:
        raise ArgumentError("label is for a Model; a function has its own labels")
    settings.process = _process(process, drift)
    field = copy.copy(as_field(f, "drift" if drift is not None else process))
    field._finite = lambda values, x, tau: values  # the library looks: far from the rows it is a finding
    if field.dim is not None and field.dim != x.shape[1]:
        raise ArgumentError(f"f has {field.dim} dimensions; the rows have {x.shape[1]} columns")
    field.learn(x, float(settings.tau[0]) if settings.n_tau else 0.1)
    dim, made = x.shape[1], []

    def callback(function):
        def fill(n, x, tau, out):
            points, times = np.empty((n, dim)), np.empty(n)
            ctypes.memmove(points.ctypes.data, x, points.nbytes)
            ctypes.memmove(times.ctypes.data, tau, times.nbytes)
            values = np.ascontiguousarray(function(points, times), np.float64)
            ctypes.memmove(out, values.ctypes.data, values.nbytes)

        made.append(_CALLBACK(lambda user, n, x, tau, out: run.of_user(lambda: fill(n, x, tau, out))))
        return ctypes.cast(made[-1], CERTIFY)

    if field.has_log_density:
        settings.log_density = callback(field.log_density)
    if divergence is not None:
        settings.divergence = callback(lambda x, tau: values_of_rows("divergence", divergence(x, tau), len(x)))
    run("hb_certify", ctypes.byref(settings), dim, len(x), pointer(x), callback(field.score), None,
        ctypes.byref(certificate))


# ---- arguments --------------------------------------------------------------------------------------

def _rows(data, seed):
    """Rows, the mixture that they are drawn from or None, and what they are called."""
    if isinstance(data, Mixture):
        name = data.name or f"a mixture of {len(data.weights)} Gaussians"
        return data.sample(DRAWS, seed=uint64("seed", seed), first=FIRST), data, str(name)
    if isinstance(data, str) and os.path.splitext(data)[1].lower() not in (".npy", ".csv"):
        return _rows(dataset(data), seed)
    if isinstance(data, (str, os.PathLike)):
        dim, n, x = ctypes.c_int(), ctypes.c_size_t(), ctypes.POINTER(ctypes.c_double)()
        call("hb_data_read", 0, path_bytes("data", data), ctypes.byref(dim), ctypes.byref(n), ctypes.byref(x))
        try:
            found = np.ctypeslib.as_array(x, (n.value, dim.value)).copy()
        finally:
            library.hb_context_release(context(0), x)
        return found, None, os.fspath(data)
    found = np.asarray(data)
    return array("data", found[:, None] if found.ndim == 1 else found, 2), None, "the rows"


def _name_of(f):
    if isinstance(f, (Model, Mixture)):
        return repr(f)
    return getattr(f, "__qualname__", None) or type(f).__name__


def _process(process, drift):
    if drift is not None and process == "ou":  # its default
        process = "drift"
    if not isinstance(process, str) or process not in PROCESSES:
        raise ArgumentError(f"process is {shown(process)}; it must be one of {', '.join(PROCESSES)}")
    if (process == "drift") != (drift is not None):
        raise ArgumentError(f"process is {shown(process)}; drift goes with process \"drift\" and with no other")
    return PROCESSES[process]


class _Problem:
    """The problem of a drift, or None."""

    def __init__(self, run, drift, params, initial, dim):
        self.run, self.drift, self.params, self.initial, self.dim = run, drift, params, initial, dim
        if drift is None and (params is not None or initial is not None):
            raise ArgumentError("params and initial go with drift")
        if callable(drift):
            raise TypeError("drift is a function; it must be text, as in \"x - x^3\"")

    def __enter__(self):
        self.problem = ctypes.POINTER(Problem)()
        if self.drift is not None:
            settings = ProblemSettings()
            library.hb_problem_settings_default(ctypes.sizeof(settings), ctypes.byref(settings))
            settings.drift, settings.dim, settings.noise = drift_text(self.drift), self.dim, b"sqrt(2)"
            if self.initial is not None:
                settings.initial = str(self.initial).encode()
            keep = fill_parameters(settings, self.params or {})
            self.run("hb_problem_create", ctypes.byref(settings), ctypes.byref(self.problem))
            del keep
        return self.problem

    def __exit__(self, *error):
        library.hb_problem_destroy(self.problem)


class _Truth:
    """The C mixture of a Mixture on the run's context, or None."""

    def __init__(self, run, mixture):
        self.run, self.mixture = run, mixture

    def __enter__(self):
        self.handle = ctypes.POINTER(_CMixture)()
        if self.mixture is not None:
            m = self.mixture
            self.run("hb_mixture_create", m.means.shape[1], len(m.weights), pointer(m.weights), pointer(m.means),
                     pointer(m.covariances), ctypes.byref(self.handle))
        return self.handle

    def __exit__(self, *error):
        library.hb_mixture_destroy(self.handle)


# ---- the result -------------------------------------------------------------------------------------

class Certificate(Shown):
    """What `certify` found.

    Attributes
    ----------
    passed : bool
        Whether no line fails.
    lines : list of Line
        name, tau (None: of no single tau), value, error, p_value (None where there is none), verdict ("holds",
        "fails" or "skipped"), text.
    summary : str
        One sentence.

    Examples
    --------
    >>> import heatball
    >>> moons = heatball.dataset("two_moon")
    >>> c = heatball.certify(moons, moons, rows=300, flow_samples=0, tau=[0.3])
    >>> c.passed, c.summary
    (True, 'passed: none of 9 lines fails at the level of 95 %')
    """

    def __init__(self):
        raise TypeError("a certificate is made by heatball.certify")

    passed: bool
    summary: str
    lines: list[Line]
    _files: dict[str, bytes] | None = None  # of a certificate that was read: what `save` writes

    @classmethod
    def _own(cls, owner, handle):
        self = cls.__new__(cls)
        self._owner, self._handle = owner, handle
        weakref.finalize(self, _destroy, handle, owner).atexit = False
        self.passed = bool(library.hb_certificate_passed(handle))
        self.summary = library.hb_certificate_summary(handle).decode()
        self.lines = [self._line(i) for i in range(library.hb_certificate_size(handle))]
        return self

    @classmethod
    def _from_files(cls, files):
        """The certificate of the files of its directory, by their names."""
        self, content = cls.__new__(cls), json.loads(files[JSON])
        self._files, self.passed, self.summary = files, content["passed"], content["summary"]
        if not isinstance(self.passed, bool) or not isinstance(self.summary, str):
            raise TypeError("passed and summary have the wrong types")
        self.lines = [Line(*(line[field] for field in Line._fields)) for line in content["lines"]]
        return self

    @classmethod
    def _from_path(cls, place):
        """The certificate of a directory that `save` has written, or of its certificate.json."""
        directory = place if os.path.isdir(place) else os.path.dirname(place)
        path = os.path.join(place, JSON) if os.path.isdir(place) else place
        try:
            files = {JSON: _bytes(path)}
            page = os.path.join(directory, PAGE)
            if os.path.basename(path) == JSON and os.path.isfile(page):
                names = [PAGE, *(name for name in os.listdir(directory) if name.endswith((".svg", ".plot.csv", ".gp")))]
                files.update((name, _bytes(os.path.join(directory, name))) for name in names)
        except OSError as error:
            raise ArgumentError(f"cannot open {path}: {error.strerror}; it is no certificate") from None
        try:
            return cls._from_files(files)
        except (ValueError, KeyError, TypeError) as error:
            raise ArgumentError(f"{path} is no certificate, or damaged: {type(error).__name__}: {error}") from None

    def _all_files(self):
        if self._files is not None:
            return self._files
        with tempfile.TemporaryDirectory() as directory:
            self.save(directory)
            return {name: _bytes(os.path.join(directory, name)) for name in os.listdir(directory)}

    def __reduce__(self) -> Any:  # pickle, copy: through the files that `save` writes
        return _restored, (zlib.compress(pickle.dumps(self._all_files())),)

    def __copy__(self) -> Certificate:
        return self  # nothing in it changes

    def __deepcopy__(self, memo: dict[int, Any]) -> Certificate:
        return self

    def _line(self, index):
        raw = CertificateLine()
        check(self._owner.pointer, library.hb_certificate_line_get(
            self._owner.pointer, self._handle, index, ctypes.sizeof(raw), ctypes.byref(raw)))
        numbers = [None if math.isnan(value) else value for value in (raw.tau, raw.value, raw.error, raw.p_value)]
        verdict = Verdict(raw.verdict).name.removeprefix("VERDICT_").lower()
        return Line(raw.name.decode(), *numbers, verdict, raw.text.decode(errors="replace"))

    def _title(self) -> str:
        return f"Certificate {self.summary}"

    def _columns(self) -> Mapping[str, Any]:
        numbers = ("tau", "value", "error", "p_value")
        columns = {field: [getattr(line, field) for line in self.lines] for field in Line._fields}
        return {("value_se" if field == "error" else field):
                np.array([math.nan if one is None else one for one in values]) if field in numbers else values
                for field, values in columns.items()}

    def _repr_html_(self) -> str:
        cells = "".join("<tr>" + "".join(
            f"<td>{html.escape(one if isinstance(one, str) else _shown(one))}</td>" for one in line) + "</tr>"
            for line in self.lines)
        heads = "".join(f"<th>{field}</th>" for field in Line._fields)
        return f"<p>{html.escape(self._title())}</p><table><tr>{heads}</tr>{cells}</table>"

    def __repr__(self) -> str:
        rows = [(line.name, _shown(line.tau), _shown(line.value), _shown(line.error), _shown(line.p_value),
                 line.verdict, line.text) for line in self.lines]
        head = ("line", "tau", "value", "error", "p", "verdict", "")
        widths = [max(len(row[k]) for row in [head, *rows]) for k in range(6)]
        return "\n".join([f"Certificate {self.summary}"] + [
            "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[6]]).rstrip()
            for row in [head, *rows]])

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain numbers, texts and lists.

        Returns
        -------
        dict
            What `save` writes as certificate.json.

        Examples
        --------
        >>> import heatball
        >>> moons = heatball.dataset("two_moon")
        >>> heatball.certify(moons, moons, rows=300, flow_samples=0, tau=[0.3]).to_dict()["passed"]
        True
        """
        if self._files is not None:
            return json.loads(self._files[JSON])
        out = ctypes.POINTER(ctypes.c_char)()
        check(self._owner.pointer, library.hb_certificate_json(self._owner.pointer, self._handle, ctypes.byref(out)))
        try:
            return json.loads(ctypes.cast(out, ctypes.c_char_p).value)
        finally:
            library.hb_context_release(self._owner.pointer, out)

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write certificate.html, certificate.json and the figures into a directory.

        Parameters
        ----------
        directory : path
            It is made if needed.

        See Also
        --------
        load : Read it again.

        Examples
        --------
        >>> import heatball, os, tempfile
        >>> moons = heatball.dataset("two_moon")
        >>> c = heatball.certify(moons, moons, rows=300, flow_samples=0, tau=[0.3])
        >>> with tempfile.TemporaryDirectory() as place:
        ...     c.save(place)
        ...     os.path.exists(os.path.join(place, "certificate.html"))
        True
        """
        if self._files is not None:
            os.makedirs(directory, exist_ok=True)
            for name, content in self._files.items():
                with open(os.path.join(os.fspath(directory), name), "wb") as file:
                    file.write(content)
            return
        check(self._owner.pointer, library.hb_certificate_save(self._owner.pointer, self._handle,
                                                               path_bytes("directory", directory)))


Certificate.__module__ = "heatball"


def _restored(packed):
    """The certificate of a pickle."""
    return Certificate._from_files(pickle.loads(zlib.decompress(packed)))


def _bytes(path):
    with open(path, "rb") as file:
        return file.read()


def _destroy(handle, owner):  # the context outlives what was made on it
    library.hb_certificate_destroy(handle)
    del owner


def _shown(value):
    return "" if value is None else f"{value:.3g}"
