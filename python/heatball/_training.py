"""Training of score models on the user's rows or on a set with known scores."""

from __future__ import annotations

import ctypes
import os
import sys
import time
import warnings
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from heatball._arguments import (choice, filled, function, pair, path_bytes, pointer, real, real_array,
                                 setting_rows, shown, texts)
from heatball._context import call, context, team_rank
from heatball._errors import ArgumentError
from heatball._interrupt import interruptible
from heatball._native import TRAIN_WATCH, Model as _CModel, SettingKind, Standardise, TrainSettings, library
from heatball._process import drift_problem
from heatball._types import ArrayLike, Path
from heatball.data import Mixture, dataset
from heatball.model import HEADS, PROCESSES, Model, integers, rows

__all__ = ["train"]

METHODS = {name: value for value, name in enumerate(texts(library.hb_loss_names()))}
SETTINGS = {row.name.decode(): row for row in setting_rows(library.hb_train_setting)}
STANDARDISE = {name: value for value, name in enumerate(texts(SETTINGS["standardise"].names()))}
NUMBERS = {name for name, row in SETTINGS.items()
           if row.kind not in (SettingKind.SETTING_KIND_CHOICE, SettingKind.SETTING_KIND_POINTER)} - {"resume", "as_typed"}
WATCHES = 20  # calls of `watch` in a run, unless watch_every says otherwise


