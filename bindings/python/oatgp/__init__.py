"""Gaussian-process regression that chooses its own knots.

>>> import numpy as np, oatgp
>>> x = np.linspace(0, 10, 200)
>>> model = oatgp.fit(x, np.sin(x), knots=15, select="simultaneous")
>>> model.predict([2.0]).mean.round(2)
array([0.91])

``OATGPRegressor`` and ``OATGPClassifier`` are the same with the interface of scikit-learn, which they need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, List

from . import kernels, likelihoods
from ._data import Data
from ._library import Interrupted, OatgpWarning, lib
from ._model import Functions, Model, cv, fit, objective
from ._optimize import Optimizer, Optimum, optimize
from ._plot import SVG, figures
from ._results import Answers, Certificate, Effects, Evaluation, Gradient, HeldOut, Prediction, Scores, Sensitivity

if TYPE_CHECKING:
    from ._classifier import OATGPClassifier as OATGPClassifier
    from ._regressor import OATGPRegressor as OATGPRegressor

__version__: str = lib.oatgp_version().decode()
# without the estimators, so that `from oatgp import *` does not need scikit-learn
__all__ = [
    "Answers",
    "Certificate",
    "Data",
    "Effects",
    "Evaluation",
    "Functions",
    "Gradient",
    "HeldOut",
    "Interrupted",
    "Model",
    "OatgpWarning",
    "Optimizer",
    "Optimum",
    "Prediction",
    "SVG",
    "Scores",
    "Sensitivity",
    "cv",
    "figures",
    "fit",
    "kernels",
    "likelihoods",
    "objective",
    "optimize",
]


_ESTIMATORS = {"OATGPClassifier": "._classifier", "OATGPRegressor": "._regressor"}


def __getattr__(name: str) -> Any:
    # scikit-learn takes a second to import and is not needed for the rest
    if name in _ESTIMATORS:
        try:
            module = import_module(_ESTIMATORS[name], __name__)
        except ImportError as error:
            raise ImportError(f"{name} needs scikit-learn 1.4 or newer: pip install 'oatgp[sklearn]'") from error
        return getattr(module, name)
    raise AttributeError(f"module 'oatgp' has no attribute '{name}'")


def __dir__() -> List[str]:
    return sorted([*__all__, *_ESTIMATORS, "__version__"])
