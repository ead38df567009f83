"""Contexts of the C library, made when they are first needed and kept.

A context serves one calling thread at a time, so each Python thread has its own, one per number of
requested threads. It is destroyed with its thread. The C call runs without the interpreter's lock.

A process that was forked has only its calling thread, and GNU OpenMP cannot start threads there once
the parent has used some (the child would wait for ever). So a forked child works on one thread; the
results are bit-identical.

A process group (`heatball.mpi`) is that of the thread that joined it, on which MPI may be called:
contexts of other threads, and of forked children, work alone, also with bit-identical results.
"""

import contextlib
import ctypes
import os
import threading
import weakref

from heatball._arguments import integer
from heatball._errors import Error, check
from heatball._native import MAX_THREADS, Context, ContextSettings, Status, library

_forked = False


class Handle:
    """Owns one hb_context; `progress` is a PROGRESS callback or None."""

    def __init__(self, threads, progress=None):
        settings = ContextSettings()
        library.hb_context_settings_default(ctypes.sizeof(settings), ctypes.byref(settings))
        settings.threads = 1 if _forked else integer("threads", threads, 0, MAX_THREADS)
        self.team = _contexts.team  # it must outlive the context
        if self.team is not None:
            settings.team = self.team.pointer
        if progress is not None:
            settings.progress = self.progress = progress
        self.pointer = ctypes.POINTER(Context)()
        status = library.hb_context_create(ctypes.byref(settings), ctypes.byref(self.pointer))
        if status != Status.OK:
            raise Error(library.hb_status_text(status).decode(), status)
        # Not at exit: a daemon thread may still be inside a call then, and the memory goes anyway.
        weakref.finalize(self, library.hb_context_destroy, self.pointer).atexit = False


class _PerThread(threading.local):
    def __init__(self):
        self.handles = {}  # threads -> Handle
        self.team = None  # of heatball.mpi


_contexts = _PerThread()


def handle(threads=0):
    """Return the owner of the calling thread's context for this number of threads (0: one per core)."""
    threads = integer("threads", threads, 0, MAX_THREADS)
    found = _contexts.handles.get(threads)
    if found is None:
        found = _contexts.handles[threads] = Handle(threads)
    return found


def context(threads=0):
    """Return the calling thread's context for this number of threads."""
    return handle(threads).pointer


def call(name, threads, *arguments):
    """Call hb_NAME on a context with `arguments` after it; raise when it fails."""
    pointer = context(threads)
    check(pointer, getattr(library, name)(pointer, *arguments))


def set_team(team):
    """From now on the calling thread works with `team`, None: alone; return the process group before."""
    before, _contexts.team, _contexts.handles = _contexts.team, team, {}
    return before


def team_rank():
    """Return the rank of the calling thread in its process group, 0 without."""
    return _contexts.team.rank if _contexts.team is not None else 0


@contextlib.contextmanager
def alone():
    """Calls inside are done by this process alone."""
    before = _contexts.team
    if before is None:
        yield
        return
    set_team(None)
    try:
        yield
    finally:
        set_team(before)


def _after_fork():
    global _forked
    _forked = True
    set_team(None)


os.register_at_fork(after_in_child=_after_fork)
