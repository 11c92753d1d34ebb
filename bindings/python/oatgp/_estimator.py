"""What the estimators for scikit-learn share."""

from __future__ import annotations

from typing import Any, Dict, Optional

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ._data import Table, refuse_masked
from ._settings import NAMES, PARAMETERS, Keywords

KEYWORDS = """Every setting of ``oatgp fit`` is a keyword; None, the default of each, stands for what is given below as the default, or for what the
    preset says.

    Parameters
    ----------
    random_state : int, RandomState or None
        Seed of whatever is random in a fit. None is the library's seed, so that results repeat.
    certify : bool, default False
        Also bound the exact log evidence, of Gaussian likelihoods.
    progress : bool or callable, default False
        True: a line on standard error. A function is called with a dict for every event; if it returns something true, the fit ends.
    on_interrupt : {"raise", "return"}, default "raise"
        What Ctrl-C does to a fit. "raise": raises ``oatgp.Interrupted``, a KeyboardInterrupt whose ``result`` is the best model so far, so
        that a search over many fits ends, too. "return": keeps that model, with a warning.
""" + PARAMETERS


class Estimator(Keywords, BaseEstimator):  # type: ignore[misc]
    """Settings, and inputs by the names of the fit."""

    def _seed(self) -> Optional[int]:
        if self.random_state is None:
            return None
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _settings(self) -> Dict[str, Any]:
        return {**{name: getattr(self, name) for name in NAMES}, "seed": self._seed()}

    def _table(self, inputs: Any) -> Table:
        """With the names of the fit, by which the model finds those inputs that varied."""
        names = getattr(self, "feature_names_in_", None)
        return Table(inputs, None if names is None else [str(name) for name in names])

    def _inputs(self, X: Any) -> Table:
        check_is_fitted(self)
        refuse_masked(X, "X")
        return self._table(validate_data(self, X, reset=False, dtype=np.float64))
