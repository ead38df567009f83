"""A small classifier of rows, to tell which class a generated row is of."""

from __future__ import annotations

import ctypes
import os
import tempfile
import weakref

import numpy as np

from heatball._arguments import INT_MAX, c_int, path_bytes, pointer, real, uint64
from heatball._context import Handle, alone, call
from heatball._errors import ArgumentError, check
from heatball._interrupt import interruptible
from heatball._native import (Classifier as _CClassifier, ClassifierInfo, ClassifierSettings,
                              library)
from heatball._types import ArrayLike, Floats, Path
from heatball.model import integers, rows

__all__ = ["Classifier"]


class Classifier:
    """A network that gives the probability of each class, trained on samples with labels.

    Parameters
    ----------
    x : array_like of shape (n, dim)
        Samples; images as rows of side * side pixels.
    labels : array_like of int of shape (n,)
        Classes 0, 1, ...
    epochs, batch : int
        Passes through the samples, and samples of a step.
    width, depth : int
        Width and number of the hidden layers.
    rate, ema : float
        Peak learning rate, and decay of the averaged weights.
    shift : float
        Largest random shift of square images in pixels; default: 1 when dim is a square of 64 or more, else 0.
    seed : int
        Seed of all random numbers.
    threads : int
        0: one per core. The weights do not depend on it.

    Attributes
    ----------
    dim, classes, width, depth, parameters : int
        Of the network.

    Examples
    --------
    >>> import numpy as np, heatball
    >>> rng = np.random.default_rng(3)
    >>> labels = rng.integers(0, 2, 400)
    >>> x = rng.normal(size=(400, 2)) + np.array([[-2.0, 0], [2, 0]])[labels]
    >>> side = heatball.Classifier(x, labels, width=16, epochs=30, batch=32)
    >>> side.predict([[-2.0, 0.5], [2.0, 0.5]]).argmax(axis=1)
    array([0, 1])
    """

    dim: int
    classes: int
    width: int
    depth: int
    parameters: int

    def __init__(self, x: ArrayLike, labels: ArrayLike, *, epochs: int = 20, batch: int = 256, width: int = 256,
                 depth: int = 2, rate: float = 0.002, ema: float = 0.998, shift: float | None = None, seed: int = 42, threads: int = 0) -> None:
        given = dict(epochs=epochs, batch=batch, width=width, depth=depth, rate=rate, ema=ema,
                     shift=shift, seed=seed)
        settings, x = _settings(given), rows("x", x)
        labels = integers("labels", labels)
        if labels.shape != (len(x),):
            raise ArgumentError(f"labels has shape {labels.shape}; it must be {(len(x),)}")
        classes = max(2, int(labels.max(initial=0)) + 1)
        handle = ctypes.POINTER(_CClassifier)()
        with interruptible(threads) as run:
            run("hb_classifier_train", ctypes.byref(settings), x.shape[1], classes, len(x),
                pointer(x), labels.ctypes.data_as(ctypes.POINTER(ctypes.c_int)),
                ctypes.byref(handle))
            self._own(run.owner, handle)

    @classmethod
    def load(cls, path: Path) -> Classifier:
        """Read a classifier from a file that `save` has written.

        Parameters
        ----------
        path : path
            The .safetensors file.

        Returns
        -------
        Classifier
            With the weights of the file.

        Examples
        --------
        >>> import heatball
        >>> heatball.Classifier.load("/nowhere/side.safetensors")
        Traceback (most recent call last):
        ...
        heatball.Error: cannot open /nowhere/side.safetensors: No such file or directory
        """
        owner, handle = Handle(1), ctypes.POINTER(_CClassifier)()
        check(owner.pointer, library.hb_classifier_load(owner.pointer, path_bytes("path", path),
                                                        ctypes.byref(handle)))
        self = cls.__new__(cls)
        self._own(owner, handle)
        return self

    def _own(self, owner, handle):
        """Keep what `handle` points to; the library made it on the context of `owner`."""
        info = ClassifierInfo()
        library.hb_classifier_info_get(handle, ctypes.sizeof(info), ctypes.byref(info))
        for name, _ in ClassifierInfo._fields_:
            setattr(self, name, getattr(info, name))
        self._handle = handle
        weakref.finalize(self, _destroy, handle, owner).atexit = False

    def __reduce__(self):  # pickle, copy: through the bytes of its file
        with alone(), tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "classifier.safetensors")
            self.save(path)
            with open(path, "rb") as file:
                return _from_bytes, (file.read(),)

    def __repr__(self) -> str:
        return (f"Classifier of {self.classes} classes in dimension {self.dim}: width "
                f"{self.width}, depth {self.depth}")

    def predict(self, x: ArrayLike, *, threads: int = 0) -> Floats:
        """Return the probabilities of the classes.

        Parameters
        ----------
        x : array_like of shape (n, dim)
            Samples.
        threads : int
            0: one per core. The result does not depend on it.

        Returns
        -------
        ndarray of shape (n, classes)
            Probabilities; each row adds up to 1.

        Examples
        --------
        >>> import numpy as np, heatball
        >>> x = np.random.default_rng(3).normal(size=(100, 2))
        >>> side = heatball.Classifier(x, (x[:, 0] > 0).astype(int), width=8, epochs=2, batch=32)
        >>> side.predict(x[:5]).sum(axis=1).round(6).tolist()
        [1.0, 1.0, 1.0, 1.0, 1.0]
        """
        x = rows("x", x, self.dim)
        if x.shape[1] != self.dim:
            raise ArgumentError(f"x has {x.shape[1]} columns; the classifier has dimension "
                                f"{self.dim}")
        out = np.empty((len(x), self.classes))
        call("hb_classifier_predict", threads, self._handle, len(x), pointer(x), pointer(out))
        return out

    def save(self, path: Path) -> None:
        """Write the classifier to a .safetensors file, which is whole or not there.

        Parameters
        ----------
        path : path
            The file.

        Examples
        --------
        >>> import os, tempfile
        >>> import numpy as np, heatball
        >>> x = np.random.default_rng(3).normal(size=(100, 2))
        >>> side = heatball.Classifier(x, (x[:, 0] > 0).astype(int), width=8, epochs=2, batch=32)
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     side.save(os.path.join(directory, "side.safetensors"))
        ...     os.listdir(directory)
        ['side.safetensors']
        """
        call("hb_classifier_save", 1, self._handle, path_bytes("path", path))


def _from_bytes(data):
    with alone(), tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "classifier.safetensors")
        with open(path, "wb") as file:
            file.write(data)
        return Classifier.load(path)


def _destroy(handle, owner):
    """The classifier first, then, when `owner` goes, its context."""
    library.hb_classifier_destroy(handle)


def _settings(given):
    """The library's defaults with what is not None in `given`, each as the type of its field."""
    settings = ClassifierSettings()
    library.hb_classifier_settings_default(ctypes.sizeof(settings), ctypes.byref(settings))
    convert = {ctypes.c_int: lambda name, value: c_int(name, value, 0, INT_MAX),
               ctypes.c_uint64: uint64, ctypes.c_double: real}
    kinds = dict(ClassifierSettings._fields_)
    for name, value in given.items():
        if value is not None:
            setattr(settings, name, convert[kinds[name]](name, value))
    return settings
