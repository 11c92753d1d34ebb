"""Figures: with matplotlib as axes to go on with, without it as the library draws them (SVG)."""

from __future__ import annotations

import ctypes
import os
import tempfile
from typing import TYPE_CHECKING, Any, Callable, Dict, NamedTuple, Optional

import numpy as np

from . import _abi as abi
from ._data import Data, Table, are_automatic
from ._library import Call, lib

if TYPE_CHECKING:
    from ._library import Array
    from ._model import Model


class SVG(str):
    """A figure as SVG; notebooks show it."""

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
    """As far as their number and the means of the inputs tell."""
    inputs = _inputs(model, data)
    return len(inputs) == model.n and bool((abs(inputs.mean(0) - model.input_centre) <= 1e-6 * model.input_scale).all())


class _Rows(NamedTuple):
    """Rows with a target, without themselves if they are those of the fit, else as the model predicts them."""

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
        found = model.predict(data)
        if _are_of_the_fit(model, data):
            raise  # with other targets or weights
        residual = (target - found.mean) / found.sd if model._is_gaussian else None
        return _Rows(target, found.mean, found.sd, residual, "predicted")


def _observed(axes: Any, model: Model, data: Optional[Data], _: Any) -> None:
    rows = _held_out(model, data)
    axes.plot(rows.mean, rows.target, "o", markersize=3, alpha=0.55)
    axes.axline((float(rows.mean.mean()), float(rows.mean.mean())), slope=1, color="grey", linewidth=1)
    axes.set(xlabel=rows.label, ylabel=model.target or "observed", title="Observed against predicted")


def _residuals(axes: Any, model: Model, data: Optional[Data], _: Any) -> None:
    """Normal ones, with the band of 95 %; where they are not known, in standard deviations, which have no such band."""
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
    rows = _held_out(model, data)
    if model._is_bernoulli:
        return _reliability(axes, rows)
    wanted = np.linspace(0.01, 0.99, 99) if rows.residual is not None else np.linspace(0.05, 0.95, 19)
    axes.plot(wanted, _inside(model, data, rows, wanted), label="rows inside")
    axes.plot([0, 1], [0, 1], color="grey", linewidth=1, label="ideal")
    axes.set(xlabel="probability of the interval", ylabel="share of the rows inside", title="Calibration")
    axes.legend()
    return None


def _reliability(axes: Any, rows: _Rows, most: int = 10) -> None:
    """Rows in groups of like probability: the mean of theirs, and the share of 1 among them with twice its standard error."""
    groups = np.array_split(np.argsort(rows.mean, kind="stable"), min(most, len(rows.mean)))
    mean, share = (np.array([values[group].mean() for group in groups]) for values in (rows.mean, rows.target))
    error = 2 * np.sqrt(mean * (1 - mean) / np.array([len(group) for group in groups]))
    axes.errorbar(mean, share, error, fmt="o", markersize=4, elinewidth=1, label="rows of like probability, 2 standard errors")
    axes.plot([0, 1], [0, 1], color="grey", linewidth=1, label="ideal")
    axes.set(xlabel=f"probability, {rows.label}", ylabel="share of 1", title="Reliability")
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
        raise ValueError(f"kernel {model.kernel} {why}, and so has no relevance of each")
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
    if are_automatic(names) and not set(model.inputs) <= set(names):
        if len(names) != len(model.inputs):
            raise ValueError(f"the rows have {len(names)} inputs and the model {len(model.inputs)}: {', '.join(model.inputs)}")
        return values
    return values[:, Table(values, names).find_inputs(model.inputs)]


def _draw_curve(axes: Any, model: Model, at: Array, line: Data) -> None:
    """What is expected, with its bands. Answers that are not Gaussian have one, for an exposure of 1 and one trial."""
    if model._is_gaussian:
        found = model.predict(line, latent=True)
        axes.fill_between(at, found.mean - 1.96 * found.sd, found.mean + 1.96 * found.sd, color="C0", alpha=0.15, label="95 % of observations")
        axes.fill_between(at, found.lower, found.upper, color="C0", alpha=0.3, label="95 % for the function")
    else:
        found = model.predict(line)
        label = "95 % for the probability" if model._is_bernoulli else "95 % of observations"
        axes.fill_between(at, found.lower, found.upper, color="C0", alpha=0.3 if model._is_bernoulli else 0.15, label=label)
    axes.plot(at, found.mean, label="probability" if model._is_bernoulli else "mean")


def _draw_rows(axes: Any, at: Array, target: Array, data: Any) -> None:
    """What there was, for an exposure of 1 and one trial."""
    given = [values for values in (data._of_role("trials"), data._of_role("exposure")) if values is not None]
    label = "rows, by trial or exposure" if given else "rows"
    axes.plot(at, target / np.prod(given, axis=0) if given else target, "o", color="grey", markersize=2.5, label=label)


def _mark_knots(axes: Any, model: Model) -> None:
    """On the function, or, where it is not what is drawn, at the foot of the axes."""
    places, mean, _ = model.knot_posterior()
    if model._is_gaussian:
        axes.plot(places[:, 0], mean, "+", color="C3", label="knots")
    else:
        axes.plot(places[:, 0], np.zeros(len(places)), "|", color="C3", transform=axes.get_xaxis_transform(), label="knots")


def _partial(axes: Any, model: Model, data: Optional[Data], chosen: Any) -> None:
    """The function along one input, the others at their means."""
    j, rows, target = _place(model, chosen), None if data is None else _inputs(model, data), None if data is None else data.y
    centre = model.input_centre if rows is None else rows.mean(0)
    low, high = (centre[j] + side * 2 * model.input_scale[j] for side in (-1, 1)) if rows is None else (rows[:, j].min(), rows[:, j].max())
    at = np.linspace(low, high, 200)
    line = np.tile(centre, (200, 1))
    line[:, j] = at
    _draw_curve(axes, model, at, Data(Table(line, model.inputs)))
    one = len(model.inputs) == 1
    if one and rows is not None and target is not None:
        _draw_rows(axes, rows[:, 0], target, data)
    if one and model.n_knots > 0:
        _mark_knots(axes, model)
    axes.set(
        xlabel=model.inputs[j],
        ylabel=model.target or "target",
        title="The fit" if one else f"Effect of {model.inputs[j]}, others at their means",
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
        raise ValueError(f"the effect '{name}' looks at no input")
    j = inputs[name][0]
    order = np.argsort(rows[:, j], kind="stable")
    at, mean, half = rows[order, j], found.mean[name][order], 1.96 * found.sd[name][order]
    levels = data.levels.get(model.inputs[j])
    if levels:
        axes.set_xticks(range(len(levels)), levels)
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
    knots = model.knots
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
    "objective": _objective,
    "relevance": _relevance,
    "partial": _partial,
    "knots": _knots,
    "effects": _effects,
}


def plot(model: Model, figure: str, data: Optional[Data], ax: Any, chosen: Any) -> Any:
    """Axes of matplotlib, or None without it."""
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
