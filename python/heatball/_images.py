"""Sets of grey images: the digits of MNIST and files in the IDX format, and pictures of many."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heatball._arguments import (INT_MAX, array, c_int, choice, integer, pair, path_bytes, pointer,
                                 real, uint64)
from heatball._context import call, context
from heatball._native import Binarize, Images, ImagesSettings, Part, Resample, library
from heatball._types import ArrayLike, Floats, Path

__all__ = ["image_grid", "images"]

PARTS = {"train": Part.PART_TRAIN, "test": Part.PART_TEST}
RESAMPLES = {"area": Resample.RESAMPLE_AREA, "bilinear": Resample.RESAMPLE_BILINEAR}
BINARIZES = {"none": Binarize.BINARIZE_NONE, "threshold": Binarize.BINARIZE_THRESHOLD,
             "stochastic": Binarize.BINARIZE_STOCHASTIC}


def images(name_or_path: Path, part: str = "train", *, resize: int = 0, resample: str = "area",
           binarize: str = "none", seed: int = 42, range: tuple[float, float] = (0.0, 1.0), limit: int = 0,
           threads: int = 0) -> tuple[Floats, NDArray[Any] | None]:
    """Return (pixels, labels) of a set of images.

    Parameters
    ----------
    name_or_path : str or path
        "mnist" (after ``heatball data fetch mnist``), "fashion-mnist", a directory with the files of
        MNIST, or a file of images in the IDX format, plain or .gz.
    part : str
        "train" or "test"; does not count for a file.
    resize : int
        Pixels of each side; 0: as in the file.
    resample : str
        "area" (the exact average over each pixel) or "bilinear".
    binarize : str
        "none", "threshold" (1 where a pixel is at least 1/2) or "stochastic" (1 with the pixel's
        value as probability).
    seed : int
        Of "stochastic".
    range : pair of float
        What black and white become.
    limit : int
        Only the first so many images; 0: all.
    threads : int
        0: one per core. The result does not depend on it.

    Returns
    -------
    ndarray of shape (n, height, width), ndarray of shape (n,) or None
        The labels are None when there is no file of labels beside the images.

    Examples
    --------
    >>> import heatball, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     file = pathlib.Path(directory) / "two-by-four"
    ...     _ = file.write_bytes(bytes([0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 4,
    ...                                 0, 51, 102, 255, 0, 51, 102, 255]))
    ...     pixels, labels = heatball.images(file, resize=2)
    >>> pixels
    array([[[0.1, 0.7],
            [0.1, 0.7]]])
    """
    settings, found = ImagesSettings(), Images()
    library.hb_images_settings_default(ctypes.sizeof(settings), ctypes.byref(settings))
    settings.resize = c_int("resize", resize, 0, INT_MAX)
    settings.resample = choice("resample", resample, RESAMPLES)
    settings.binarize = choice("binarize", binarize, BINARIZES)
    settings.seed = uint64("seed", seed)
    settings.limit = uint64("limit", limit)
    low, high = pair("range", range)
    settings.low, settings.high = real("range[0]", low), real("range[1]", high)
    call("hb_images_load", threads, ctypes.byref(settings), choice("part", part, PARTS),
         path_bytes("name_or_path", name_or_path), ctypes.sizeof(found), ctypes.byref(found))
    try:
        pixels = np.ctypeslib.as_array(found.pixels, (found.count, found.height, found.width)).copy()
        labels = np.ctypeslib.as_array(found.labels, (found.count,)).copy() if found.labels else None
    finally:
        library.hb_images_destroy(context(threads), ctypes.byref(found))
    return pixels, labels


def image_grid(path: Path, pixels: ArrayLike, *, columns: int = 0) -> None:
    """Write images side by side as a picture, black 0 to white 1, row by row.

    Parameters
    ----------
    path : str or path
        The file to write, .png.
    pixels : array_like of shape (n, height, width)
        Small images are magnified; what is left of the last row stays black.
    columns : int
        Images in a row; 0: about as many as there are rows.

    Examples
    --------
    >>> import heatball, numpy as np, os, tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     file = os.path.join(directory, "grid.png")
    ...     heatball.image_grid(file, np.linspace(0, 1, 6 * 16 * 16).reshape(6, 16, 16), columns=3)
    ...     os.path.getsize(file) > 100
    True
    """
    pixels = array("pixels", pixels, 3)
    n, height, width = pixels.shape
    if n == 0:
        raise ValueError("pixels has no image; it must have at least 1")
    columns = integer("columns", columns, 0, INT_MAX) or math.ceil(math.sqrt(n))
    rows = -(-n // columns)
    filled = np.zeros((rows * columns, height, width))
    filled[:n] = pixels
    call("hb_images_grid_write", 0, rows, columns, height, width, path_bytes("path", path),
         pointer(filled))
