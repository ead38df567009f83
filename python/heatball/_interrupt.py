"""Calls of the library that Ctrl-C and callbacks can stop."""

import contextlib
import signal
import threading

from heatball._context import Handle
from heatball._errors import check
from heatball._native import PROGRESS, library


class Run:
    """Calls on a context of their own that Ctrl-C and callbacks can stop."""

    def __init__(self, threads, report):
        self.failures, self.report, self.inside = [], report, False
        self.owner = Handle(threads, PROGRESS(self._progress))

    def _progress(self, user, what, done, total):
        if self.report and what in (b"train", b"certificate") and not self.failures:  # not of the work inside a step
            self.guard(lambda: self.report(done, total))
        return bool(self.failures)

    def guard(self, action):
        """Return 1 when `action` or an earlier callback failed; the exception is kept."""
        try:
            action()
        except BaseException as error:  # raised again by `__call__`
            self.failures.append(error)
        return bool(self.failures)

    def of_user(self, action):
        """The same of an action that runs the user's code: Ctrl-C ends that code where it is."""
        if self.failures:
            return 1
        try:
            self.inside = True
            action()
            self.inside = False
        except BaseException as error:
            self.inside = False
            self.failures.append(error)
        return int(bool(self.failures))

    def signalled(self, previous, number, frame):
        """Outside the user's code a handler's exception would be lost in C; it is kept."""
        if self.inside:
            previous(number, frame)
        else:
            self.guard(lambda: previous(number, frame))

    def __call__(self, name, *arguments):
        status = getattr(library, name)(self.owner.pointer, *arguments)
        if self.failures:
            raise self.failures[0]
        check(self.owner.pointer, status)


@contextlib.contextmanager
def interruptible(threads=0, report=None):
    """Yield a `Run`. While it works a signal's handler only leaves its exception behind.

    A handler that raised inside a C callback would be lost there, so the exception is kept, the
    callback asks the library to stop, and the caller raises it.
    """
    run = Run(threads, report)
    previous = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(previous):
        yield run
        return
    signal.signal(signal.SIGINT, lambda number, frame: run.signalled(previous, number, frame))
    try:
        yield run
    finally:
        signal.signal(signal.SIGINT, previous)
    if run.failures:  # it came after the last callback
        raise run.failures[0]
