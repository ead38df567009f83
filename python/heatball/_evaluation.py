"""A model judged: its score, its curl and its samples."""

from __future__ import annotations

import numpy as np

from heatball._arguments import array, real, shown
from heatball._errors import ArgumentError
from heatball._tables import Result
from heatball._types import ArrayLike
from heatball.data import Mixture, dataset
from heatball.judge import curl, kolmogorov, mmd
from heatball.model import Model
from heatball.random import normal

__all__ = ["evaluate"]

CURL_POINTS = 500


def evaluate(model: Model, data: Mixture | str | ArrayLike, tau: ArrayLike = (0.01, 0.1, 0.3, 1.0), *, n: int = 4000,
             samples: int = 2000, solver: str = "sde", seed: int = 42) -> Result:
    """Judge a model: its score where the exact one is known, its curl, and its samples.

    Parameters
    ----------
    model : Model
    data : Mixture, str, or array_like of shape (m, dim)
        The truth: a mixture or the name of a planar set; or rows that the model was not trained on.
    tau : array_like of shape (k,)
        Where the score is judged.
    n : int
        Draws at each tau for the error of the score, and rows drawn from a mixture to compare with.
    samples : int
        Rows to generate; 0: none.
    solver : str
        Of `Model.generate`.
    seed : int
        Of all that is drawn.

    Returns
    -------
    Result, a dict
        tau: a list of dicts with tau, curl and curl_se (in dim 2 and more; of the model's coordinates
        z), and, of a mixture and a model that is not standardised, of the process "ou" or "ve", the mean
        squared error of the score mse, mse_low (over the fifth of the draws with the lowest density),
        mse_high, each with its error _se, and mse_grid. With samples: mmd, mmd2 and mmd2_se against the
        data, mmd_floor of data against data, kolmogorov, a list of Kolmogorov's distances of generated
        rows and data by column, and kolmogorov_floor (see `kolmogorov`), and of a mixture modes (found),
        modes_true and outliers.

    Examples
    --------
    >>> import heatball
    >>> model = heatball.train("two_moon", "dsm", n=500, steps=30, width=16, depth=2)
    >>> result = heatball.evaluate(model, "two_moon", [0.3], n=500, samples=200, solver="ode")
    >>> sorted(result), result["tau"][0]["mse"] > 0
    (['kolmogorov', 'kolmogorov_floor', 'mmd', 'mmd2', 'mmd2_se', 'mmd_floor', 'modes', 'modes_true', 'outliers', 'tau'], True)
    """
    if not isinstance(model, Model):
        raise TypeError(f"model is {shown(model)}; it must be a Model, of heatball.train or heatball.load")
    truth = dataset(data) if isinstance(data, str) else data
    truth = truth if isinstance(truth, Mixture) else None
    rows = array("data", data, 2) if truth is None else truth.sample(n, seed=seed)
    if rows.shape[1] != model.dim:
        raise ArgumentError(f"data has {rows.shape[1]} columns; the model has dimension {model.dim}")
    out = {"tau": [_judge_score(model, truth, rows, real("tau", one), n, seed)
                   for one in np.atleast_1d(tau)]}
    if samples:
        made = model.generate(samples, solver, seed=seed)
        half = len(rows) // 2
        out.update({name: value for name, value in mmd(made, rows).items() if name != "bandwidth"},
                   mmd_floor=mmd(rows[:half], rows[half:])["mmd"])
        columns = kolmogorov(made, rows)
        out.update(kolmogorov=columns["distance"].tolist(), kolmogorov_floor=columns["floor"])
    if samples and truth is not None:
        modes = truth.modes(made)
        out.update(modes=modes["found"], modes_true=int(truth.mode_of.max()) + 1,
                   outliers=modes["outliers"])
    return Result(out, f"Judgement of a model at {len(out['tau'])} tau", rows="tau")


def _judge_score(model, truth, rows, tau, n, seed):
    """What is known of the score at one tau."""
    out = {"tau": tau}
    if truth is not None and model.process in ("ou", "ve") and np.all(model.scales == 1):
        found = truth.score_error(model.score, tau, process=model.process, n=n, seed=seed)
        for name, region in (("mse", "all"), ("mse_low", "low"), ("mse_high", "high")):
            out[name], out[name + "_se"] = found[region], found[region + "_se"]
        out["mse_grid"] = found["grid"]
    if model.dim > 1:
        few = rows[:CURL_POINTS]
        noise = normal(few.size, seed=seed).reshape(few.shape)
        points = model.noised(few, tau, noise)

        def score_of_z(z, tau):
            return model.scales * model.score(model.shift + model.scales * z, tau)

        z = (points - model.shift) / model.scales
        out["curl"], out["curl_se"] = curl(score_of_z, z, tau, seed=seed)
    return out
