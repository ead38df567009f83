"""Pictures by matplotlib of solutions, models and results. Nothing here is imported before something is drawn."""

from __future__ import annotations

import types
from typing import Any, Sequence

import numpy as np

from heatball._arguments import real, shown
from heatball._errors import ArgumentError

CURVES = 8  # with a legend; more have a bar of colours
TAU = 0.1  # at which a model is drawn
PICTURES = 6  # of several times in the plane
FIELD, SEEN = 161, 3e-3  # places on an axis of a field, and the density in units of its largest down to which it is drawn
LOG_SPAN = 30  # of log-densities in a picture; lower ones have the lowest colour
UNKNOWN = "error not known"
# The look of figures: colours of Okabe and Ito, as src/plot/figure_files.c has them.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000"]
IMAGE, CURVES_MAP = "Blues", "viridis"  # of pictures, of curves by time
STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans", "font.size": 11, "axes.titlesize": 12, "legend.fontsize": 10, "legend.frameon": False,
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#404040", "axes.grid": True, "axes.axisbelow": True,
    "grid.color": "#e3e3e3", "grid.linewidth": 0.8, "xtick.color": "#202020", "ytick.color": "#202020"}


def pyplot() -> Any:
    """Return matplotlib.pyplot, or say what is missing."""
    try:
        import matplotlib.pyplot
    except ImportError:
        raise ImportError("plot needs matplotlib, which is not installed (pip install matplotlib, or on Debian apt-get "
                          "install python3-matplotlib); heatball solve --plot draws by gnuplot") from None
    return matplotlib.pyplot


def styled(**more: Any) -> Any:
    """Return the settings of matplotlib for new figures, as a context; tools/notebooks.py draws the pages' own figures in it."""
    import matplotlib
    return pyplot().rc_context({**STYLE, "axes.prop_cycle": matplotlib.cycler(color=COLOURS), **more})


def new_axes(ax: Any, **options: Any) -> Any:
    """Return `ax`, or the axes of a new figure."""
    if ax is not None:
        return ax
    with styled():
        return pyplot().subplots(**options)[1]


# ---- solutions ------------------------------------------------------------------------------------

def plot_solution(s: Any, quantity: str, time: Any, ax: Any) -> Any:
    """`Solution.plot`."""
    pyplot()
    dim = s.x.shape[1]
    names = ["density", "log_density", "entropy_density", "score", *(f"score_{j + 1}" for j in range(dim))]
    if quantity not in names:
        raise ArgumentError(f"quantity is {shown(quantity)}; it must be {', '.join(names[:4])}"
                            + (f" or one of score_1 .. score_{dim}" if dim > 1 else " or score_1"))
    times = s.t
    which: Sequence[int] = range(len(times))
    if time is not None:
        time = real("time", time)
        if np.isnan(time):
            raise ArgumentError("time is nan; it must be a number")
        which = [int(np.argmin(np.abs(times - time)))]
    if dim == 2 and _as_mesh(s.x) is None:
        s = _field(s, which) or s
    if quantity == "score" and dim == 2:
        return _pictures(s, quantity, which, ax)
    values, errors = _values(s, quantity)
    if dim == 1:
        return _curves(new_axes(ax), s.x[:, 0], values, errors, times, which, "x", quantity)
    if dim == 2:
        return _pictures(s, quantity, which, ax)
    return _by_number(new_axes(ax), values, errors, times, which, quantity)


