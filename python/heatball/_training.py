"""Training of score models on the user's rows or on a set with known scores."""

from __future__ import annotations

import ctypes
import math
import os
import sys
import time
import warnings
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from heatball._arguments import (choice, filled, function, pair, path_bytes, pointer, real, real_array, renamed,
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


@renamed(ball_share="time_fraction", method="loss", clip="clip_gradient", residual="skip")
def train(data: Mixture | Path | ArrayLike, loss: str = "hb", *,
          # data and process
          labels: ArrayLike | None = None, n: int = 2000, pixels: tuple[float, float] | None = None,
          standardise: str | bool | None = None, process: str = "ou", drift: str | Sequence[str] | None = None,
          noise: str | float | ArrayLike | None = None, convention: str | None = None,
          params: Mapping[str, float] | None = None,
          # network
          head: str = "energy", width: int = 256, depth: int = 3, skip: bool = False, time_features: int = 8,
          half: bool = False,
          # loss
          tau_min: float = 0.001, tau_max: float = 3.0, tau_focus: float = 0.0, target_rows: int = -1,
          label_dropout: float = 0.1, weight: float | None = None, warmup: float = 0.1, ramp: float = 0.3,
          time_fraction: float | None = None, sigma_max: float = 1 / (4 * math.pi), nodes: int = 8, anchors: int = 0,
          anchor_spread: float | None = None, anchor_tau_min: float = 0.0, constraint_every: int = 0,
          # run
          epochs: int = 600, batch: int = 256, steps: int = 0, max_time: float = 0.0, rate: float = 0.002,
          ema: float = 0.998, clip_gradient: float = 1.0, seed: int = 42, checkpoint: Path | None = None,
          checkpoint_every: int = 0, resume: bool = False, log: Path | None = None,
          watch: Callable[[int, Model], Any] | None = None, watch_every: int = 0,
          progress: bool | Callable[[int, int], Any] | None = None, threads: int = 0) -> Model:
    """Train a score model on data.

    The parameters stand in four groups: data and process (up to `params`), network (`head` to `half`), loss (`tau_min` to
    `constraint_every`) and run (`epochs` to `threads`).

    Parameters
    ----------
    data : array_like of shape (n, dim), or (n,) for dim = 1; (n, height, width); Mixture; or str
        Samples of any real dtype; grey images, as `images` returns them; a mixture, or the name of a data set, from
        which `n` samples are drawn; or the path of a .npy or .csv file. The model keeps the names in the header of a .csv.
    loss : {"hb", "dsm", "fp", "hb-paper"}
        The loss: denoising and the heat-ball residual, denoising alone, denoising and the pointwise Fokker-Planck residual,
        or the heat-ball loss as printed in the paper.
    labels : array_like of int of shape (n,)
        Classes 0, 1, ...; the model then knows the whole and each class.
    n : int
        Samples drawn from a mixture or a named data set.
    pixels : pair of float
        Values of black and white in images; default: (0, 1).
    standardise : {"auto", "maps", "axis", "common", "no"} or bool
        How data are shifted and scaled before the process: each column to mean 0 and variance 1 ("axis"), the same behind
        a logarithm, arsinh or logit of each column with heavy tails or bounds ("auto" or "maps", the choice of
        `ScoreDensity`), all columns by one scale, or not at all. Default, and True: "axis" for samples and files, "common"
        for images. False, and default with `drift`, a mixture or a named data set: "no".
    process : {"ou", "ve", "drift"}
        The noising process; `drift` implies "drift".
    drift : str or list of str
        F of dx = F(x) dtau + sqrt(2) dW, as in `solve`.
    noise : str, float, array_like, or list
        With `drift`: G of dx = F(x) dt + G(x) dW instead of sqrt(2), as in `solve`; tau is then the time t. It must
        become one number by a change of coordinates: constant matrices of full rank do, and "0.2*x[i]".
    convention : {"ito", "stratonovich"}
        The sense of noise that depends on x; default: "ito".
    params : dict
        Named numbers of `drift` and `noise`.
    head : {"energy", "score", "helmholtz"}
        What the network gives: a log-density, whose gradient is the score; a vector; or (dim 2) a gradient and a rotation.
    width, depth : int
        Width and number of the hidden layers.
    skip : bool
        Add the input of a hidden layer to its output.
    time_features : int
        Numbers by which ln tau enters the network.
    half : bool
        Round the weights at the end to 16 bits.
    tau_min, tau_max : float
        The range of tau.
    tau_focus : float
        0 to 0.9: 1/(1 - tau_focus) times as many samples around the middle of ln tau.
    target_rows : int
        Samples over which a denoising target is averaged; 0: the sample itself; -1: 512 for "hb" in up to 64 dimensions,
        else 0.
    label_dropout : float
        Fraction of samples that are shown without their label.
    weight : float
        Weight of the constraint; default: chosen by the loss and the dimension.
    warmup, ramp : float
        Fractions of the steps without the constraint, and over which its weight then rises.
    time_fraction : float
        Fraction of the time before an anchor that its heat ball reaches back, r^2 = 4 pi time_fraction tau; default:
        min(0.03, 0.16/dim), above 64 dimensions 0.128/dim.
    sigma_max : float
        Of "hb-paper": largest backward time of the unit ball that is used.
    nodes : int
        Random probes of "fp" above 3 dimensions; nodes of a heat ball of "hb" above 64.
    anchors : int
        Points of a step at which the constraint is taken; 0: chosen by the dimension.
    anchor_spread : float
        Anchors are data with 1 + anchor_spread^2 times the variance of the noise; default: 1, above 64 dimensions 0.
    anchor_tau_min : float
        Smallest tau of the anchors; 0: `tau_min`, and 0.02 with a head other than "energy".
    constraint_every : int
        Take the constraint in every so many steps, with as many times its weight; 0: 1, above 16 dimensions 4.
    epochs, batch : int
        Passes through the data, and samples of a step.
    steps : int
        Steps of the optimiser instead of epochs; 0: epochs.
    max_time : float
        Seconds after which the training ends; 0: no limit.
    rate, ema, clip_gradient : float
        Peak learning rate of Adam, decay of the averaged weights, largest norm of a gradient (0: no limit).
    seed : int
        Seed of all random numbers.
    checkpoint : path
        File that keeps the state of the training. It is written at the end and on Ctrl-C.
    checkpoint_every : int
        Epochs between two checkpoints; 0: none between.
    resume : bool
        Resume from `checkpoint` if it is there.
    log : path
        A .csv file of losses by step, which `training_log` reads.
    watch : callable
        watch(step, model), called every `watch_every` steps and after the last one. The model ends with the call: copy or
        save what must stay. An exception ends the training.
    watch_every : int
        Steps between two calls of `watch`; 0: a twentieth of the steps.
    progress : bool or callable
        True: a line on the standard error stream; or progress(step, steps).
    threads : int
        0: one per core. The weights do not depend on it.

    Returns
    -------
    Model
        With the averaged weights.

    Raises
    ------
    ArgumentError
        A ValueError: an argument is outside its range, or a checkpoint has other settings.
    Error
        The training diverged, or a file cannot be written.

    See Also
    --------
    ScoreDensity : The same for tables, with maps of the columns.
    certify : Test what was learnt.
    training_log : Read the losses.

    Notes
    -----
    The process "ou" is dx = -x dtau + sqrt(2) dW, "ve" dx = sqrt(2) dW. The model is fitted by denoising score matching [1]_
    [2]_ to grad ln u(x, tau), u the density of the data with the noise of tau. "hb" adds the residual of the mean-value
    identity over heat balls, "fp" that of the Fokker-Planck equation. docs/explanation/losses.md has the formulas.

    References
    ----------
    .. [1] P. Vincent, "A connection between score matching and denoising autoencoders", Neural Computation 23, 2011.
    .. [2] Y. Song et al., "Score-based generative modeling through stochastic differential equations", ICLR 2021.

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
    heatball.ArgumentError: loss is 'dms'; it must be dsm, fp, hb or hb-paper
    """
    given = {name: value for name, value in locals().items() if name in NUMBERS}
    settings = filled(TrainSettings, library.hb_train_settings_default, given)
    settings.loss = choice("loss", loss, METHODS)
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
        return Standardise.STANDARDISE_BY_KIND if how else Standardise.STANDARDISE_NO
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
