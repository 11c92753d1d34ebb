"""Figures: matplotlib axes, or, without matplotlib, the library's own SVG."""

from __future__ import annotations

import ctypes
import os
import tempfile
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from . import _abi as abi
from ._data import Data, Table, are_automatic
from ._library import Call, lib

if TYPE_CHECKING:
    from ._library import Array
    from ._model import Model


class SVG(str):
    """A figure as SVG; notebooks show it."""

    def __repr__(self) -> str:
        return f"<oatgp.SVG: {len(self)} characters; save(path) writes it, str() is its text>"

    def _repr_svg_(self) -> str:
        return str(self)

    def save(self, path: Any) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(self)


def figures() -> Dict[str, str]:
    """The figures that the library draws, and what each shows.

    >>> "knots" in figures()
    True
    """
    found, figure, index = {}, abi.oatgp_figure(), 0
    while lib.oatgp_figure_at(index, ctypes.byref(figure)):
        found[figure.name.decode()] = figure.help.decode()
        index += 1
    return found


def svg(model: Model, figure: str, data: Optional[Data]) -> SVG:
    with tempfile.TemporaryDirectory(prefix="oatgp-") as folder:
        path = os.path.join(folder, "figure.svg")
        drawing = abi.oatgp_drawing(figure.encode(), os.fsencode(path), 0, 0, 0)
        with Call() as call:
            call("oatgp_draw", model._handle, data.handle if data is not None else None, ctypes.byref(drawing))
        with open(path, encoding="utf-8") as file:
            return SVG(file.read())


# ---- matplotlib -----------------------------------------------------------------------------------------------------


def _are_of_the_fit(model: Model, data: Data) -> bool:
    """Whether these seem to be the rows of the fit, judged by their number and the means of the inputs; categories have none."""
    inputs, known = _inputs(model, data), [name not in model.levels for name in model.inputs]
    same = abs(inputs.mean(0) - model.input_centre) <= 1e-6 * model.input_scale
    return len(inputs) == model.n and any(known) and bool(same[known].all())


class _Rows(NamedTuple):
    """Predictions of rows with a target: leave-one-out for the rows of the fit, otherwise by the model."""

    target: Array
    mean: Array
    sd: Array  #: of an observation
    residual: Optional[Array]  #: normal ones; not known of other rows with a likelihood that is not Gaussian
    label: str


def _held_out(model: Model, data: Optional[Data]) -> _Rows:
    target = None if data is None else data.y
    if data is None or target is None:
        raise ValueError("this figure needs rows with a target")
    try:
        rows = model.loo(data)
        return _Rows(target, rows.mean, rows.sd, rows.residual, "predicted without the row itself")
    except ValueError:
        found = model.predict(data, interval=None)
        if _are_of_the_fit(model, data):
            raise  # with other targets or weights
        residual = (target - found.mean) / found.sd if model._is_gaussian else None
        return _Rows(target, found.mean, found.sd, residual, "predicted")


def _refuse_two_classes(model: Model, figure: str) -> None:
    if model._is_bernoulli:
        raise ValueError(f"'{figure}' is for targets other than two classes; use 'reliability' for those")


def _observed(axes: Any, model: Model, data: Optional[Data], _: Any) -> None:
    _refuse_two_classes(model, "observed")
    rows = _held_out(model, data)
    axes.plot(rows.mean, rows.target, "o", markersize=3, alpha=0.55)
    axes.axline((float(rows.mean.mean()), float(rows.mean.mean())), slope=1, color="grey", linewidth=1)
    axes.set(xlabel=rows.label, ylabel=model.target or "observed", title="Observed against predicted")


def _residuals(axes: Any, model: Model, data: Optional[Data], _: Any) -> None:
    """Normal residuals, with the band of 95 %; if they are not known, residuals in standard deviations, without a band."""
    rows = _held_out(model, data)
    known = rows.residual is not None
    axes.plot(rows.mean, rows.residual if known else (rows.target - rows.mean) / rows.sd, "o", markersize=3, alpha=0.55)
    if known:
        axes.axhspan(-1.96, 1.96, color="grey", alpha=0.15)
    axes.axhline(0, color="grey", linewidth=1)
    name = "residual / sd" if model._is_gaussian or not known else "normal quantile residual"
    axes.set(xlabel=rows.label, ylabel=name, title="Standardised residuals")


