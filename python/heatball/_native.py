"""The C library as ctypes sees it: where it is, loaded, with the types of its functions.

Everything of the tables of enums, structs and functions, which are made from the headers, is seen here too.
"""

import ctypes
import ctypes.util
import os
import pathlib
import sysconfig

from heatball._native_tables import *  # noqa: F401, F403
from heatball._native_tables import DENSITY, SIGNATURES
from heatball._version import __version__

ENVIRONMENT = "HEATBALL_LIBRARY"
INITIAL_DENSITY = DENSITY
FILE_NAMES = (f"libheatball.so.{__version__.rpartition('.')[0]}", "libheatball.so")


def candidates():
    """Yield (place, path) in the order of the search; a path without a slash is for the loader."""
    wanted = os.environ.get(ENVIRONMENT)
    if wanted:  # the user's word is final: no fall back to another library
        yield f"the environment variable {ENVIRONMENT}", wanted
        return
    package = pathlib.Path(__file__).resolve().parent
    for name in FILE_NAMES:
        yield "beside the package", str(package / name)
    checkout = package.parent.parent
    if (checkout / "include" / "heatball" / "base.h").is_file():
        yield "the build directory of this checkout", str(checkout / "build" / "libheatball.so")
    # An installed package is PREFIX/lib/python3/dist-packages/heatball, its library in PREFIX/lib
    # or, on Debian, in PREFIX/lib/TRIPLET.
    triplet = sysconfig.get_config_var("MULTIARCH") or ""
    for parent in list(package.parents)[:3]:
        for directory in dict.fromkeys((parent, parent / triplet)):
            for name in FILE_NAMES:
                yield "above the package", str(directory / name)
    found = ctypes.util.find_library("heatball")
    for name in ([found] if found else []) + list(FILE_NAMES):
        yield "the system's loader", name


def load():
    """Load the library and give every function of the table its types.

    Raises
    ------
    ImportError
        When no library is found, when it cannot be loaded, when its version is another one, or
        when a function is missing; the message lists what was tried.
    """
    tried = []
    for place, path in candidates():
        if os.sep in path and not os.path.exists(path):
            tried.append(f"  {path} ({place}): no such file")
            continue
        try:
            return bind(ctypes.CDLL(path), path)
        except OSError as error:
            tried.append(f"  {path} ({place}): {error}")
    raise ImportError(
        "the C library libheatball was not found; build it with make, install it, or set "
        f"{ENVIRONMENT} to its path. Tried:\n" + "\n".join(tried))


def bind(library, path):
    """Set the types of all functions of the table; the library's version must be the package's."""
    for name, (restype, argtypes) in SIGNATURES.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"{path} has no function {name}; it is not version {__version__} "
                              "of libheatball") from None
        function.restype = restype
        function.argtypes = argtypes
    version = library.hb_version().decode()
    if version != __version__:
        raise ImportError(f"{path} is version {version} of libheatball, but this package is "
                          f"version {__version__}; install the two together")
    return library


library = load()
