"""A density estimator for tables with the methods of scikit-learn's: maps of the columns and a score model."""

from __future__ import annotations

import inspect
import warnings
from typing import Any, Sequence

import numpy as np

from heatball import _column_maps as column_maps
from heatball._arguments import choice, integer, real, shown
from heatball._errors import ArgumentError
from heatball._files import write
from heatball._likelihood import log_likelihood
from heatball._tables import plain
from heatball._training import train
from heatball._types import ArrayLike, Floats, Path
from heatball.model import Model, _from_bytes, rows

__all__ = ["NotFittedError", "ScoreDensity"]

LIKELIHOODS = {"auto": 0, "direct": 1, "ode": 2}


class NotFittedError(ArgumentError, AttributeError):
    """An estimator was used before `fit`; a ValueError and an AttributeError, as that of scikit-learn.

    Parameters
    ----------
    message : str
        The sentence.
    status : int
        The library's status code.

    Examples
    --------
    >>> import heatball
    >>> heatball.ScoreDensity().score([[0.0]])
    Traceback (most recent call last):
    ...
    heatball.NotFittedError: this ScoreDensity is not fitted yet; call fit(X) first
    """


class ScoreDensity:
    """The density of a table: a score model of the columns after smooth maps, with the methods of scikit-learn.

    Parameters
    ----------
    loss : {"hb", "dsm", "fp"}
        The loss of `heatball.train`.
    maps : str or list
        "auto": for each column that of identity, arsinh, log and logit under which it is nearest to a Gaussian. "none":
        identity. Or a name for all columns, or a list with one for each: "identity"; "arsinh", linear in the middle and
        logarithmic in both tails; "log", of positive values; "logit", of values between two bounds, which are taken from the
        data or given as ("logit", low, high); "quantile", a smooth function of the rank.
    steps, width, depth, batch : int
        Of the training and its network, as in `heatball.train`.
    likelihood : {"auto", "direct", "ode"}
        ln p from one pass of the network where its error is at most `error`, else by the probability-flow ODE; one pass
        always; or the ODE always.
    error : float
        Of "auto", in nats.
    seed : int
        Seed of the training, and of samples without a random_state.
    threads : int
        0: one per core. The results do not depend on it.

    Attributes
    ----------
    model_ : Model
        The model of the mapped samples.
    maps_ : list of str
        The name of each column's map.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray of str
        The names of the columns, if X was a data frame.

    See Also
    --------
    train : Score models without maps.
    load : Read what `save` has written.

    Notes
    -----
    Each column is mapped to one that is nearer to a Gaussian, as Box and Cox [1]_ choose their power, then `heatball.train`
    learns the density of the mapped samples. ln p(x) = ln p_z(g(x)) + sum_j ln g_j'(x_j). Heavy tails, bounds and outliers need
    no preparation.

    References
    ----------
    .. [1] G. E. P. Box and D. R. Cox, "An analysis of transformations", J. R. Statist. Soc. B 26, 1964.

    Examples
    --------
    >>> import numpy as np, heatball
    >>> rng = np.random.default_rng(3)
    >>> X = np.stack([rng.lognormal(5, 1, 1000), rng.standard_t(2, 1000), rng.random(1000)], 1)
    >>> density = heatball.ScoreDensity(steps=200, width=32).fit(X)
    >>> density.maps_
    ['log', 'arsinh', 'logit']
    >>> density.score_samples([[150.0, 0.0, 0.5], [-1.0, 0.0, 0.5]])[1]  # outside of the domain of log
    -inf
    >>> density.sample(5).shape
    (5, 3)
    """

    model_: Model
    maps_: list[str]
    n_features_in_: int

    def __init__(self, loss: str = "hb", *, maps: str | Sequence[Any] = "auto", steps: int = 2000,
                 width: int = 128, depth: int = 3, batch: int = 256, likelihood: str = "auto",
                 error: float = 0.05, seed: int = 42, threads: int = 0) -> None:
        self.loss, self.maps, self.steps, self.width, self.depth, self.batch = loss, maps, steps, width, depth, batch
        self.likelihood, self.error, self.seed, self.threads = likelihood, error, seed, threads

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool
            Without effect; for scikit-learn.

        Returns
        -------
        dict
            Names and values.

        Examples
        --------
        >>> import heatball
        >>> heatball.ScoreDensity(steps=500).get_params()["steps"]
        500
        """
        return {name: getattr(self, name) for name in _names(type(self))}

    def set_params(self, **params: Any) -> ScoreDensity:
        """Set parameters by name.

        Parameters
        ----------
        **params : dict
            Names and values.

        Returns
        -------
        ScoreDensity
            The estimator itself.

        Examples
        --------
        >>> import heatball
        >>> heatball.ScoreDensity().set_params(maps="none").maps
        'none'
        """
        known = _names(type(self))
        for name, value in params.items():
            if name not in known:
                raise ArgumentError(f"{name} is no parameter of {type(self).__name__}; these are: {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = {name: one.default for name, one in inspect.signature(type(self).__init__).parameters.items()}
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value is not defaults[name]
                   and not (isinstance(value, (str, int, float)) and value == defaults[name])]
        return f"{type(self).__name__}({', '.join(changed)})"

    def fit(self, X: ArrayLike, y: Any = None) -> ScoreDensity:
        """Choose the maps and train the model.

        Parameters
        ----------
        X : array_like of shape (n, dim), or (n,) for dim = 1
            Samples: at least two, all finite, without a constant column. A data frame's names are kept.
        y : None
            Ignored; for scikit-learn.

        Returns
        -------
        ScoreDensity
            The estimator itself.

        Raises
        ------
        ArgumentError
            A ValueError that names the row or column at fault.

        Examples
        --------
        >>> import numpy as np, heatball
        >>> X = np.random.default_rng(3).lognormal(0, 1, (300, 2))
        >>> heatball.ScoreDensity(steps=20, width=8).fit(X).maps_
        ['log', 'log']
        """
        self._check_likelihood()
        names = _column_names(X)
        X = _checked(X)
        if len(X) < 2:
            raise ArgumentError(f"X has {len(X)} row{'s' * (len(X) != 1)}; a density needs at least 2")
        for j in np.flatnonzero(X.max(0) == X.min(0)):
            raise ArgumentError(f"column {j} is constant ({X[0, j]:g}); it has no density: leave it out")
        _warn_of_equal_columns(X)
        found = _maps(self.maps, X)
        z = np.stack([one.forward(X[:, j])[0] for j, one in enumerate(found)], 1)
        self.model_ = train(z, self.loss, standardise="axis", steps=self.steps, width=self.width, depth=self.depth, batch=self.batch,
                            seed=self.seed, threads=self.threads)
        self._maps, self.maps_, self.n_features_in_ = found, [one.name for one in found], X.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names
        return self

    def _check_likelihood(self):
        choice("likelihood", self.likelihood, LIKELIHOODS)
        if not real("error", self.error) >= 0:
            raise ArgumentError(f"error is {self.error}; it must be 0 or more, in nats")

    def map_columns(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Return the mapped samples and the logarithm of the Jacobian of the maps.

        Parameters
        ----------
        X : array_like of shape (n, dim)
            Samples.

        Returns
        -------
        z : ndarray of shape (n, dim)
            The mapped samples.
        slopes : ndarray of shape (n,)
            The logarithm of the Jacobian, -inf outside the domain of a map.

        Examples
        --------
        >>> import numpy as np, heatball
        >>> X = np.random.default_rng(3).lognormal(0, 1, (300, 1))
        >>> z, slopes = heatball.ScoreDensity(steps=20, width=8).fit(X).map_columns([[1.0], [np.e]])
        >>> z[:, 0].round(6).tolist(), slopes.round(6).tolist()
        ([0.0, 1.0], [0.0, -1.0])
        """
        self._fitted()
        names, known = _column_names(X), getattr(self, "feature_names_in_", None)
        if names is not None and known is not None and list(names) != list(known):
            raise ArgumentError(f"X has the columns {', '.join(names)}; the density was fitted to {', '.join(known)}")
        X = _checked(X, self.n_features_in_)
        parts = [one.forward(X[:, j]) for j, one in enumerate(self._maps)]
        return np.stack([z for z, _ in parts], 1), np.sum([slopes for _, slopes in parts], 0)

    def score_samples(self, X: ArrayLike, return_error: bool = False) -> Any:
        """Return ln p of each sample in nats.

        Parameters
        ----------
        X : array_like of shape (n, dim)
            Samples.
        return_error : bool
            Return the errors too.

        Returns
        -------
        values : ndarray of shape (n,)
            ln p; -inf outside the domain of a map.
        errors : ndarray of shape (n,)
            With `return_error`: the numerical error, from one pass a standard error, by the ODE a bound; 0 outside the domain.

        Notes
        -----
        p is the density with the noise of tau_min, 0.045 standard deviations of a mapped column. The error does not say how far the
        learnt density is from the true one.

        Examples
        --------
        >>> import numpy as np, heatball
        >>> X = np.random.default_rng(3).normal(size=(300, 2))
        >>> density = heatball.ScoreDensity(steps=20, width=8).fit(X)
        >>> values, errors = density.score_samples(X[:3], return_error=True)
        >>> values.shape, errors.shape
        ((3,), (3,))
        """
        self._fitted()
        self._check_likelihood()
        z, slopes = self.map_columns(X)
        inside = np.isfinite(slopes)
        values, errors = np.full(len(z), -np.inf), np.zeros(len(z))
        if inside.any():
            found = log_likelihood(self.model_, z[inside], method=self.likelihood, error=self.error, threads=self.threads)
            values[inside], errors[inside] = found.log_likelihood + slopes[inside], found.se
        return (values, errors) if return_error else values

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Return the mean of ln p in nats, which cross-validation takes.

        Parameters
        ----------
        X : array_like of shape (n, dim)
            Samples, at least one.
        y : None
            Ignored; for scikit-learn.

        Returns
        -------
        float
            The mean log-likelihood; larger is better.

        Examples
        --------
        >>> import numpy as np, heatball
        >>> X = np.random.default_rng(3).normal(size=(300, 2))
        >>> density = heatball.ScoreDensity(steps=20, width=8).fit(X)
        >>> density.score(X) == density.score_samples(X).mean()
        True
        """
        values = self.score_samples(X)
        if len(values) == 0:
            raise ArgumentError("X has no rows; a mean needs at least 1")
        return float(np.mean(values))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Floats:
        """Return random samples of the density.

        Parameters
        ----------
        n_samples : int
            Their number.
        random_state : int, numpy.random.Generator or numpy.random.RandomState
            Seed, or a generator from which one is drawn; default: `seed`, the same samples at every call.

        Returns
        -------
        ndarray of shape (n_samples, dim)
            The samples.

        Examples
        --------
        >>> import numpy as np, heatball
        >>> X = np.random.default_rng(3).lognormal(0, 1, (300, 2))
        >>> x = heatball.ScoreDensity(steps=20, width=8).fit(X).sample(4, random_state=1)
        >>> x.shape, bool((x > 0).all())
        ((4, 2), True)
        """
        self._fitted()
        z = self.model_.generate(integer("n_samples", n_samples, 0, 2**62), seed=_seed(random_state, self.seed),
                                 threads=self.threads)
        return np.stack([one.inverse(z[:, j]) for j, one in enumerate(self._maps)], 1)

    def save(self, path: Path) -> None:
        """Write the fitted density to an .npz file, which `heatball.load` reads.

        Parameters
        ----------
        path : path
            The file, with the name as it is given. It is whole or not there.

        Raises
        ------
        NotFittedError
            There is nothing to write before `fit`.

        See Also
        --------
        load : Read it again.

        Examples
        --------
        >>> import os, tempfile
        >>> import numpy as np, heatball
        >>> X = np.random.default_rng(3).normal(size=(300, 2))
        >>> density = heatball.ScoreDensity(steps=20, width=8).fit(X)
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     path = os.path.join(directory, "density.npz")
        ...     density.save(path)
        ...     twin = heatball.load(path)
        >>> bool((twin.sample(5) == density.sample(5)).all())
        True
        """
        self._fitted()
        data = self.model_.__reduce__()[1][0]
        maps = [{"name": one.name, "values": plain(vars(one))} for one in self._maps]
        names = None if not hasattr(self, "feature_names_in_") else [str(name) for name in self.feature_names_in_]
        write(path, "ScoreDensity", {"params": plain(self.get_params()), "maps": maps, "names": names},
              {"model": np.frombuffer(data, np.uint8)})

    @classmethod
    def _from_file(cls, head, arrays):
        """The density of a file's content."""
        self = cls(**head["params"])
        self._maps = [column_maps.restored(one["name"], one["values"]) for one in head["maps"]]
        self.model_ = _from_bytes(arrays["model"].tobytes())
        self.maps_, self.n_features_in_ = [one.name for one in self._maps], len(self._maps)
        if self.model_.dim != self.n_features_in_:
            raise ValueError(f"{self.n_features_in_} maps of a model in dimension {self.model_.dim}")
        if head["names"] is not None:
            self.feature_names_in_ = np.array(head["names"], object)
        return self

    def __sklearn_tags__(self):
        """What scikit-learn 1.6 and later ask of an estimator; called by it alone."""
        from sklearn.utils import Tags, TargetTags
        return Tags(estimator_type="density_estimator", target_tags=TargetTags(required=False))

    def _fitted(self):
        if "model_" not in self.__dict__:
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit(X) first")