def _inside(model: Model, data: Any, rows: _Rows, wanted: Array) -> Array:
    """The share of the rows inside their intervals of these probabilities."""
    if rows.residual is not None:
        width = np.array([-lib.oatgp_normal_quantile((1 - p) / 2) for p in wanted])
        return np.searchsorted(np.sort(np.abs(rows.residual)), width, side="right") / len(rows.residual)
    found = [model.predict(data, interval=p) for p in wanted]
    return np.array([np.mean((one.lower <= rows.target) & (rows.target <= one.upper)) for one in found])


def _calibration(axes: Any, model: Model, data: Optional[Data], _: Any) -> None:
    _refuse_two_classes(model, "calibration")
    rows = _held_out(model, data)
    wanted = np.linspace(0.01, 0.99, 99) if rows.residual is not None else np.linspace(0.05, 0.95, 19)
    axes.plot(wanted, _inside(model, data, rows, wanted), label="rows inside")
    axes.plot([0, 1], [0, 1], color="grey", linewidth=1, label="ideal")
    axes.set(xlabel="probability of the interval", ylabel="share of the rows inside", title="Calibration")
    axes.legend()


#: Most groups of rows in a reliability plot.
_GROUPS = 10


def _reliability(axes: Any, model: Model, data: Optional[Data], _: Any) -> None:
    """Rows in groups of similar probability: their mean probability, and their share of 1 with twice its standard error."""
    if not model._is_bernoulli:
        raise ValueError(f"reliability is for two classes, and the likelihood is {model.likelihood}")
    rows = _held_out(model, data)
    groups = np.array_split(np.argsort(rows.mean, kind="stable"), min(_GROUPS, len(rows.mean)))
    mean, share = (np.array([values[group].mean() for group in groups]) for values in (rows.mean, rows.target))
    error = 2 * np.sqrt(mean * (1 - mean) / np.array([len(group) for group in groups]))
    axes.errorbar(mean, share, error, fmt="o", markersize=4, elinewidth=1, label="rows of like probability, 2 standard errors")
    axes.plot([0, 1], [0, 1], color="grey", linewidth=1, label="ideal")
    axes.set(xlabel=f"probability, {rows.label}", ylabel=f"share of {(model.classes or '01')[1]}", title="Reliability")
    axes.legend()


def _objective(axes: Any, model: Model, _data: Optional[Data], _: Any) -> None:
    history = model.history
    if len(history) == 0:
        raise ValueError("the model holds no history of its fit")
    axes.plot(history[:, 0], history[:, 1])
    axes.set(xlabel="evaluations", ylabel="objective", title="Objective during the fit")


def _relevance(axes: Any, model: Model, _data: Optional[Data], _: Any) -> None:
    if len(model.lengthscales) != len(model.inputs):
        why = "is an expression" if model.parameters else "has one lengthscale for all inputs"
        raise ValueError(f"kernel {model.kernel} {why}, so the inputs have no relevance")
    order = np.argsort(model.lengthscales)[::-1]
    axes.barh([model.inputs[j] for j in order], 1 / model.lengthscales[order])
    axes.set(xlabel="1 / lengthscale, standardised inputs", title="Relevance of the inputs")


def _place(model: Model, chosen: Any) -> int:
    names = model.inputs
    if chosen is None:
        return int(np.argmin(model.lengthscales)) if len(model.lengthscales) == len(names) else 0
    if chosen in names:
        return names.index(chosen)
    raise ValueError(f"there is no input '{chosen}'; there are {', '.join(names)}")


def _inputs(model: Model, data: Data) -> Array:
    """The model's inputs of the rows, found as the library finds them."""
    values, names = data.X, data.inputs
    places = list(range(len(names)))
    if not (are_automatic(names) and not set(model.inputs) <= set(names)):
        places = Table(values, names).find_inputs(model.inputs)
    elif len(names) != len(model.inputs):
        model._refuse_width(len(names))
    values, levels = values[:, places], _levels(model, data)
    for j, place in enumerate(places):
        if names[place] in data.levels and j in levels:  # whose codes may be others than the model's
            codes = np.array([levels[j].index(text) for text in data.levels[names[place]]], dtype=np.float64)
            values[:, j] = codes[values[:, j].astype(int)]
    return values


