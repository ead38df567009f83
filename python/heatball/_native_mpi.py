"""libheatball-mpi.so, whose functions are those of include/heatball/mpi.h: where it is, loaded, with their types."""

import ctypes
import os

from heatball._errors import Error
from heatball._native import Status, library as heatball_library
from heatball._native_tables import MPI_SIGNATURES as SIGNATURES

ENVIRONMENT = "HEATBALL_MPI"
FILE_NAME = "libheatball-mpi.so"


def candidates():
    """Yield (place, path) in the order of the search; a path without a slash is for the loader."""
    wanted = os.environ.get(ENVIRONMENT)
    if wanted:  # the user's word is final
        yield f"the environment variable {ENVIRONMENT}", wanted
        return
    directory = os.path.dirname(heatball_library._name)
    if directory:
        yield "beside libheatball", os.path.join(directory, FILE_NAME)
    yield "the system's loader", FILE_NAME


def load():
    """Load the library with the types of its functions; raise `Error` with what was tried.

    MPI opens parts of itself that look for its symbols, so these must be seen by all.
    """
    tried = []
    for place, path in candidates():
        try:
            return bind(ctypes.CDLL(path, ctypes.RTLD_GLOBAL))
        except (OSError, AttributeError) as error:
            tried.append(f"{path} ({place}): {error}")
    raise Error(f"{FILE_NAME}, which makes processes one process group, cannot be loaded; install Open MPI "
                f"(libopenmpi-dev) and build again, or set {ENVIRONMENT} to its path. Tried: "
                + "; ".join(tried), Status.ERROR_UNAVAILABLE)


def bind(library):
    """Set the types of all functions of the table."""
    for name, (restype, argtypes) in SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = restype, argtypes
    return library