def _field(s: Any, which: Sequence[int]) -> Any:
    """The solution on a mesh where its density is, if there is a grid behind it; else None. Its points are kept as `points`."""
    try:
        grid = s._behind()
    except ArgumentError:  # from a file, and not to be solved again: the points are drawn
        return None
    if grid is None or not all(grid.has(k) for k in which):
        return None
    boxes = [grid.box(k) for k in which]
    low, high = np.max([box[0] for box in boxes], axis=0), np.min([box[1] for box in boxes], axis=0)
    for cells in (FIELD // 2, FIELD):
        inside = 1e-9 * (high - low)
        axes = [np.linspace(low[j] + inside[j], high[j] - inside[j], cells) for j in (0, 1)]
        x = np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], axis=1)
        parts = {k: grid.evaluate(x, k) for k in which}
        seen = np.any([(part[0] > np.nanmax(part[0]) + np.log(SEEN)) & np.isfinite(part[1]) for part in parts.values()], axis=0)
        margin = 0.08 * np.ptp(x[seen], axis=0) + 2 * (high - low) / cells
        low, high = np.maximum(low, x[seen].min(axis=0) - margin), np.minimum(high, x[seen].max(axis=0) + margin)
    shape = (len(s.t), len(x))
    out = types.SimpleNamespace(x=x, t=s.t, points=s.x, score=np.full((*shape, 2), np.nan), score_error=np.full((*shape, 2), np.nan))
    v, e = np.full(shape, np.nan), np.full(shape, np.nan)
    for k, part in parts.items():
        v[k], e[k], out.score[k], out.score_error[k] = part
        v[k, ~np.isfinite(e[k])] = np.nan  # not drawn
    out.log_density, out.log_density_error, out.density, out.density_error = v, e, np.exp(v), np.exp(v) * e
    out.entropy_density, out.entropy_density_error = out.density * v, out.density_error * np.abs(1 + v)
    return out


def _streams(ax: Any, s: Any, k: int) -> None:
    """Lines along the score, where the density is seen and the score's error is below a fifth of its length."""
    first, second, order = _as_mesh(s.x)
    score = s.score[k].copy()
    length, error = np.hypot(*score.T), np.hypot(*s.score_error[k].T)
    score[(s.log_density[k] < np.nanmax(s.log_density[k]) + np.log(SEEN)) | ~(error < 0.2 * length)] = np.nan
    parts = [score[order, j].reshape(len(first), len(second)).T for j in (0, 1)]
    ax.streamplot(first, second, *parts, color=COLOURS[1], linewidth=0.9, density=1.1, arrowsize=0.9)


def _values(s: Any, quantity: str) -> tuple[Any, Any]:
    """Values and errors of shape (times, n)."""
    shape = (len(s.t), len(s.x))
    if quantity.startswith("score"):
        j = int(quantity[6:]) - 1 if quantity != "score" else 0
        if quantity == "score" and s.x.shape[1] > 1:
            raise ArgumentError(f"the score has {s.x.shape[1]} components; draw one of score_1 .. score_{s.x.shape[1]}")
        return s.score[..., j].reshape(shape), s.score_error[..., j].reshape(shape)
    return getattr(s, quantity).reshape(shape), getattr(s, f"{quantity}_error").reshape(shape)


def _curves(ax: Any, x: Any, values: Any, errors: Any, labels: Any, which: Sequence[int], xlabel: str, ylabel: str,
            name: str = "t") -> Any:
    """values[k] over x for k in which, each with its error; coloured by labels[k] if there are many."""
    colours = _colours(len(which))
    order = np.argsort(x, kind="stable")
    unknown = False
    for k, colour in zip(which, colours):
        y, e = values[k][order], errors[k][order]
        known = np.isfinite(e)
        label = f"{name} = {labels[k]:g}" if len(which) > 1 and len(which) <= CURVES else None
        few = len(x) <= 30
        ax.plot(x[order], y, "o-" if few else "-", color=colour, label=label, markersize=3, linewidth=1.2)
        low, high = np.where(known, y - e, np.nan), np.where(known, y + e, np.nan)
        ax.fill_between(x[order], low, high, color=colour, alpha=0.25, linewidth=0)
        if few:
            ax.errorbar(x[order][known], y[known], e[known], fmt="none", ecolor=colour, elinewidth=1, capsize=2)
        unknown |= _mark_unknown(ax, x[order], y, known)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    if len(which) > CURVES:
        _bar_of_labels(ax, np.asarray(labels)[list(which)], name)
    if len(which) == 1 and np.size(labels) > 1:
        ax.set_title(f"{name} = {labels[which[0]]:g}")
    if (1 < len(which) <= CURVES) or unknown:
        ax.legend(frameon=False)
    return ax


def _mark_unknown(ax: Any, x: Any, y: Any, known: Any) -> bool:
    """Mark values whose error is not finite; once in the legend."""
    open_ones = ~known & np.isfinite(y)
    if open_ones.any():
        have = ax.get_legend_handles_labels()[1]
        ax.plot(x[open_ones], y[open_ones], "x", color="crimson", markersize=6, label=None if UNKNOWN in have else UNKNOWN)
    return bool(open_ones.any())