def _levels(model: Model, data: Optional[Data]) -> Dict[int, List[str]]:
    """The levels of the inputs that are categories, by their places: those of the model, then others of the data."""
    known, others = model.levels, {} if data is None else data.levels
    return {
        j: [*known[name], *(text for text in others.get(name, []) if text not in known[name])]
        for j, name in enumerate(model.inputs)
        if name in known
    }


def _label_levels(axis: Any, levels: Optional[List[str]]) -> None:
    if levels:
        axis.set_ticks(range(len(levels)), labels=levels)


def _draw_band(axes: Any, at: Array, band: Tuple[Array, Array], of_levels: bool, **style: Any) -> None:
    """Of a category, a bar at each level."""
    if of_levels:
        axes.vlines(at, *band, color="C0", linewidth=12, **style)
    else:
        axes.fill_between(at, *band, color="C0", **style)


def _draw_curve(axes: Any, model: Model, at: Array, line: Data, of_levels: bool) -> None:
    """The expected target with its bands. A non-Gaussian target has one band, for an exposure of 1 and one trial."""
    found = model.predict(line, latent=model._is_gaussian)
    if model._is_gaussian:
        half = 1.96 * found.sd
        _draw_band(axes, at, (found.mean - half, found.mean + half), of_levels, alpha=0.15, label="95 % of observations")
        _draw_band(axes, at, (found.lower, found.upper), of_levels, alpha=0.3, label="95 % for the function")
    else:
        label = "95 % for the probability" if model._is_bernoulli else "95 % of observations"
        _draw_band(axes, at, (found.lower, found.upper), of_levels, alpha=0.3 if model._is_bernoulli else 0.15, label=label)
    axes.plot(at, found.mean, "o" if of_levels else "-", label="probability" if model._is_bernoulli else "mean")


def _draw_rows(axes: Any, at: Array, target: Array, data: Any) -> None:
    """The observed target, for an exposure of 1 and one trial."""
    given = [values for values in (data._of_role("trials"), data._of_role("exposure")) if values is not None]
    label = "rows, by trial or exposure" if given else "rows"
    axes.plot(at, target / np.prod(given, axis=0) if given else target, "o", color="grey", markersize=2.5, label=label)


def _mark_knots(axes: Any, model: Model) -> None:
    """Draws the knots on the function or, if that is not drawn, at the bottom of the axes."""
    places, mean, _ = model.knot_posterior()
    if model._is_gaussian:
        axes.plot(places[:, 0], mean, "+", color="C3", label="knots")
    else:
        axes.plot(places[:, 0], np.zeros(len(places)), "|", color="C3", transform=axes.get_xaxis_transform(), label="knots")


def _partial(axes: Any, model: Model, data: Optional[Data], chosen: Any) -> None:
    """The function along one input, the others at their means, categories at their most frequent level."""
    j, rows, target = _place(model, chosen), None if data is None else _inputs(model, data), None if data is None else data.y
    levels = _levels(model, None)
    centre = model.input_centre if rows is None else rows.mean(0)
    for place, texts in levels.items():
        centre[place] = 0 if rows is None else np.argmax(np.bincount(rows[:, place].astype(int))[: len(texts)])
    low, high = (centre[j] + side * 2 * model.input_scale[j] for side in (-1, 1)) if rows is None else (rows[:, j].min(), rows[:, j].max())
    at = np.arange(float(len(levels[j]))) if j in levels else np.linspace(low, high, 200)
    line = np.tile(centre, (len(at), 1))
    line[:, j] = at
    _draw_curve(axes, model, at, Data(Table(line, model.inputs, levels)), j in levels)
    _label_levels(axes.xaxis, levels.get(j))
    one = len(model.inputs) == 1
    if one and rows is not None and target is not None:
        _draw_rows(axes, rows[:, 0], target, data)
    if one and model.n_knots > 0:
        _mark_knots(axes, model)
    axes.set(
        xlabel=model.inputs[j],
        ylabel=model.target or "target",
        title="The fit" if one else f"Effect of {model.inputs[j]}, others at their {'means' if not levels.keys() - {j} else 'means or most frequent levels'}",
    )
    axes.legend()


