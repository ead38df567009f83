"""The two exceptions of the package, and the way from a status to one of them."""

from __future__ import annotations

from heatball._native import Status, library


class Error(RuntimeError):
    """A call of the library failed; the text is the library's own sentence.

    Parameters
    ----------
    message : str
        The sentence.
    status : int
        The library's status code.

    Attributes
    ----------
    status : int
        A member of an IntEnum whose names are those of hb_status without HB_, for example ERROR_NUMERICAL.

    Examples
    --------
    >>> import heatball
    >>> try:
    ...     heatball.ball.constants(-3)
    ... except heatball.Error as error:
    ...     print(error.status.name)
    ERROR_ARGUMENT
    """

    def __init__(self, message: str, status: int = Status.ERROR_ARGUMENT) -> None:
        super().__init__(message)
        self.status = Status(status)

    def __reduce__(self):  # so that it crosses process boundaries with its status
        return type(self), (self.args[0], self.status)


class ArgumentError(Error, ValueError):
    """An argument is outside its allowed range; the text says which, and what is allowed.

    Parameters
    ----------
    message : str
        The sentence.
    status : int
        The library's status code.

    Examples
    --------
    >>> import heatball
    >>> heatball.ball.sample("kapa", 2, 10)
    Traceback (most recent call last):
    ...
    heatball.ArgumentError: measure is 'kapa'; it must be kappa, source or gradient
    """


ArgumentError.__module__ = Error.__module__ = "heatball"


def check(context, status):
    """Raise the exception of a failed call on this context; return on success."""
    if status == Status.OK:
        return
    message = library.hb_context_message(context).decode(errors="replace")
    if not message:
        message = library.hb_status_text(status).decode()
    kind = ArgumentError if status == Status.ERROR_ARGUMENT else Error
    raise kind(message, status)