for _shown in (NotFittedError, ScoreDensity):
    _shown.__module__ = "heatball"


def _names(kind):
    return [name for name in inspect.signature(kind.__init__).parameters if name != "self"]


def _column_names(X):
    """The names of the columns of a data frame, if all are texts; None of others."""
    names = getattr(X, "columns", None)
    if names is None or not len(names) or not all(isinstance(name, str) for name in names):
        return None
    return np.array(list(names), object)


def _warn_of_equal_columns(X):
    seen = {}
    for j in range(X.shape[1]):
        i = seen.setdefault((X[:, j] + 0.0).tobytes(), j)
        if i != j:
            warnings.warn(f"columns {i} and {j} are identical; such rows have no density, and ln p depends on the noise of "
                          "tau_min: leave one of them out", stacklevel=3)
            return


def _checked(X, dim=None):
    """X as rows (n, dim) of finite numbers."""
    if hasattr(X, "dtypes") and hasattr(X, "columns"):  # a data frame
        for name, kind in zip(X.columns, X.dtypes):
            if getattr(kind, "kind", "O") not in "fiub":
                raise TypeError(f"column {name!r} of X has dtype {kind}; it must be real numbers: encode it or leave it out")
    X = rows("X", X, dim)
    if dim is not None and X.shape[1] != dim:
        raise ArgumentError(f"X has {X.shape[1]} columns; the density has {dim}")
    if X.shape[1] == 0:
        raise ArgumentError("X has no columns")
    if not np.isfinite(X).all():
        i, j = np.argwhere(~np.isfinite(X))[0]
        raise ArgumentError(f"X has {X[i, j]:g} in row {i}, column {j}; it must be finite: fill it or leave the row out")
    return X


def _maps(maps, X):
    """The map of each column."""
    dim = X.shape[1]
    if isinstance(maps, str):
        if maps == "auto":
            return [column_maps.choose(X[:, j], j) for j in range(dim)]
        maps = ["identity" if maps == "none" else maps] * dim
    maps = list(maps)
    if len(maps) != dim:
        raise ArgumentError(f"maps has {len(maps)} names; X has {dim} columns")
    return [_map(name, X[:, j], j) for j, name in enumerate(maps)]


def _map(name, x, column):
    if isinstance(name, str) and name in column_maps.NAMES:
        return column_maps.make(name, x, column)
    if name == "auto":
        return column_maps.choose(x, column)
    if isinstance(name, (tuple, list)) and len(name) == 3 and name[0] == "logit":
        low, high = float(name[1]), float(name[2])
        if low < high:
            return column_maps.make(("logit", low, high), x, column)
    raise ArgumentError(f"the map of column {column} is {shown(name)}; it must be {', '.join(column_maps.NAMES)} or "
                        '("logit", low, high) with low < high; for all columns also auto or none')


def _seed(random_state, seed):
    if random_state is None:
        return seed
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**62))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return integer("random_state", random_state, 0, 2**64 - 1)