def _effects(axes: Any, model: Model, data: Optional[Data], chosen: Any) -> None:
    """One summand at the rows, along the first of its inputs; of one input, a curve."""
    if data is None:
        raise ValueError("effects need rows")
    found, rows, inputs = model.effects(data), _inputs(model, data), dict(model._effect_list())
    name = max(found.share, key=lambda effect: found.share[effect]) if chosen is None else chosen
    if name not in inputs:
        raise ValueError(f"there is no effect '{name}'; there are {', '.join(inputs)}")
    if not inputs[name]:
        raise ValueError(f"the effect '{name}' depends on no input")
    j = inputs[name][0]
    order = np.argsort(rows[:, j], kind="stable")
    at, mean, half = rows[order, j], found.mean[name][order], 1.96 * found.sd[name][order]
    levels = _levels(model, data).get(j)
    _label_levels(axes.xaxis, levels)
    if len(inputs[name]) == 1 and not levels:
        axes.fill_between(at, mean - half, mean + half, color="C0", alpha=0.3, label="95 % band")
        axes.plot(at, mean, label="effect")
    else:
        axes.errorbar(at, mean, half, fmt="o", markersize=2.5, elinewidth=0.5, alpha=0.6, label="effect at the rows")
    axes.axhline(0, color="grey", linewidth=1, linestyle="--")
    axes.set(xlabel=model.inputs[j], ylabel=name, title=f"Effect of {name}, {100 * found.share[name]:.3g} % of the variance of all")
    axes.legend()


def _knots(axes: Any, model: Model, data: Optional[Data], chosen: Any) -> None:
    """One input: on the fit. More: among the rows, for the two most relevant inputs."""
    if len(model.inputs) == 1:
        return _partial(axes, model, data, chosen)
    order = np.argsort(model.lengthscales) if len(model.lengthscales) == len(model.inputs) else np.arange(len(model.inputs))
    first, second = (int(j) for j in order[:2])
    knots, levels = model.knots, _levels(model, data)
    _label_levels(axes.xaxis, levels.get(first))
    _label_levels(axes.yaxis, levels.get(second))
    if data is not None:
        rows = _inputs(model, data)
        axes.plot(rows[:, first], rows[:, second], "o", color="grey", markersize=2.5, alpha=0.6, label="rows")
    axes.plot(knots[:, first], knots[:, second], "+", color="C3", label="knots")
    axes.set(xlabel=model.inputs[first], ylabel=model.inputs[second], title="Knots")
    axes.legend()
    return None


_DRAWERS: Dict[str, Callable[[Any, Model, Optional[Data], Any], None]] = {
    "observed": _observed,
    "residuals": _residuals,
    "calibration": _calibration,
    "reliability": _reliability,
    "objective": _objective,
    "relevance": _relevance,
    "partial": _partial,
    "knots": _knots,
    "effects": _effects,
}


def plot(model: Model, figure: str, data: Optional[Data], ax: Any, chosen: Any) -> Any:
    """Axes of matplotlib, or None without it."""
    if figure not in _DRAWERS and figure in figures():
        raise ValueError(f"the figure '{figure}' is only drawn as SVG: svg('{figure}', ...)")
    if figure not in _DRAWERS:
        raise ValueError(f"there is no plot '{figure}'; there are {', '.join(_DRAWERS)}")
    if ax is None:
        try:
            import matplotlib.pyplot as pyplot
        except ModuleNotFoundError:
            return None
        ax = pyplot.subplots(layout="constrained")[1]
        try:
            _DRAWERS[figure](ax, model, data, chosen)
        except BaseException:
            pyplot.close(ax.figure)  # a notebook would show it, empty
            raise
        return ax
    _DRAWERS[figure](ax, model, data, chosen)
    return ax