def _colours(n: int) -> Any:
    if n == 1:
        return [COLOURS[0]]
    return pyplot().get_cmap(CURVES_MAP)(np.linspace(0, 0.9, n))


def _bar_of_labels(ax: Any, labels: Any, name: str) -> None:
    """A bar of colours with some of the labels."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize
    n = len(labels)
    bar = ax.figure.colorbar(ScalarMappable(Normalize(-0.5, n - 0.5), ListedColormap(_colours(n))), ax=ax)
    places = np.arange(0, n, -(-(n - 1) // 6))
    bar.set_ticks(places)
    bar.set_ticklabels([f"{labels[place]:g}" for place in places])
    bar.set_label(name)


def _pictures(s: Any, quantity: str, which: Sequence[int], ax: Any) -> Any:
    """In two dimensions: a picture for each time, at most PICTURES of them, with one scale of colours."""
    if len(which) > PICTURES:
        which = [which[k] for k in np.linspace(0, len(which) - 1, PICTURES).round().astype(int)]
    if len(which) > 1 and ax is not None:
        raise ArgumentError(f"the solution has {len(s.t)} times; one ax holds one picture: choose it by time=")
    arrows = quantity == "score"
    values, errors = _values(s, "density" if arrows else quantity)
    finite = values[list(which)][np.isfinite(values[list(which)])]
    if finite.size == 0:
        raise ArgumentError(f"{quantity} is finite at no point; there is nothing to draw")
    span = {"vmin": finite.min(), "vmax": finite.max()}
    cut = quantity == "log_density" and span["vmin"] < span["vmax"] - LOG_SPAN
    if cut:
        span["vmin"] = span["vmax"] - LOG_SPAN
    columns = min(len(which), 3)
    rows = -(-len(which) // columns)
    if ax is None:
        with styled(**{"axes.grid": False}):
            figure, axes = pyplot().subplots(rows, columns, squeeze=False, figsize=(1.2 + 4.4 * columns, 3.8 * rows), sharex=True,
                                             sharey=True, constrained_layout=True)
    else:
        figure, axes = ax.figure, np.array([[ax]])
    for one in axes.ravel()[len(which):]:
        one.set_visible(False)
    used = axes.ravel()[:len(which)]
    for one, k in zip(used, which):
        drawn = _picture(one, s.x, values[k], np.isfinite(errors[k]), span)
        if arrows:
            if hasattr(s, "points"):
                _streams(one, s, k)
            else:
                _arrows(one, s.x, s.score.reshape(len(s.t), len(s.x), 2)[k])
        if hasattr(s, "points"):
            one.plot(s.points[:, 0], s.points[:, 1], "s", color="black", markerfacecolor="none", markersize=5,
                     label="requested points")
            one.legend(loc="upper right")
        one.set_xlabel("$x_1$")
        one.set_ylabel("$x_2$")
        if len(s.t) > 1:
            one.set_title(f"t = {s.t[k]:.4g}")
    figure.colorbar(drawn, ax=list(used), label="density" if arrows else quantity, extend="min" if cut else "neither")
    return used[0] if len(used) == 1 else used


def _picture(ax: Any, x: Any, values: Any, known: Any, span: Any) -> Any:
    mesh = _as_mesh(x)
    if mesh is None:
        drawn = ax.scatter(x[:, 0], x[:, 1], c=values, cmap=CURVES_MAP, s=25, **span)
    else:
        first, second, order = mesh
        drawn = ax.pcolormesh(first, second, values[order].reshape(len(first), len(second)).T, shading="nearest",
                              cmap=IMAGE, **span)
    away = ~known & np.isfinite(values)
    if away.any():
        ax.plot(x[away, 0], x[away, 1], "x", color="crimson", markersize=4, label=UNKNOWN)
        ax.legend(loc="upper right", framealpha=0.8)
    return drawn


def _as_mesh(x: Any) -> Any:
    """The places on both axes and the order of the points, if the points are a mesh; else None."""
    first, second = np.unique(x[:, 0]), np.unique(x[:, 1])
    if min(len(first), len(second)) < 2 or len(first) * len(second) != len(x):
        return None
    order = np.lexsort((x[:, 1], x[:, 0]))
    whole = np.stack([part.ravel() for part in np.meshgrid(first, second, indexing="ij")], axis=1)
    return (first, second, order) if np.array_equal(x[order], whole) else None


def _arrows(ax: Any, x: Any, score: Any) -> None:
    """Some 20 by 20 arrows of the score, none longer than a step between them."""
    mesh = _as_mesh(x)
    chosen = np.isfinite(score).all(axis=1)
    if mesh is not None:
        steps = [max(1, len(axis) // 20) for axis in mesh[:2]]
        places = [np.isin(x[:, j], mesh[j][steps[j] // 2::steps[j]]) for j in (0, 1)]
        chosen &= places[0] & places[1]
    if not chosen.any():
        return
    length = np.hypot(*score[chosen].T)
    scale = np.quantile(length, 0.9) or 1.0
    drawn = score[chosen] / np.maximum(length, scale)[:, None]
    ax.quiver(x[chosen, 0], x[chosen, 1], drawn[:, 0], drawn[:, 1], color=COLOURS[1],
              angles="xy", width=0.005, scale=24)


def _by_number(ax: Any, values: Any, errors: Any, times: Any, which: Sequence[int], quantity: str) -> Any:
    """Above the plane: points by their number, or of several times curves over time."""
    if len(which) > 1:
        points = range(values.shape[1])
        return _curves(ax, times, values.T, errors.T, np.arange(len(points)), points, "t", quantity, "point")
    y, e = values[which[0]], errors[which[0]]
    known, places = np.isfinite(e), np.arange(len(y))
    ax.errorbar(places[known], y[known], e[known], fmt="o", markersize=4, capsize=3)
    if _mark_unknown(ax, places, y, known):
        ax.legend(frameon=False)
    ax.set_xlabel("point")
    ax.set_ylabel(quantity)
    ax.xaxis.get_major_locator().set_params(integer=True)
    if len(times) > 1:
        ax.set_title(f"t = {times[which[0]]:g}")
    return ax


# ---- results --------------------------------------------------------------------------------------

def plot_result(result: Any, names: Sequence[str], ax: Any) -> Any:
    """`Result.plot`: columns over the last axis of the table, a curve for each place on the other axes."""
    pyplot()
    table = {name: np.asarray(values) for name, values in result._table().items()}
    if not table:
        raise ArgumentError("this result has single values only; there is nothing to draw along")
    axes = list(result._axes) or list(table)[:1]
    drawable = [name for name in table if name not in axes and not name.endswith("_se")
                and np.issubdtype(table[name].dtype, np.number)]
    if not drawable:
        raise ArgumentError(f"this result has no numbers to draw over {axes[-1]}")
    for name in names:
        if name not in drawable:
            raise ArgumentError(f"{shown(name)} cannot be drawn; it must be one of {', '.join(drawable)}")
    ax = new_axes(ax)
    x = table[axes[-1]]
    groups = np.stack([table[axis] for axis in axes[:-1]], axis=1) if len(axes) > 1 else np.zeros((len(x), 1))
    places = np.unique(groups, axis=0)
    shown_places = places[:CURVES]
    for name in names or drawable:
        for place in shown_places:
            rows = np.flatnonzero((groups == place).all(axis=1))
            label = name + ("" if len(places) == 1 else f", {axes[0]} {place[0]:g}")
            errors = table.get(f"{name}_se")
            if errors is None:
                ax.plot(x[rows], table[name][rows], "o-" if len(rows) <= 30 else "-", markersize=3, linewidth=1, label=label)
            else:
                ax.errorbar(x[rows], table[name][rows], np.where(np.isfinite(errors[rows]), errors[rows], np.nan), fmt="o-",
                            markersize=3, linewidth=1, capsize=2, label=label)
    ax.set_xlabel(axes[-1])
    drawn = list(names or drawable)
    ax.set_ylabel(drawn[0] if len(drawn) == 1 else "")
    if len(drawn) > 1 or len(places) > 1:
        ax.legend(frameon=False)
    if len(places) > CURVES:
        ax.set_title(f"the first {CURVES} of {len(places)}")
    if axes[-1] == "tau":
        _logarithmic(ax.set_xscale, x)
    _logarithmic(ax.set_yscale, np.concatenate([table[name] for name in drawn]))
    return ax


def _logarithmic(scale: Any, values: Any) -> None:
    """Logarithms where all is positive and spans more than a factor of thirty."""
    finite = values[np.isfinite(values)]
    if finite.size and finite.min() > 0 and finite.max() > 30 * finite.min():
        scale("log")


# ---- models ---------------------------------------------------------------------------------------

def plot_model(model: Any, x: Any, tau: Any, n: int | None, label: Any, seed: int, ax: Any) -> Any:
    """`Model.plot`."""
    pyplot()
    made = x is None
    if made:
        n = (40 if model.image_height else 500) if n is None else n
        x = model.generate(n, label=label, seed=seed)
    x = model._points(x, 1.0, None)[0]
    if len(x) == 0:
        raise ArgumentError("there are no rows to draw")
    if not np.isfinite(x).all():
        raise ArgumentError("x has values that are not finite; they cannot be drawn")
    ax = new_axes(ax)
    if model.image_height:
        return _images(ax, model, x)
    names = model.columns or [f"$x_{{{j + 1}}}$" for j in range(model.dim)]
    tau = min(max(TAU, model.tau_min), model.tau_max) if tau is None else real("tau", tau)
    rows = f"{len(x)} generated rows" if made else f"{len(x)} rows"
    if model.dim == 1:
        _line_of_model(ax, model, x[:, 0], tau, label, rows)
    elif model.dim == 2:
        _plane_of_model(ax, model, x, tau, label, rows)
    else:
        ax.plot(x[:, 0], x[:, 1], ".", markersize=3, color=COLOURS[1], label=rows)
    ax.set_xlabel(names[0])
    ax.set_ylabel(names[1] if model.dim > 1 else "")
    ax.legend(loc="upper right", framealpha=0.8)
    return ax


def _box(values: Any) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    room = 0.15 * (high - low) or 1.0
    return low - room, high + room


def _line_of_model(ax: Any, model: Any, x: Any, tau: float, label: Any, rows: str) -> None:
    ax.hist(x, bins=max(10, int(len(x) ** 0.5)), density=True, color=COLOURS[1], alpha=0.4, label=rows)
    places = np.linspace(*_box(x), 400)
    if model.head == "energy":
        ax.plot(places, np.exp(model.log_density(places, tau, label)), label=f"learnt density, tau = {tau:g}")
        return
    other = ax.twinx()
    other.plot(places, model.score(places, tau, label)[:, 0], COLOURS[2], label=f"learnt score, tau = {tau:g}")
    other.set_ylabel("score")
    other.legend(loc="upper left", framealpha=0.8)


def _plane_of_model(ax: Any, model: Any, x: Any, tau: float, label: Any, rows: str) -> None:
    sides = [np.linspace(*_box(x[:, j]), 120 if model.head == "energy" else 24) for j in (0, 1)]
    points = np.stack([part.ravel() for part in np.meshgrid(*sides, indexing="ij")], axis=1)
    if model.head == "energy":
        values = model.log_density(points, tau, label)
        density = np.exp(values - values.max()).reshape(120, 120)
        ax.grid(False)
        ax.pcolormesh(sides[0], sides[1], density.T, shading="nearest", cmap=IMAGE)
        ax.set_title(f"learnt density at tau = {tau:g} (blue)")
    else:
        _arrows_of_field(ax, points, model.score(points, tau, label))
        ax.set_title(f"learnt score at tau = {tau:g}")
    ax.plot(x[:, 0], x[:, 1], ".", markersize=2.5, color=COLOURS[1], label=rows)


def _arrows_of_field(ax: Any, points: Any, score: Any) -> None:
    length = np.hypot(*score.T)
    scale = np.quantile(length, 0.9) or 1.0
    drawn = score / np.maximum(length, scale)[:, None]
    ax.quiver(points[:, 0], points[:, 1], drawn[:, 0], drawn[:, 1], color="0.55", angles="xy", width=0.003, scale=28)


def _images(ax: Any, model: Any, x: Any) -> Any:
    height, width = model.image_height, model.image_width
    columns = int(np.ceil(np.sqrt(len(x) * height / width * 1.6)))
    rows = -(-len(x) // columns)
    sheet = np.full((rows * (height + 1) - 1, columns * (width + 1) - 1), model.pixel_high)
    for i, image in enumerate(x.reshape(-1, height, width)):
        top, left = (i // columns) * (height + 1), (i % columns) * (width + 1)
        sheet[top:top + height, left:left + width] = image
    ax.imshow(sheet, cmap="gray", vmin=model.pixel_low, vmax=model.pixel_high)
    ax.set_axis_off()
    return ax
