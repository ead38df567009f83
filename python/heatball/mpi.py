"""Several processes (MPI ranks), also on several machines, that do the calls of the package together.

    import heatball
    with heatball.mpi.join() as team:
        model = heatball.train("two_moon", n=100000)
        x = model.generate(1000000)
        model.save("moon.safetensors")           # rank 0 writes it
        if team.rank == 0:
            print(x.mean(axis=0))

under ``mpirun -n 8 python3 script.py``. Every rank makes the same calls with the same arguments, in the
same order; the work inside them is shared, and every rank gets the same results, bit-identical to those of
one process. A call that only one rank makes waits for the others for ever: put such calls into
``with team.alone():``. Files are written by rank 0. A callback, for example a drift that is a Python
function, is called by each rank for its own fraction of the work, and must be the same function on all.

libheatball-mpi.so, which needs Open MPI, is loaded by `join` and not before: from the path in the
environment variable HEATBALL_MPI, from beside libheatball, or by the system's loader. docs/howto/cluster.md is
the guide.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
import traceback
from typing import Any, Iterator

from heatball import _context, _native_mpi
from heatball._errors import ArgumentError, Error, check
from heatball._native import Status, Team as _CTeam, library

__all__ = ["Team", "join"]

PATIENCE = 5.0  # seconds until a rank that fails takes itself to be the only one

_joined = None  # the team of this process
_world = None  # that of MPI_COMM_WORLD, kept until the process ends: MPI can be started once
_plug_in = None


def join(comm: Any = None) -> Team:
    """Make this process a rank of a process group that does all further calls of the package together.

    All ranks must call it. It holds for the thread that calls it, until `Team.leave`: other threads, and
    processes that are forked, work alone. When this process is in the process group already, that is returned.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
        The ranks of the process group; default: all that mpirun or srun has started. Without these it is a process group
        of one. MPI is started unless mpi4py has done so.

    Returns
    -------
    Team
        With rank, size and threads; ``with heatball.mpi.join():`` leaves it at the end.

    Raises
    ------
    heatball.Error
        When libheatball-mpi.so or MPI is missing, and when ranks have other versions of the library or
        other instruction sets.

    Examples
    --------
    >>> import heatball
    >>> with heatball.mpi.join() as team:
    ...     x = heatball.ball.sample("kappa", 2, 1000, seed=1)[0]
    >>> team.rank, team.size
    (0, 1)
    >>> bool((x == heatball.ball.sample("kappa", 2, 1000, seed=1)[0]).all())
    True
    """
    global _joined, _world
    if _joined is not None:
        if _joined._thread != threading.get_ident():
            raise ArgumentError("another thread of this process is in a process group; only one can be")
        if comm is not None and comm is not _joined._comm:
            raise ArgumentError(f"this process is in a process group of {_joined.size} ranks already; leave it "
                                "before joining another")
        return _joined
    if comm is None and _world is not None:
        team = _world
    else:
        team = Team._of(comm)
    if comm is None:
        _world = team
    team._enter()
    return team


class Team:
    """The processes that do the calls of the package together; made by `join`.

    Attributes
    ----------
    rank : int
        The number of this process among them, from 0.
    size : int
        How many they are.
    threads : int
        The cores that this rank has for itself; ``threads=0`` of other calls means so many.

    Examples
    --------
    >>> import heatball
    >>> team = heatball.mpi.join()
    >>> with team.alone():  # on one rank only, if need be
    ...     heatball.ball.constants(2)["dim"]
    2
    >>> heatball.mpi.join() is team
    True
    >>> team.leave()
    """

    def __init__(self) -> None:
        raise TypeError("a process group is made by heatball.mpi.join")

    @classmethod
    def _of(cls, comm):
        global _plug_in
        module = None if comm is None else _module(comm)
        if _plug_in is None:
            _plug_in = _native_mpi.load()
        if module is not None:
            _same_mpi(module)
        address = None if comm is None else module._addressof(comm)
        self = cls.__new__(cls)
        self.pointer, self._comm, self._thread, self._hook = ctypes.POINTER(_CTeam)(), comm, None, None
        status = _plug_in.hb_team_mpi(address, ctypes.byref(self.pointer))
        if status != Status.OK:
            raise Error(f"MPI cannot be started: {library.hb_status_text(status).decode()}", status)
        found = self.pointer.contents
        self.rank, self.size, self.threads = found.rank, found.ranks, found.threads
        return self

    def _enter(self):
        global _joined
        _joined, self._thread = self, threading.get_ident()
        _context.set_team(self)
        try:
            _compare()
        except Error:
            self.leave()
            raise
        self._hook, sys.excepthook = sys.excepthook, self._failed

    def leave(self) -> None:
        """End it: this process works alone again. All ranks must call it."""
        global _joined
        if _joined is not self:
            return
        if self._thread != threading.get_ident():
            raise ArgumentError("another thread has joined this process group, and must leave it")
        _joined = None
        _context.set_team(None)
        if sys.excepthook == self._failed:
            sys.excepthook = self._hook
        if self is not _world:
            _plug_in.hb_team_mpi_destroy(self.pointer)
            self.pointer = None

    def alone(self) -> Iterator[None]:
        """Return a context manager in which this process works alone, with bit-identical results.

        Returns
        -------
        context manager
            For a ``with`` statement.
        """
        return _context.alone()

    def __enter__(self) -> Team:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if _joined is self and kind is not None and not (kind is SystemExit and not value.code):
            self._end_if_alone(lambda: traceback.print_exception(kind, value, trace))
        self.leave()

    def __repr__(self) -> str:
        return f"Team: rank {self.rank} of {self.size}, {self.threads} threads"

    # ---- failures: those of all ranks are shown by rank 0; one of a rank alone ends the others, which would wait

    def _failed(self, kind, value, trace):
        """In the place of sys.excepthook."""
        if self.rank == 0 or _joined is not self:
            self._hook(kind, value, trace)
        if _joined is self:
            self._end_if_alone(lambda: self.rank > 0 and self._hook(kind, value, trace))

    def _end_if_alone(self, show):
        sys.stdout.flush()
        if _plug_in.hb_team_mpi_alone(self.pointer, PATIENCE):
            show()
            sys.stderr.write(f"heatball: rank {self.rank} of {self.size} has failed, and ends the others\n")
            sys.stderr.flush()
            _plug_in.hb_team_mpi_abort(self.pointer, 1)


def _compare():
    """Raise on all ranks when one has another library or instruction set than rank 0."""
    context = _context.context(1)
    own = library.hb_version() + b", " + library.hb_context_isa(context)
    first = ctypes.create_string_buffer(own, 64)
    status = library.hb_context_agree(context, len(first), first)
    if status == Status.OK and first.value != own:
        rank = library.hb_context_rank(context)
        status = library.hb_context_fail(context, Status.ERROR_UNAVAILABLE, (
            f"rank {rank} has version and instruction set {own.decode()}; rank 0 has "
            f"{first.value.decode()}; they must be the same").encode())
    check(context, library.hb_context_settle(context, status))


def _module(comm):
    """Return mpi4py.MPI, of which comm must be a communicator."""
    module = sys.modules.get("mpi4py.MPI")  # whoever has a communicator has imported it
    if module is not None and isinstance(comm, module.Comm) and comm == module.COMM_NULL:
        raise ArgumentError("comm is COMM_NULL; this process is no rank of it")
    if module is None or not isinstance(comm, module.Intracomm):
        raise TypeError(f"comm is of type {type(comm).__name__}; it must be an intracommunicator of mpi4py, or None")
    return module


def _same_mpi(module):
    """Raise when mpi4py and the plug-in are for two kinds of MPI."""
    own, size = ctypes.create_string_buffer(1 << 14), ctypes.c_int()
    _plug_in.MPI_Get_library_version(own, ctypes.byref(size))
    theirs = module.Get_library_version()
    if own.value.decode().strip() != theirs.strip("\0 \n"):
        raise Error(f"{_native_mpi.FILE_NAME} is for {_short(own.value.decode())}, and mpi4py for "
                    f"{_short(theirs)}; they must be for the same MPI", Status.ERROR_UNAVAILABLE)


def _short(version):
    return version.split(",")[0].split("\n")[0].strip()


# ---- the end of the process ---------------------------------------------------------------------

@atexit.register
def _end():
    """Free what is left, and end MPI if it was started here; before mpi4py ends it."""
    for team in dict.fromkeys((_joined, _world)):  # the one that ends MPI is the last
        if team is not None:
            _plug_in.hb_team_mpi_destroy(team.pointer)


def _after_fork():  # MPI is the parent's
    global _joined, _world
    _joined = _world = None


os.register_at_fork(after_in_child=_after_fork)