def train(data: Mixture | Path | ArrayLike, method: str = "hb", *, head: str = "energy", process: str = "ou",
          drift: str | Sequence[str] | None = None, noise: str | float | ArrayLike | None = None,
          convention: str | None = None, params: Mapping[str, float] | None = None,
          labels: ArrayLike | None = None, epochs: int | None = None, batch: int | None = None,
          steps: int | None = None, max_time: float | None = None, width: int | None = None, depth: int | None = None,
          residual: bool | None = None, time_features: int | None = None, rate: float | None = None,
          ema: float | None = None, clip: float | None = None, tau_min: float | None = None,
          tau_max: float | None = None, tau_focus: float | None = None, weight: float | None = None,
          warmup: int | None = None, ramp: int | None = None, ball_share: float | None = None,
          sigma_max: float | None = None, anchors: int | None = None, anchor_spread: float | None = None,
          nodes: int | None = None, target_rows: int | None = None, label_dropout: float | None = None,
          standardise: str | bool | None = None, pixels: tuple[float, float] | None = None, half: bool | None = None,
          n: int = 2000, seed: int = 42, checkpoint: Path | None = None, checkpoint_every: int | None = None,
          resume: bool = False, log: Path | None = None, watch: Callable[[int, Model], Any] | None = None,
          watch_every: int | None = None, anchor_tau_min: float | None = None, constraint_every: int | None = None,
          progress: bool | Callable[[int, int], Any] | None = None, threads: int = 0) -> Model:
    """Train a score model on data.

    Parameters
    ----------
    data : array_like of shape (n, dim), or (n,) for dim = 1; (n, height, width); Mixture; or str
        Rows of any real dtype; or grey images, as `images` returns them, whose sides the model
        keeps; or a mixture, or the name of a planar set, from which `n` rows are drawn; or the path
        of a .npy or .csv file of rows; the model keeps the names in the header of a .csv.
    method : str
        "hb" (denoising and the heat-ball residual), "dsm" (denoising alone), "fp" (denoising and the
        pointwise Fokker-Planck residual) or "hb-paper". docs/explanation/losses.md.
    head : str
        "energy" (a log-density, whose gradient is the score), "score" (a vector), or "helmholtz"
        (dim 2: a gradient and a rotation).
    process : str
        What adds the noise: "ou", "ve", or "drift", which `drift` implies.
    drift : str or list of str
        F of dx = F(x) dtau + sqrt(2) dW: components separated by commas, or one each, as in `solve`.
    noise : str, float, array_like, or list
        With `drift`: G of dx = F(x) dt + G(x) dW instead of sqrt(2), as in `solve`: one number or text for all axes,
        one for each, or a matrix; tau is then the time t. What a change of coordinates makes one number is taken,
        such as constant matrices of full rank and "0.2*x[i]"; everything that the model gives stays in x.
    convention : str
        "ito" or "stratonovich": how noise that depends on x is meant; "ito".
    params : dict
        Named numbers of `drift` and `noise`.
    labels : array_like of shape (n,)
        Classes 0, 1, ...; the model then knows the whole and each class.
    epochs, batch, steps, max_time : int, int, int, float
        600 times through the data in batches of 256; or so many steps instead; at most so many
        seconds.
    width, depth, residual, time_features : int, int, bool, int
        Of the network: 256, 3, False, 8.
    rate, ema, clip : float
        Peak learning rate 0.002, decay of the averaged weights 0.998, largest gradient 1.
    tau_min, tau_max, tau_focus : float
        The range of tau: 0.001, 3; how much more rows get a tau around the middle of its logarithm,
        0 (as many everywhere) to 0.9.
    weight, warmup, ramp, ball_share, sigma_max, anchors, anchor_spread, nodes, target_rows, anchor_tau_min, constraint_every
        Of the constraint; docs/explanation/training.md has the defaults.
    label_dropout : float
        The fraction of rows that are shown without their label: 0.1.
    standardise : str or bool
        How the data are shifted and scaled before the process: "axis", each column to mean 0 and
        variance 1; "maps", the same behind a logarithm, arsinh or logit of each column with heavy tails or
        bounds (`Model.maps`); "common", all columns by one scale, so that the mean of the variances is 1; "no".
        Default, and True: "maps" for rows and files, "common" for images; but "no" (also False) with
        `drift`, which is in their units, and for mixtures and named sets, whose exact scores are then
        those of the same tau.
    pixels : pair of float
        Images: the values of black and white in `data`, which the model keeps; (0, 1).
    half : bool
        Round the weights at the end to 16 bits: a file of half the size; False.
    n : int
        Rows drawn from a mixture or a named set.
    seed : int
        Of all that is drawn.
    checkpoint, checkpoint_every, resume : path, int, bool
        A file that keeps the state, written every so many epochs, at the end and on Ctrl-C; resume
        from it if it is there.
    log : path
        A .csv of losses by step.
    watch : callable
        watch(step, model), called every `watch_every` steps (default: a twentieth of them) and after
        the last one. The model is lent: it ends with the call, so copy or save what must stay.
        What it raises ends the training.
    watch_every : int
    progress : bool or callable
        True: a line on the standard error stream, of a process group that of rank 0; or progress(step, steps).
    threads : int
        0: one per core. The weights do not depend on it.

    Returns
    -------
    Model

    Examples
    --------
    >>> import numpy as np, heatball
    >>> x = np.random.default_rng(5).normal([[3.0, -1.0]], 0.4, (300, 2)).astype(np.float32)
    >>> model = heatball.train(x, "dsm", steps=30, width=16, depth=2, batch=64)
    >>> model.score([[3.5, -1.0]], 0.05)[0, 0] < 0  # back to the middle
    True
    >>> heatball.train(x, "dms")
    Traceback (most recent call last):
    ...
    heatball.ArgumentError: method is 'dms'; it must be dsm, fp, hb or hb-paper
    """
    given = {name: value for name, value in locals().items() if name in NUMBERS}
    settings = filled(TrainSettings, library.hb_train_settings_default, given)
    settings.loss = choice("method", method, METHODS)
    settings.head = choice("head", head, HEADS)
    data = _images(settings, data, pixels)
    x, exact, settings.columns = _data(data, n, seed)
    settings.process = _process(process, drift)
    own = not exact and drift is None
    settings.standardise = _standardise(own if standardise is None else standardise)
    settings.checkpoint = None if checkpoint is None else path_bytes("checkpoint", checkpoint)
    settings.log = None if log is None else path_bytes("log", log)
    settings.resume = bool(resume)
    labels, classes = _classes(labels, len(x))
    settings.as_typed = noise is not None
    with (interruptible(threads, _reporter(progress)) as run,
          drift_problem(drift, params, x.shape[1], noise, convention) as problem):
        settings.drift = problem
        _watch(settings, watch, run, len(x))
        handle = ctypes.POINTER(_CModel)()
        run("hb_train", ctypes.byref(settings), x.shape[1], classes, len(x), pointer(x), labels,
            ctypes.byref(handle))
        model = Model._own(run.owner, handle)
    _warn_of_gaps(model, x, settings.head)
    return model


def _warn_of_gaps(model, x, head):
    """Say where the noise at tau_max does not join the modes of the data: their weights are free."""
    gap, tau = ctypes.c_double(), ctypes.c_double()
    call("hb_model_mode_gap", 1, model._model, len(x), pointer(x), ctypes.byref(gap), ctypes.byref(tau))
    if head == HEADS["energy"] and tau.value > model.info["tau_max"]:
        warnings.warn(f"the data have groups {gap.value:.3g} standard deviations of the noise at tau_max apart; their "
                      f"relative weights are not determined: take tau_max={tau.value:.3g} or more", stacklevel=3)


# ---- settings -----------------------------------------------------------------------------------

