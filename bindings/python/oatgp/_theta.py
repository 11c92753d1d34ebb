"""The objective of a fitted model at other parameters, as for scikit-learn's Gaussian processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Mapping, Tuple

import numpy as np

from ._data import Data, Table
from ._library import TABLE, lib
from ._model import Model, objective
from ._settings import OF_FILES

if TYPE_CHECKING:
    from ._library import Array


def parameters_of(model: Model) -> Dict[str, float]:
    """Every parameter of kernel and likelihood by name, in the order of theta, which has their logarithms."""
    if model.parameters:
        own = dict(model.parameters)
    else:
        several = len(model.lengthscales) > 1
        lengthscales = {f"lengthscale({name})": float(value) for name, value in zip(model.inputs, model.lengthscales)}
        own = {"sigma": model.sigma, **(lengthscales if several else {"lengthscale": float(model.lengthscales[0])})}
        own.update({"shape": model.shape} if lib.oatgp_kernel_has(model.kernel.encode(), b"shape") else {})
    if model.likelihood == "gaussian":
        return {**own, "tau": model.tau}
    return {**own, **{_setting_of(name): value for name, value in model.likelihood_parameters.items()}}


def _setting_of(name: str) -> str:
    """The setting of a parameter of a likelihood."""
    return f"likelihood_{name}" if f"likelihood_{name}" in TABLE else name


def _settings_at(model: Model, values: Mapping[str, float]) -> Dict[str, Any]:
    """The settings of the model and its fit, at these parameters."""
    info, kept = model._info(), model.settings
    settings: Dict[str, Any] = {
        name: text
        for name, text in kept.items()
        if text and name in TABLE and b"objective" in TABLE[name].verbs.split(b",") and name not in OF_FILES
    }
    settings.update(approx=model.approx, kernel=model.kernel, jitter=info.jitter, jitter_absolute=info.jitter_absolute)
    levels = {j: model.levels[name] for j, name in enumerate(model.inputs) if name in model.levels}
    settings["knots"] = Table(model.knots, model.inputs if levels else None, levels) if model.n_knots else None
    settings.update({"neighbours": model.neighbours} if model.neighbours else {})
    settings.update({} if model.likelihood == "gaussian" else {"mean": model.mean})
    if model.parameters:
        settings["parameters"] = {name: value for name, value in values.items() if name in model.parameters}
    else:
        settings["lengthscale"] = [value for name, value in values.items() if name.startswith("lengthscale")]
    settings.update({name: value for name, value in values.items() if name in TABLE})
    return settings


def evaluate(model: Model, data: Data, theta: Any, gradient: bool) -> Tuple[float, "Array"]:
    """The objective at the knots, the jitter and the kind of mean that the model has, and its derivatives in theta, empty unless wanted."""
    names = list(parameters_of(model))
    values = np.exp(np.asarray(theta, dtype=np.float64).ravel())
    if len(values) != len(names):
        raise ValueError(f"theta has {len(values)} numbers, and the model {len(names)} parameters: {', '.join(names)}")
    fixed = [name for name in model.likelihood_parameters if _setting_of(name) not in TABLE]
    if fixed:
        raise ValueError(f"the likelihood {model.likelihood} has parameters that cannot be set ({', '.join(fixed)}): leave theta out")
    found = objective(data, gradient=gradient, **_settings_at(model, dict(zip(names, map(float, values)))))
    return found.objective, _slopes(found.gradient, "shape" in names) if found.gradient is not None else np.empty(0)


def _slopes(found: Mapping[str, Any], has_shape: bool) -> "Array":
    """Derivatives in the order of theta."""
    own = (
        [found["parameters"]]
        if "parameters" in found
        else [found["sigma"], found["lengthscales"], *([found["shape"]] if has_shape else [])]
    )
    noise = [list(found["likelihood"].values())] if "likelihood" in found else [found["tau"]]
    return np.concatenate([np.ravel(part) for part in (*own, *noise)])