def _process(process, drift):
    if drift is not None and isinstance(process, str) and process == "ou":  # its default
        process = "drift"
    code = choice("process", process, PROCESSES)
    if (code == PROCESSES["drift"]) != (drift is not None):
        raise ArgumentError(f"process is {shown(process)}; drift goes with process \"drift\" and with no "
                            "other")
    return code


def _standardise(how):
    """Return the library's code of how data are scaled."""
    if isinstance(how, (bool, np.bool_)):
        return Standardise.STANDARDISE_AUTO if how else Standardise.STANDARDISE_NO
    return choice("standardise", how, STANDARDISE)


def _images(settings, data, pixels):
    """Return images (n, height, width) as rows, their sides in the settings; other data as it is."""
    known = isinstance(data, (str, os.PathLike, Mixture))
    values = None if known else real_array("data", data)
    if known or values.ndim != 3:
        if pixels is not None:
            raise ArgumentError("pixels is given, but data is not images of shape (n, height, width)")
        return data
    low, high = (0.0, 1.0) if pixels is None else pair("pixels", pixels)
    settings.pixel_low, settings.pixel_high = real("pixels[0]", low), real("pixels[1]", high)
    settings.image_height, settings.image_width = (int(side) for side in values.shape[1:])
    return values.reshape(len(values), values.shape[1] * values.shape[2])


def _data(data, n, seed):
    """Return rows (n, dim), whether they are draws of a known distribution, and the names of columns or None."""
    if isinstance(data, (str, os.PathLike)):
        if os.fspath(data).endswith((".npy", ".csv")):
            x, columns = _read(data)
            return x, False, columns
        data = dataset(os.fspath(data))
    if isinstance(data, Mixture):
        return data.sample(n, seed=seed), True, None
    return rows("data", data), False, None


def _read(path):
    """Return the rows of a file, and the names of its columns as C has them, or None."""
    n, dim, values = ctypes.c_size_t(), ctypes.c_int(), ctypes.POINTER(ctypes.c_double)()
    names = ctypes.POINTER(ctypes.c_char)()
    call("hb_data_read_named", 1, path_bytes("data", path), ctypes.byref(dim), ctypes.byref(n),
         ctypes.byref(values), ctypes.byref(names))
    try:
        x = np.ctypeslib.as_array(values, (n.value, dim.value)).copy()
        return x, b"".join(name + b"\0" for name in _texts(names, dim.value)) if names else None
    finally:
        library.hb_context_release(context(1), values)
        library.hb_context_release(context(1), names)


def _texts(address, n):
    """Return n texts, each ended by a zero, that stand one after the other in memory."""
    at, found = ctypes.cast(address, ctypes.c_void_p).value, []
    for _ in range(n):
        found.append(ctypes.string_at(at))
        at += len(found[-1]) + 1
    return found


def _classes(labels, n):
    """Return labels as C's int *, and the number of classes."""
    if labels is None:
        return None, 0
    labels = integers("labels", labels)
    if labels.shape != (n,):
        raise ArgumentError(f"labels has shape {labels.shape}; it must be {(n,)}")
    if n and labels.min() < 0:
        row = int(labels.argmin())
        raise ArgumentError(f"the label of row {row + 1} is {labels[row]}; it must be 0 or more")
    return labels.ctypes.data_as(ctypes.POINTER(ctypes.c_int)), int(labels.max(initial=0)) + 1


# ---- callbacks ----------------------------------------------------------------------------------

def _watch(settings, watch, run, n):
    """Put watch(step, model) into the settings; the model it sees ends with the call."""
    if watch is None:
        return
    function("watch", watch)

    def call_watch(user, handle, step, loss):
        model = Model._borrow(handle)
        try:
            return run.guard(lambda: watch(int(step), model))
        finally:
            model._handle = None

    settings.watch = TRAIN_WATCH(call_watch)
    if not settings.watch_every:
        steps = settings.steps or settings.epochs * -(-n // max(settings.batch, 1))
        settings.watch_every = max(1, steps // WATCHES)


def _reporter(progress, what="train: step"):
    if progress is None or progress is False:
        return None
    if progress is not True:
        function("progress", progress)
        return lambda done, total: progress(int(done), int(total))
    if team_rank() > 0:
        return None
    start = last = time.monotonic()
    on_terminal = sys.stderr.isatty()

    def show(done, total):
        nonlocal last
        now = time.monotonic()
        if now - last < (0.5 if on_terminal else 5) and done < total:
            return
        last, left = now, (now - start) / max(done, 1) * (total - done)
        line = f"{what} {int(done)} of {int(total)}, {left:.0f} s left"
        over = done >= total or not on_terminal
        sys.stderr.write("\r" * on_terminal + line + ("\n" if over else "   "))
        sys.stderr.flush()

    return show
