"""Models: fitting, saving, loading and predicting."""

from __future__ import annotations

import ctypes
import html
import inspect
import math
import os
import re
import sys
import textwrap
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Literal, Mapping, Optional, Sequence, Tuple, TypeVar, Union, overload

import numpy as np

from . import _abi as abi
from ._data import BY_DROPPING, COLUMNS, ROWS_AT_A_TIME, Classes, Data, Table, as_table, counted_from, drops, in_parts, is_path, refuse_masked
from ._library import (
    Call,
    Handle,
    SettingsStruct,
    address,
    check_names,
    check_on_interrupt,
    copy_array,
    decode,
    end_interrupted,
    lib,
    likelihood_parameters,
    named_parameters,
    plain,
    whole_number,
)
from ._plot import SVG
from ._plot import plot as draw_axes
from ._plot import svg as draw_svg
from ._results import Answers, Certificate, Effects, Evaluation, Gradient, HeldOut, Prediction, Scores, Sensitivity, from_struct
from ._settings import OF_COLUMNS, OF_FILES, OF_READING, OF_ROWS, parameters

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._library import Array, OnInterrupt, ProgressLike
    from ._settings import OfReading, OfRows, Settings

_BEST = "the best model so far"
F = TypeVar("F", bound=Callable[..., Any])


def _lists_settings(verb: str) -> Callable[[F], F]:
    """Adds the settings of a verb to the help of a function."""

    def add(function: F) -> F:
        if function.__doc__ is not None:
            settings = textwrap.dedent(parameters(verb))
            function.__doc__ = f"{inspect.cleandoc(function.__doc__)}\n\nSettings\n--------\n{settings}"
        return function

    return add


def _pick(settings: Mapping[str, Any], names: Tuple[str, ...]) -> Dict[str, Any]:
    """The given ones of those settings."""
    return {name: settings[name] for name in names if settings.get(name) is not None}


def _take_out(settings: Dict[str, Any], names: Tuple[str, ...]) -> Dict[str, Any]:
    """The same, removed from the settings."""
    known = _pick(settings, names)
    for name in names:
        settings.pop(name, None)
    return known


def _said(given: Mapping[str, Any], names: Tuple[str, ...]) -> Dict[str, Any]:
    """The same; other settings are refused."""
    check_names("the method", given, names, ("interval", "latent", "given", "threads", "count", "seed", "against"))
    return _pick(given, names)


def _refuse_target(y: Any) -> None:
    if y is not None:
        raise ValueError("the rows are in a file, so the target is one of its columns: give its name by target=")


def _need_target(y: Any, settings: Mapping[str, Any]) -> None:
    if y is None and settings.get("target") is None:
        raise ValueError("there is no target: give y, or name its column by target=")


def _refuse_header(settings: Mapping[str, Any]) -> None:
    if settings.get("header") is not None:
        raise TypeError("header is a setting of files")


def make_data(X: Any, y: Any, settings: Dict[str, Any], progress: ProgressLike = None) -> Data:
    """Data from any X. Settings that only matter here are removed; those of a file stay, because the model stores them."""
    known = _pick(settings, OF_FILES)
    if isinstance(X, Data):
        if y is not None or known:
            raise ValueError(f"y, {', '.join(OF_FILES)} are given when a Data is made, not with it")
        return X
    if is_path(X):
        _refuse_target(y)
        return Data.read(X, progress=progress, **known, **_pick(settings, ("threads", "likelihood", "memory")))
    _refuse_header(known)
    _need_target(y, known)
    data = Data(X, y, **_take_out(settings, OF_FILES), **_pick(settings, ("likelihood",)))
    # the model stores the names of columns that predictions also use
    settings.update({name: known[name] for name in OF_COLUMNS if isinstance(known.get(name), str)})
    return data


def _knots(settings: Dict[str, Any], like: Data) -> Optional[Data]:
    """Knots that are given as an array or in a file, as the command reads them."""
    knots = settings.get("knots")
    if isinstance(knots, (float, np.floating)):
        raise TypeError(f"knots is {knots!r}; the number of knots is a whole number, such as knots={max(int(knots), 1)}")
    if knots is None or isinstance(knots, (int, np.integer)):
        return None
    if not is_path(knots):
        del settings["knots"]
        table = as_table(knots)
        places = table.find_inputs(like.inputs)
        factors = [place for place, name in zip(places, like.inputs) if name in like.levels]
        try:
            taken = table.take(places, factors=factors)
            return Data(taken.with_levels(like.inputs, like.levels) if len(places) == len(like.inputs) else taken)
        except ValueError as error:
            raise ValueError(f"the knots: {str(error).replace(BY_DROPPING, '')}") from None
    if not any(mark in os.fspath(knots) for mark in "./"):
        return None
    text, handle, struct = os.fspath(knots), Handle("data"), SettingsStruct("fit", _pick(settings, OF_READING))
    with Call() as call:
        call("oatgp_data_read_like", os.fsencode(text), like.handle, struct.by_reference, handle.out, path=text)
    return Data._of(handle)


def _refuse_certificate(settings: Mapping[str, Any]) -> None:
    """Checks before the fit, which may take long."""
    if settings.get("likelihood") not in (None, "gaussian"):
        raise ValueError(f"certify is for Gaussian likelihoods, and likelihood is {settings['likelihood']}")


def _handle_of(data: Optional[Data]) -> Any:
    return data.handle if data is not None else None


@_lists_settings("fit")
def fit(
    X: Any,
    y: Any = None,
    *,
    certify: bool = False,
    progress: ProgressLike = None,
    on_interrupt: OnInterrupt = "raise",
    **settings: Unpack[Settings],
) -> "Model":
    """Fits a model.

    Parameters
    ----------
    X : array, data frame, Arrow table, path or Data
        The inputs. With a path (CSV, TSV, .npy), or a data frame without ``y``, the setting ``target`` names the column to be predicted.
    y : array, optional
        The target.
    certify : bool
        Also bound the exact log evidence (``Model.bounds``), in what the time limit leaves.
    progress : bool or callable
        True: a line on standard error. A function is called with a dict for every event; the fit ends if it returns a true value.
    on_interrupt : {"raise", "return"}
        What Ctrl-C does, after the checkpoint is written if there is one. ``"raise"``: raises ``oatgp.Interrupted``, a KeyboardInterrupt
        whose ``result`` is the best model so far. ``"return"``: returns that model, with a warning.
    **settings
        Those of ``oatgp fit`` with underscores, listed below. With ``likelihood="bernoulli-logit"``, ``"bernoulli-probit"`` or ``"ordinal"``
        the target may hold texts, truth values or a category. Ordinal classes keep the order of the category; ``Data(..., classes=)`` sets
        another.

    Returns
    -------
    Model
        ``stop`` says why it ended; ``"user"`` if it was ended before it was done.

    >>> import numpy as np
    >>> x = np.linspace(0, 6, 50)
    >>> model = fit(x, np.sin(x), knots=8, select="simultaneous")
    >>> bool(abs(model.predict([[1.5]]).mean[0] - np.sin(1.5)) < 0.01)
    True
    """
    check_on_interrupt(on_interrupt)
    given = plain(settings)
    if certify:
        _refuse_certificate(given)
    data = make_data(X, y, given, progress)
    knots = _knots(given, data)
    struct = SettingsStruct("fit", given)
    handle = Handle("model")
    with Call(threads=int(struct.struct.threads), progress=progress) as call:
        call("oatgp_fit", data.handle, struct.by_reference, _handle_of(knots), call.monitor, None, handle.out)
        interrupted = call.take_interrupt()
    model = Model._of(handle, call.trace, len(data.inputs))
    if interrupted:
        end_interrupted(_BEST, model, on_interrupt)
    elif certify and model.stop != "user":
        left = {"time_limit": max(struct.struct.time_limit - model.seconds, 1e-9)} if struct.struct.time_limit > 0 else {}
        shared = {name: given[name] for name in ("threads", "memory") if given.get(name) is not None}
        try:
            model.certify(data, progress=progress, **shared, **left)
        except KeyboardInterrupt:
            interrupted = True
        if interrupted:
            end_interrupted("the model, with the bounds so far", model, on_interrupt)
    return model


@_lists_settings("cv")
def cv(
    X: Any, y: Any = None, *, progress: ProgressLike = None, on_interrupt: OnInterrupt = "raise", **settings: Unpack[Settings]
) -> HeldOut:
    """Cross-validation with refitting: rows are assigned at random to ``folds`` folds, and each fold is predicted by a fit to the others.

    Takes what ``fit`` takes. The scores are of all rows; after Ctrl-C, of the rows in finished folds (``on_interrupt`` as for ``fit``).
    """
    check_on_interrupt(on_interrupt)
    given = plain(settings)
    data = make_data(X, y, given, progress)
    knots = _knots(given, data)
    struct = SettingsStruct("cv", given)
    rows, scores = _HeldOutRows(len(data)), abi.oatgp_scores()
    with Call(threads=int(struct.struct.threads), progress=progress) as call:
        watch = abi.oatgp_cv_watch(call.monitor)
        call(
            "oatgp_cv_sd",
            data.handle,
            struct.by_reference,
            _handle_of(knots),
            ctypes.byref(watch),
            rows.by_reference,
            ctypes.byref(scores),
        )
        interrupted = call.take_interrupt()
    if interrupted:
        end_interrupted(f"the scores of {scores.n} rows", rows.result(scores), on_interrupt)
    return rows.result(scores)


@_lists_settings("objective")
def objective(X: Any, y: Any = None, *, gradient: bool = False, **settings: Unpack[Settings]) -> Evaluation:
    """The objective at the parameters ``sigma``, ``tau``, ``lengthscale``, ``shape`` (of an expression: ``parameters``, ``tau``; of a likelihood
    other than the Gaussian, ``likelihood_shape`` and so on in place of tau) and the knots ``knots``. An expression is used as written:
    inputs are not standardised unless ``scale=True``.

    >>> objective([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0], approx="full", sigma=1, tau=0.5, lengthscale=1).objective  # doctest: +ELLIPSIS
    -3.5...
    """
    given = plain(settings)
    if not lib.oatgp_kernel_has(str(given.get("kernel", "se-ard")).encode(), b"sigma"):
        given.setdefault("scale", False)
    data = make_data(X, y, given)
    knots = _knots(given, data)
    struct, found = SettingsStruct("objective", given), abi.oatgp_evaluation()
    with Call(threads=int(struct.struct.threads)) as call:
        call("oatgp_evaluate", data.handle, struct.by_reference, _handle_of(knots), int(gradient), ctypes.byref(found))
    lengthscales = copy_array(found.lengthscales, (found.lengthscale_count,))
    slopes = None
    if gradient:
        slopes = {"sigma": found.d_log_sigma, "tau": found.d_log_tau, "shape": found.d_log_shape}
        slopes["lengthscales"] = copy_array(found.d_log_lengthscales, (found.lengthscale_count,))
        if found.parameter_count:
            slopes = {"parameters": copy_array(found.d_log_parameters, (found.parameter_count,)), "tau": found.d_log_tau}
        if found.likelihood_parameters:
            slopes.update(likelihood=_likelihood_slopes(found), mean=found.d_mean)
            del slopes["tau"]
        slopes["knots"] = copy_array(found.d_knots, (found.knots, found.inputs)) if found.d_knots else None
    tau, own = math.nan if found.likelihood_parameters else found.tau, likelihood_parameters(found)
    parameters = named_parameters(found), own
    evaluation = Evaluation(found.objective, found.sigma, tau, found.shape, found.mean, found.jitter, lengthscales, slopes, *parameters, found.log_prior)
    lib.oatgp_evaluation_clear(ctypes.byref(found))
    return evaluation


def _likelihood_slopes(found: Any) -> Dict[str, float]:
    """In the logarithms of the likelihood's own parameters."""
    return dict(zip(likelihood_parameters(found), found.d_log_likelihood[: found.likelihood_count]))


class _HeldOutRows:
    """Room for rows that are predicted by models which have not seen them."""

    def __init__(self, n: int) -> None:
        self._arrays = (np.full(n, np.nan), np.full(n, np.nan), np.full(n, np.nan), np.full(n, np.nan))
        self._struct = abi.oatgp_held_out_sd(*(address(array) for array in self._arrays))

    @property
    def by_reference(self) -> Any:
        return ctypes.byref(self._struct)

    def result(self, scores: Any) -> HeldOut:
        mean, sd, nlp, residual = self._arrays
        with np.errstate(over="ignore", under="ignore"):
            return HeldOut(mean, sd * sd, nlp, residual, from_struct(Scores, scores), sd)


class Model:
    """A fitted model. Made by ``oatgp.fit`` or ``Model.load``.

    The same file and, bit for bit, the same predictions as those of the command. Several threads may use a model at the same time.

    What takes rows with a target also takes, as ``**rows``, ``target``, ``weights``, ``noise_variance``, ``trials`` and ``exposure`` (arrays, or
    columns of a data frame or a file, whose weights are those of the fit unless they are given), and of a file ``header`` and ``missing``.
    Predictions take ``trials``, ``exposure``, ``header`` and ``missing``, as ``**reading``. Trials and exposures of a data frame or a file are
    the columns that have their names in the fit, unless others are given; rows that have none count as one trial and exposure 1.

    >>> import numpy as np, os, tempfile
    >>> model = fit(np.arange(20.0), np.sqrt(np.arange(20.0)), knots=5, select="simultaneous")
    >>> path = os.path.join(tempfile.mkdtemp(), "model.oatgp")
    >>> model.save(path)
    >>> bool((Model.load(path).predict([3.5]).mean == model.predict([3.5]).mean).all())
    True
    """

    _handle: Handle
    _updating: threading.Lock
    #: One dict for every event of the fit, as a line of ``oatgp fit --trace``; empty for a model that was loaded.
    trace: List[Dict[str, Any]]
    #: How many inputs the data of the fit had, with those that are constant; None if that is not known.
    _width: Optional[int] = None

    def __init__(self) -> None:
        raise TypeError("a model is made by oatgp.fit or oatgp.Model.load")

    @classmethod
    def _of(cls, handle: Handle, trace: List[Dict[str, Any]], width: Optional[int] = None) -> "Model":
        model = cls.__new__(cls)
        model._handle, model._width = handle, width
        model._updating = threading.Lock()
        model.trace = trace
        return model

    # ---- files ------------------------------------------------------------------------------------------------------

    @classmethod
    def load(cls, path: Any, *, threads: Optional[int] = None) -> "Model":
        """Reads a model file."""
        handle, text = Handle("model"), os.fspath(path)
        with Call(threads=threads) as call:
            call("oatgp_model_load", os.fsencode(text), handle.out, path=text)
        return cls._of(handle, [])

    def save(self, path: Any) -> None:
        """Writes the model file, completely or not at all."""
        with Call() as call:
            call("oatgp_model_save", self._handle, os.fsencode(path))

    def _to_bytes(self) -> bytes:
        block, size = ctypes.c_void_p(), ctypes.c_size_t()
        with Call() as call:
            call("oatgp_model_to_bytes", self._handle, ctypes.byref(block), ctypes.byref(size))
        try:
            return ctypes.string_at(block, size.value)
        finally:
            lib.oatgp_bytes_free(block)

    @classmethod
    def _from_bytes(cls, content: bytes, trace: List[Dict[str, Any]], width: Optional[int] = None) -> "Model":
        handle = Handle("model")
        with Call() as call:
            call("oatgp_model_from_bytes", content, len(content), handle.out)
        return cls._of(handle, trace, width)

    def __reduce__(self) -> Any:
        return Model._from_bytes, (self._to_bytes(), self.trace, self._width)

    # ---- what it is ---------------------------------------------------------------------------------------------------

    def _info(self) -> Any:
        info = abi.oatgp_model_info()
        info.owner = self._handle  # the texts and arrays are its own
        lib.oatgp_model_get_info(info.owner, ctypes.byref(info))
        return info

    def _text(self, name: str) -> str:
        return decode(getattr(self._info(), name))

    @property
    def approx(self) -> str:
        """The model: full, vfe, fitc ..."""
        return self._text("approx")

    @property
    def kernel(self) -> str:
        """The covariance."""
        return self._text("kernel")

    @property
    def kernel_candidates(self) -> Dict[str, float]:
        """The kernels that ``kernel="auto"`` compared, with the mean negative log density of held-out rows for each."""
        lines = [line.split("\t") for line in self._text("kernel_candidates").splitlines()]
        return {kernel: float(score) for kernel, score in lines}

    @property
    def select(self) -> str:
        """How the knots were found."""
        return self._text("select")

    @property
    def target(self) -> str:
        """The name of the target, or an empty string."""
        return self._text("target")

    @property
    def command(self) -> str:
        """The command line that made the model, or an empty string."""
        return self._text("command")

    @property
    def fingerprint(self) -> str:
        """A fingerprint of the rows of the fit."""
        return self._text("fingerprint")

    @property
    def settings(self) -> Dict[str, str]:
        """All settings of the fit."""
        lines = self._text("settings").splitlines()
        return {name: value for name, _, value in (line.partition(" = ") for line in lines)}

    @property
    def inputs(self) -> List[str]:
        """The names of the inputs in use; constant inputs are left out."""
        info = self._info()
        return [decode(lib.oatgp_model_input_name(info.owner, j)) for j in range(info.d)]

    @property
    def n(self) -> int:
        """The number of rows that the model has learnt from."""
        return int(self._info().n)

    @property
    def n_knots(self) -> int:
        """The number of knots; 0 for the full GP."""
        return int(self._info().knots)

    @property
    def neighbours(self) -> int:
        """The number of neighbours of each row, besides the knots (docs/neighbours.md); 0 if there are none. A model with neighbours holds its rows."""
        return int(self._info().neighbours)

    @property
    def predict_neighbours(self) -> int:
        """The number of neighbours of each prediction, besides the knots; 0 if there are none."""
        return int(self._info().predict_neighbours)

    @property
    def average(self) -> int:
        """The number of draws of the parameters that predictions are averaged over (``draws``); 0 if they are not."""
        return int(self._info().average)

    @property
    def draws(self) -> List[Dict[str, Any]]:
        """The draws of the parameters of an averaged model (docs/priors.md), as ``oatgp info --json`` has them: ``weight`` and the parameters of each."""
        found, weight, info = [], ctypes.c_double(), abi.oatgp_model_info()
        handle = self._handle
        for draw in range(self.average):
            lib.oatgp_model_get_info(lib.oatgp_model_draw(handle, draw, ctypes.byref(weight)), ctypes.byref(info))
            lengthscales = copy_array(info.lengthscales, (info.lengthscale_count,))
            named = {"parameters": named_parameters(info)} if info.parameter_count else {"sigma": float(info.sigma), "lengthscales": lengthscales}
            found.append({"weight": weight.value, **named, "tau": float(info.tau)})
        return found

    @property
    def parameters(self) -> Dict[str, float]:
        """The parameters of a kernel expression (docs/kernels.md) by name, in order and in the data's units. Empty for a named kernel, which has ``sigma``, ``lengthscales`` and ``shape``."""
        return named_parameters(self._info())

    @property
    def likelihood(self) -> str:
        """The distribution of the target around the function: gaussian, or another."""
        return self._text("likelihood")

    @property
    def likelihood_parameters(self) -> Dict[str, float]:
        """The own parameters of a likelihood other than the Gaussian, by name: shape, scale, degrees or the thresholds between levels."""
        return likelihood_parameters(self._info())

    @property
    def classes(self) -> List[str]:
        """The classes of the target, in order; a Bernoulli model predicts the probability of the second. Empty if the target holds numbers."""
        handle = self._handle
        count = lib.oatgp_model_target_level_count(handle)
        return [decode(lib.oatgp_model_target_level(handle, i)) for i in range(count)]

    @property
    def answer_levels(self) -> int:
        """The number of levels of an ordinal target; 0 for others."""
        return int(self._info().answer_levels)

    @property
    def _is_gaussian(self) -> bool:
        return self.likelihood == "gaussian"

    @property
    def _is_bernoulli(self) -> bool:
        return self.likelihood.startswith("bernoulli")

    @property
    def sigma(self) -> float:
        """The standard deviation of the function, in units of the target (or on the scale of the link); nan for an expression."""
        return float(self._info().sigma)

    @property
    def tau(self) -> float:
        """The standard deviation of the noise, in units of the target; nan with a likelihood other than the Gaussian."""
        return float(self._info().tau) if self._is_gaussian else math.nan

    @property
    def _noise_variance(self) -> float:
        """The variance of the noise in predictions: of an averaged model, its mean over the draws."""
        return sum(draw["weight"] * draw["tau"] ** 2 for draw in self.draws) if self.average else self.tau**2

    @property
    def shape(self) -> float:
        """The shape of an rq kernel."""
        return float(self._info().shape)

    @property
    def lengthscales(self) -> Array:
        """The lengthscales, in units of the scaled inputs."""
        info = self._info()
        return copy_array(info.lengthscales, (info.lengthscale_count,))

    @property
    def input_centre(self) -> Array:
        """What is subtracted from the inputs before they are divided by ``input_scale``."""
        info = self._info()
        return copy_array(info.input_centre, (info.d,))

    @property
    def input_scale(self) -> Array:
        """What the centred inputs are divided by."""
        info = self._info()
        return copy_array(info.input_scale, (info.d,))

    @property
    def mean(self) -> float:
        """The prior mean; for a linear mean, its value at the mean of the inputs."""
        return float(self._info().mean)

    @property
    def slopes(self) -> Optional[Array]:
        """The slopes of a linear prior mean."""
        info = self._info()
        return copy_array(info.slopes, (info.d,)) if info.slopes else None

    @property
    def objective(self) -> float:
        """What was maximised: the log evidence (of vfe and tvfe, a lower bound of it) plus ``log_prior``."""
        return float(self._info().objective)

    @property
    def log_prior(self) -> float:
        """The part of the objective that is the log density of the priors; 0 without any."""
        return float(self._info().log_prior)

    @property
    def prior(self) -> str:
        """The priors of the parameters, all by name, as the setting ``prior`` would have them."""
        return self._text("prior")

    @property
    def bounds(self) -> Tuple[float, float]:
        """Bounds of the exact log evidence at the model's parameters, if they are known (``certify``)."""
        info = self._info()
        if not math.isnan(info.lower):
            return float(info.lower), float(info.upper)
        evidence = info.objective - info.log_prior
        exact = evidence if info.likelihood == b"gaussian" else math.inf
        known = {b"full": (evidence, exact), b"vfe": (evidence, math.inf), b"tvfe": (evidence, math.inf)}
        return known.get(info.approx, (-math.inf, math.inf))

    @property
    def loo_scores(self) -> Dict[str, float]:
        """Leave-one-out scores of the rows of the fit (NaN if they are not known); ``loo`` has them row by row."""
        info = self._info()
        return {"mean_nlp": info.loo_mean_nlp, "rmse": info.loo_rmse, "coverage95": info.loo_coverage95}

    @property
    def iterations(self) -> int:
        """The number of iterations of the optimiser."""
        return int(self._info().iterations)

    @property
    def evaluations(self) -> int:
        """The number of evaluations of the objective."""
        return int(self._info().evaluations)

    @property
    def seconds(self) -> float:
        """The seconds that the fit took."""
        return float(self._info().seconds)

    @property
    def stop(self) -> str:
        """Why the fit ended, as one word."""
        word: bytes = lib.oatgp_stop_word(self._info().stop)
        return word.decode()

    @property
    def history(self) -> Array:
        """Evaluations, objective and seconds after each iteration of the best start."""
        info = self._info()
        return copy_array(info.history, (info.history_count, 3))

    @property
    def knots(self) -> Array:
        """The knots in the data's units, one per row."""
        return self.knot_posterior()[0]

    def knot_posterior(self) -> Tuple[Array, Array, Array]:
        """The knots, and mean and standard deviation of the function there."""
        info = self._info()
        places, mean, sd = np.empty((info.knots, info.d)), np.empty(info.knots), np.empty(info.knots)
        with Call() as call:
            call("oatgp_model_knots", self._handle, address(places), address(mean), address(sd))
        return places, mean, sd

    # ---- predictions --------------------------------------------------------------------------------------------------

    def _parts(self, X: Any, threads: Optional[int], reading: Mapping[str, Any], at_a_time: int = ROWS_AT_A_TIME) -> Iterator[Data]:
        """Inputs some rows at a time: of an array that is larger than the memory, no more than some are ever in it."""
        reading = _said(reading, OF_READING + OF_COLUMNS)
        if is_path(X):
            columns = {**self._of_frame(), **reading}
            if _pick(columns, OF_COLUMNS):
                yield Data.read(X, **{"inputs": self.inputs, "threads": threads, **columns})
                return
            yield from self._stream(os.fspath(X), threads, SettingsStruct("predict", reading), at_a_time)
            return
        _refuse_header(reading)
        if isinstance(X, Data):
            yield make_data(X, None, reading)
        else:
            yield from self._cut(X, None, reading, at_a_time)

    def _stream(self, path: str, threads: Optional[int], settings: SettingsStruct, at_a_time: int) -> Iterator[Data]:
        stream, model = Handle("stream"), self._handle
        with Call(threads=threads) as call:
            call("oatgp_stream_open", os.fsencode(path), model, settings.by_reference, -1, stream.out, path=path)
        while True:
            part = Handle("data")
            with Call(threads=threads) as call:
                call("oatgp_stream_next", stream, at_a_time, part.out)
            if not part.pointer.value:
                return
            yield Data._of(part)

    def _levels(self) -> List[List[str]]:
        counts = [lib.oatgp_model_level_count(self._handle, j) for j in range(len(self.inputs))]
        return [[decode(lib.oatgp_model_level(self._handle, j, i)) for i in range(count)] for j, count in enumerate(counts)]

    @property
    def levels(self) -> Dict[str, List[str]]:
        """The levels of the inputs that are categories."""
        return {name: levels for name, levels in zip(self.inputs, self._levels()) if levels}

    def _cut(self, X: Any, y: Any, known: Mapping[str, Any], at_a_time: int) -> Iterator[Data]:
        """A table's rows some at a time: the inputs, by name if they have names, and the columns that are known. Others are not used."""
        table, target = as_table(X), known.get("target") if y is None else None
        given: Dict[str, Any] = {**self._remembered(table.names or []), **_pick(known, tuple(COLUMNS))}
        inputs = self.inputs
        places = table.find_inputs(inputs, (target, *given.values()))
        if len(places) != len(inputs):
            places = self._varying(places, np.ndim(X) == 1)
        factors = [place for place, levels in zip(places, self._levels()) if levels]
        kept = None
        if drops(known.get("missing", "error")):
            table, y, given, kept = table.complete(places, y, target, given)
        if isinstance(table.values, np.ma.MaskedArray):
            refuse_masked(table.values[:, places], "the inputs", " by missing='drop'")
        columns: Dict[str, Any] = {role: table.column(values, COLUMNS[role]) for role, values in given.items()}
        columns["y"], _ = table.target(y, target, Classes.wanted(None, self.classes or None))
        name = (self.target or None) if columns["y"] is not None else None
        for rows in in_parts(table.rows, at_a_time):
            cut: Dict[str, Any] = {role: column[rows] for role, column in columns.items() if column is not None}
            try:
                taken = table.take(places, rows, factors)
                part = Data(Table(taken.values, inputs, taken.levels), target=name, **cut)
            except ValueError as error:
                raise counted_from(rows.start, error, kept) from None
            yield part

    def _varying(self, places: List[int], one_dimension: bool) -> List[int]:
        """Of an array with as many columns as that of the fit, some of which were constant there: those that the model has."""
        numbers = [int(name[1:]) for name in self.inputs if re.fullmatch("x[0-9]+", name)]
        wide = max(numbers, default=0) if self._width is None else self._width
        if len(numbers) < len(self.inputs) or len(places) != wide:
            self._refuse_width(len(places), one_dimension)
        return [places[number - 1] for number in numbers]

    def _refuse_width(self, columns: int, one_dimension: bool = False) -> None:
        """Of an array, whose columns have no names."""
        needed = f"{len(self.inputs)} inputs" if len(self.inputs) > 1 else "one input"
        advice = "; a single row is [[1.0, 2.0, ...]]" if one_dimension else ""
        there = f"{columns} columns" if columns != 1 else "1 column"
        raise ValueError(f"the rows have {there}, and the model has {needed}: {', '.join(self.inputs)}{advice}")

    def _remembered(self, names: List[str]) -> Dict[str, str]:
        """The columns with trials and exposures of the fit, as far as there are columns of these names."""
        kept = {**self._of_frame(), **{role: self._text(role) for role in OF_COLUMNS if self._text(role)}}
        return {role: name for role, name in kept.items() if name in names}

    def _of_frame(self) -> Dict[str, str]:
        """The names that the model's settings alone know, since it was fitted to a frame; of a file the library knows them."""
        settings = self.settings
        return {role: settings[role] for role in OF_COLUMNS if settings.get(role) and not self._text(role)}

    @overload
    def predict(
        self,
        X: Any,
        *,
        interval: Optional[float] = ...,
        latent: Literal[True],
        given: Optional[Tuple[Any, Any]] = ...,
        threads: Optional[int] = ...,
        **reading: Unpack[OfReading],
    ) -> Prediction: ...
    @overload
    def predict(
        self,
        X: Any,
        *,
        interval: Optional[float] = ...,
        latent: bool = ...,
        given: Tuple[Any, Any],
        threads: Optional[int] = ...,
        **reading: Unpack[OfReading],
    ) -> Prediction: ...
    @overload
    def predict(
        self,
        X: Any,
        *,
        interval: Optional[float] = ...,
        latent: bool = ...,
        given: Optional[Tuple[Any, Any]] = ...,
        threads: Optional[int] = ...,
        **reading: Unpack[OfReading],
    ) -> Union[Prediction, Answers]: ...
    def predict(
        self,
        X: Any,
        *,
        interval: Optional[float] = 0.95,
        latent: bool = False,
        given: Optional[Tuple[Any, Any]] = None,
        threads: Optional[int] = None,
        **reading: Unpack[OfReading],
    ) -> Union[Prediction, Answers]:
        """Mean, standard deviations and the bounds of an interval for each row, as ``oatgp predict`` writes them: a ``Prediction``, or, with a
        likelihood other than the Gaussian, ``Answers``.

        Parameters
        ----------
        X : array, memory map, data frame, Arrow table, path or Data
            Inputs of a data frame or a file are found by name, and all must be there. An array has no names, so its columns are taken in
            order. Large tables are read some rows at a time.
        interval : float or None
            Probability of the interval. With None, ``lower`` and ``upper`` are NaN. That saves time, as quantiles of counts and amounts are slow.
        latent : bool
            Whether the interval is that of the function, without the noise. With a likelihood other than the Gaussian all columns are then
            those of the function (a ``Prediction``), without the logarithm of the exposure.
        given : (inputs, targets), optional
            Further rows. Predictions are made as if the model had them, at its parameters and mean. Only for the Gaussian likelihood. The
            interval is that of a normal distribution, also if the model is averaged.
        **reading
            ``trials`` and ``exposure`` of the rows, as arrays or columns. Of a file: ``header`` and ``missing``.
        """
        if interval is not None and not (isinstance(interval, (int, float, np.number)) and 0 < interval < 1):
            raise ValueError(f"interval is {interval!r} but must be a number above 0 and below 1")
        if given is None and not (latent or self._is_gaussian):
            return self._answers(X, interval, threads, reading)
        handle, found = self._handle, []
        if given is not None and not (isinstance(given, (tuple, list)) and len(given) == 2):
            raise ValueError("given must be a pair: the inputs of further rows, and their targets")
        known = None if given is None else self._rows(given[0], given[1], {}, threads=threads)
        for part in self._parts(X, threads, reading):
            columns = [np.full(len(part), np.nan) for _ in Prediction._fields]
            places = [address(column) for column in columns]
            with Call(threads=threads) as call:
                if known is not None:
                    call("oatgp_predict_given", handle, part.handle, known.handle, ctypes.byref(abi.oatgp_prediction_sd(*places[:3])))
                elif interval is None:
                    call("oatgp_predict_sd", handle, part.handle, ctypes.byref(abi.oatgp_prediction_sd(*places[:3])))
                else:
                    room = abi.oatgp_prediction_interval(*places, interval=interval, latent=latent)
                    call("oatgp_predict_interval", handle, part.handle, ctypes.byref(room))
            found.append(columns)
        mean, sd_latent, sd, lower, upper = (_join([columns[j] for columns in found]) for j in range(5))
        if known is not None and interval is not None:
            half = -lib.oatgp_normal_quantile((1 - interval) / 2) * (sd_latent if latent else sd)
            lower, upper = mean - half, mean + half
        return Prediction(mean, sd_latent, sd, lower, upper)

    def _answers(self, X: Any, interval: Optional[float], threads: Optional[int], reading: Mapping[str, Any]) -> Answers:
        handle, names, found = self._handle, Answers._fields, []
        wanted = [name for name in names if interval is not None or name not in ("lower", "upper")]
        for part in self._parts(X, threads, reading):
            columns = {name: np.full(len(part), np.nan) for name in names}
            room = abi.oatgp_answers(**{name: address(columns[name]) for name in wanted}, interval=interval or 0)
            with Call(threads=threads) as call:
                call("oatgp_predict_answers", handle, part.handle, ctypes.byref(room))
            found.append(columns)
        return Answers(*(_join([columns[name] for columns in found]) for name in names))

    def predict_mean(self, X: Any, *, latent: bool = False, threads: Optional[int] = None, **reading: Unpack[OfReading]) -> Array:
        """The mean alone, in a fraction of the time (``oatgp predict --mean-only``); it differs from that of ``predict`` by rounding.

        With a likelihood other than the Gaussian it is that of the answers (probability, expected count ...), or of the function with ``latent``.
        """
        handle, found, normal = self._handle, [], latent or self._is_gaussian
        for part in self._parts(X, threads, reading):
            found.append(np.empty(len(part)))
            with Call(threads=threads) as call:
                if normal:
                    call("oatgp_predict_mean", handle, part.handle, address(found[-1]))
                else:
                    call("oatgp_predict_answers", handle, part.handle, ctypes.byref(abi.oatgp_answers(mean=address(found[-1]))))
        return _join(found)

    def predict_proba(self, X: Any, *, threads: Optional[int] = None, **reading: Unpack[OfReading]) -> Array:
        """The probability of each class, one per column: those of ``classes``, or 0, 1, ... if they have no names.

        For likelihoods with classes: bernoulli-logit, bernoulli-probit and ordinal.
        """
        if self._is_bernoulli:
            probability = self.predict_mean(X, threads=threads, **reading)
            return np.column_stack([1 - probability, probability])
        handle, count, found = self._handle, self.answer_levels, []
        if count == 0:
            raise ValueError(f"likelihood {self.likelihood} has no classes, so there are no probabilities of classes")
        for part in self._parts(X, threads, reading):
            found.append(np.empty((len(part), count)))
            with Call(threads=threads) as call:
                call("oatgp_predict_answers", handle, part.handle, ctypes.byref(abi.oatgp_answers(levels=address(found[-1]))))
        return _join(found)

    def predict_gradient(self, X: Any, *, threads: Optional[int] = None, **reading: Unpack[OfReading]) -> Gradient:
        """Mean and standard deviation of the function at the rows, and the derivatives of both with respect to each input.

        They are in the data's units, with a column for each of ``inputs``; 0 in a category. With neighbours they are for the neighbours that a
        row has. ``oatgp predict --gradient`` writes the same; it takes about twice the time of ``predict``.

        >>> import numpy as np
        >>> x = np.linspace(0, 6, 50)
        >>> model = fit(x, np.sin(x), knots=8, select="simultaneous")
        >>> bool(abs(model.predict_gradient([[1.5]]).d_mean[0, 0] - np.cos(1.5)) < 0.02)
        True
        """
        handle, d, found = self._handle, len(self.inputs), []
        for part in self._parts(X, threads, reading):
            n = len(part)
            values = [np.empty(n), np.empty(n), np.empty((n, d)), np.empty((n, d))]
            room = abi.oatgp_prediction_gradient(*(address(array) for array in values))
            with Call(threads=threads) as call:
                call("oatgp_predict_gradient", handle, part.handle, ctypes.byref(room))
            found.append(values)
        return Gradient(*(_join([values[j] for values in found]) for j in range(4)))

    def _effect_list(self) -> List[Tuple[str, List[int]]]:
        """The name and inputs of each term of the covariance."""
        effect = abi.oatgp_effect()
        found: List[Tuple[str, List[int]]] = []
        while lib.oatgp_effect_at(self._handle, len(found), ctypes.byref(effect)):
            found.append((decode(effect.name), [effect.inputs[j] for j in range(effect.input_count)]))
        return found

    def effects(self, X: Any, over: Any = None, *, threads: Optional[int] = None, **reading: Unpack[OfReading]) -> Effects:
        """The posterior of each term of a covariance that is a sum, as ``oatgp predict --parts`` writes it.

        Parameters
        ----------
        X : array, data frame, Arrow table, path or Data
            Rows, as for ``predict``.
        over : the same, optional
            Rows over which each effect has mean 0, such as those of the fit (default: X).
        **reading
            Of files: ``header`` and ``missing``.
        """
        (data,) = self._parts(X, threads, reading, sys.maxsize)
        (others,) = [None] if over is None else self._parts(over, threads, reading, sys.maxsize)
        names = [name for name, _ in self._effect_list()]
        n, count = len(data), len(names)
        mean, sd, centre, share = np.empty((count, n)), np.empty((count, n)), np.empty(count), np.empty(count)
        room = abi.oatgp_effect_values(*(address(values) for values in (mean, sd, centre, share)))
        with Call(threads=threads) as call:
            call("oatgp_predict_effects", self._handle, data.handle, _handle_of(others), ctypes.byref(room))
        return Effects(
            dict(zip(names, mean)), dict(zip(names, sd)), dict(zip(names, map(float, centre))), dict(zip(names, map(float, share)))
        )

    def sensitivity(
        self,
        over: Any = None,
        *,
        draws: int = 128,
        seed: int = 1,
        interval: float = 0.95,
        threads: Optional[int] = None,
        **reading: Unpack[OfReading],
    ) -> Sensitivity:
        """Which inputs the function varies with: Sobol' indices with bands, as ``oatgp sensitivity`` prints them.

        Parameters
        ----------
        over : array, data frame, Arrow table, path or Data, optional
            Each input varies as it does in these rows, independently of the others (default: uniformly over the ranges of the rows of the fit,
            and all levels of a category as likely as each other).
        draws : int
            Functions that are drawn from the posterior. A model with neighbours, or a linear or polynomial covariance, has the indices of its
            mean.
        interval : float
            Probability of the bands. They come from the quantiles over the draws, and from how the indices change when groups of rows are left
            out.

        >>> import numpy as np
        >>> x = np.random.default_rng(1).random((60, 2))
        >>> model = fit(x, np.sin(6 * x[:, 0]) + 0.1 * x[:, 1], approx="full")
        >>> bool(model.sensitivity().total["x1"] > 0.95)
        True
        """
        (rows,) = [None] if over is None else self._parts(over, threads, reading, sys.maxsize)
        names = self.inputs
        values = np.empty((6, len(names)))
        found = abi.oatgp_indices(*(address(row) for row in values))
        of = abi.oatgp_indices_of(None if rows is None else rows.handle.pointer, draws, seed, interval)
        with Call(threads=threads) as call:
            call("oatgp_sensitivity", self._handle, ctypes.byref(of), ctypes.byref(found))
        order = np.argsort(-values[3], kind="stable")
        point = [{names[j]: float(row[j]) for j in order} for row in values]
        bands = [{name: (point[i][name], point[i + 1][name]) for name in point[i]} for i in (1, 4)]
        return Sensitivity(point[0], point[3], bands[0], bands[1], float(found.sd))

    def covariance(self, X: Any, **reading: Unpack[OfReading]) -> Array:
        """Joint covariance of the function at the rows."""
        (data,) = self._parts(X, 1, reading, sys.maxsize)
        covariance = np.empty((len(data), len(data)))
        with Call() as call:
            call("oatgp_predict_covariance", self._handle, data.handle, address(covariance))
        return covariance

    def functions(self, count: int = 1, *, seed: int = 1) -> "Functions":
        """Functions drawn from the posterior. They can be evaluated anywhere and stay the same in all calls.

        The kernel needs a spectral form: those with a name, and expressions without linear and polynomial. The functions stay
        as they are when the model is updated.

        >>> import numpy as np
        >>> x = np.linspace(0, 6, 30)
        >>> model = fit(x, np.sin(x) + 0.1 * np.cos(40 * x), approx="full")
        >>> draws = model.functions(3, seed=1)
        >>> draws([[1.0], [2.0]]).shape, draws.gradient([[1.0]]).shape
        ((3, 2), (3, 1, 1))
        >>> bool(np.allclose(draws([[1.0], [2.0]])[:, 1], draws([[2.0]])[:, 0]))
        True
        """
        return Functions._draw(self, whole_number(count, 1, "count"), whole_number(seed, 0, "seed"))

    def sample(self, X: Any, count: int = 1, *, seed: int = 1, latent: bool = True, **reading: Unpack[OfReading]) -> Array:
        """Joint draws of the function at the rows, one per row of the result; with ``latent=False``, draws of the target, noise included."""
        count, seed = whole_number(count, 0, "count"), whole_number(seed, 0, "seed")
        (data,) = self._parts(X, 1, reading, sys.maxsize)
        samples = np.empty((count, len(data)))
        with Call() as call:
            draw = "oatgp_predict_samples" if latent else "oatgp_predict_answer_samples"
            call(draw, self._handle, data.handle, count, seed, address(samples))
        return samples

    # ---- with a target --------------------------------------------------------------------------------------------------

    def _rows(self, X: Any, y: Any, rows: Mapping[str, Any], *, need_target: bool = True, threads: Optional[int] = None) -> Data:
        """Data for this model, all at once. A target that is not needed is there if a column has its name."""
        known = _said(rows, OF_ROWS)
        if isinstance(X, Data):
            return make_data(X, y, known)
        if is_path(X):
            _refuse_target(y)
            return self._read(os.fspath(X), known, need_target, threads)
        (data,) = self._cut(X, y, self._of_table(X, y, known, need_target), sys.maxsize)
        return data

    def _of_table(self, X: Any, y: Any, known: Dict[str, Any], need_target: bool = True) -> Dict[str, Any]:
        """With the column of the model's target, which only a name can tell; without it, a target that is needed is the caller's to give."""
        _refuse_header(known)
        names = as_table(X).names
        there = names is not None and self.target in names
        if need_target and y is None and names is not None and self.target and not there and "target" not in known:
            raise ValueError(
                f"there is no column '{self.target}', the target; there are {', '.join(names)}; give y, or its column by target="
            )
        known = {"target": self.target, **known} if self.target and there else known
        if need_target:
            _need_target(y, known)
        return known

    def _read(self, path: str, known: Dict[str, Any], need_target: bool, threads: Optional[int]) -> Data:
        known = {**self._of_frame(), **known}
        if _pick(known, tuple(COLUMNS)):
            said = {"target": self.target, "inputs": self.inputs, "likelihood": self.likelihood, "threads": threads, **known}
            return Data.read(path, **said)
        handle, settings = Handle("data"), SettingsStruct("score", known)
        with Call(threads=threads) as call:
            call(
                "oatgp_data_read_for",
                os.fsencode(path),
                self._handle,
                settings.by_reference,
                int(need_target),
                handle.out,
                path=path,
            )
        return Data._of(handle)

    def score(
        self, X: Any, y: Any = None, *, against: Optional["Model"] = None, threads: Optional[int] = None, **rows: Unpack[OfRows]
    ) -> Scores:
        """RMSE, negative log probabilities and coverage of rows with a target; ``against``: also the KL divergence from that model.

        With a likelihood other than the Gaussian also log loss, Brier score, accuracy and AUC of 0 and 1, and the deviance."""
        data = self._rows(X, y, rows, threads=threads)
        other, scores = against._handle if against is not None else None, abi.oatgp_scores()
        with Call(threads=threads) as call:
            call("oatgp_score", self._handle, data.handle, other, ctypes.byref(scores))
        return from_struct(Scores, scores)

    def loo(self, X: Any, y: Any = None, *, threads: Optional[int] = None, **rows: Unpack[OfRows]) -> HeldOut:
        """Predicts each row of the fit without itself, in closed form. The rows must be those of the fit."""
        data = self._rows(X, y, rows, threads=threads)
        held_out, scores = _HeldOutRows(len(data)), abi.oatgp_scores()
        with Call(threads=threads) as call:
            call("oatgp_loo_sd", self._handle, data.handle, held_out.by_reference, ctypes.byref(scores))
        return held_out.result(scores)

    @_lists_settings("certify")
    def certify(
        self, X: Any, y: Any = None, *, progress: ProgressLike = None, on_interrupt: OnInterrupt = "raise", **settings: Unpack[Settings]
    ) -> Certificate:
        """Bounds of the exact log evidence at the model's parameters, kept in ``bounds`` (and the model file).

        The rows must be those of the fit. Takes the settings ``tol``, ``max_iter``, ``time_limit``, ``determinant``, ``exact``,
        ``threads`` and ``memory``. Ctrl-C ends it, and the bounds so far, which hold, are kept (``on_interrupt`` as for ``fit``).
        """
        check_on_interrupt(on_interrupt)
        given: Dict[str, Any] = dict(settings)
        data = self._rows(X, y, _take_out(given, OF_ROWS), threads=given.get("threads"))
        struct, found, handle = SettingsStruct("certify", given), abi.oatgp_certificate(), self._handle
        with Call(threads=int(struct.struct.threads), progress=progress) as call:
            call("oatgp_certify", handle, data.handle, struct.by_reference, call.bracket, None, ctypes.byref(found))
            call("oatgp_model_set_certificate", handle, ctypes.byref(found))
            interrupted = call.take_interrupt()
        if interrupted:
            end_interrupted("the bounds so far", from_struct(Certificate, found), on_interrupt)
        return from_struct(Certificate, found)

    def update(self, X: Any, y: Any = None, *, threads: Optional[int] = None, **rows: Unpack[OfRows]) -> "Model":
        """Adds rows at the model's parameters and knots, without the old rows; returns the model itself.

        The full GP, whose factor grows, and a model with neighbours put them last. Arrays may be larger than the memory. A failure leaves the
        model as it was. With a likelihood other than the Gaussian the old rows of a sparse model keep the sites that they had, and leave-one-out
        is no longer known; the full GP must be fitted again (``refit``).
        """
        with self._updating:  # one after the other; whoever predicts in another thread has the old one until the end
            clone = self._copy()
            before = 0
            for data in self._new_rows(X, y, rows, threads):
                try:
                    with Call(threads=threads) as call:
                        call("oatgp_update", clone, data.handle)
                except ValueError as error:
                    raise counted_from(before, error) from None
                before += len(data)
            self._handle = clone
        return self

    def remove(self, rows: Any, *, threads: Optional[int] = None) -> "Model":
        """Removes rows from the full GP, given by their numbers from 0 in the order in which they were added; returns the model itself.

        >>> import numpy as np
        >>> x = np.linspace(0, 6, 30)
        >>> model = fit(x, np.sin(x) + 0.1 * np.cos(40 * x), approx="full")
        >>> model.update([[6.5]], [0.2]).remove([0, 1]).n
        29
        """
        given = np.atleast_1d(rows)
        if given.size > 0 and given.dtype.kind not in "iu":
            mask = "; of a mask, numpy.flatnonzero(mask) gives the numbers" if given.dtype.kind == "b" else ""
            raise TypeError(f"rows to remove are given by whole numbers, and not of the type {given.dtype}{mask}")
        numbers = np.ascontiguousarray(given, dtype=np.int64)
        if (numbers < 0).any():
            raise ValueError(f"there is no row {int(numbers.min())}; rows are numbered from 0")
        places = numbers.astype(np.uintp)
        with self._updating:
            clone = self._copy()
            with Call(threads=threads) as call:
                call("oatgp_model_remove_rows", clone, len(places), places.ctypes.data)
            self._handle = clone
        return self

    def _copy(self) -> Handle:
        handle = Handle("model")
        with Call() as call:
            call("oatgp_model_copy", self._handle, handle.out)
        return handle

    def copy(self) -> "Model":
        """The same model again, which updates of this one do not change."""
        return Model._of(self._copy(), self.trace, self._width)

    def _new_rows(self, X: Any, y: Any, rows: Mapping[str, Any], threads: Optional[int]) -> Iterator[Data]:
        if isinstance(X, Data) or is_path(X):
            yield self._rows(X, y, rows, threads=threads)
        else:
            yield from self._cut(X, y, self._of_table(X, y, _said(rows, OF_ROWS)), ROWS_AT_A_TIME)

    @_lists_settings("update")
    def refit(
        self, X: Any, y: Any = None, *, progress: ProgressLike = None, on_interrupt: OnInterrupt = "raise", **settings: Unpack[Settings]
    ) -> "Model":
        """Continues the optimisation of this model with all rows, old and new (``oatgp update --refit``), and returns a new model. Ctrl-C works as in ``fit``."""
        check_on_interrupt(on_interrupt)
        given: Dict[str, Any] = dict(settings)
        data = self._rows(X, y, _take_out(given, OF_ROWS), threads=given.get("threads"))
        struct, handle = SettingsStruct("update", given), Handle("model")
        with Call(threads=int(struct.struct.threads), progress=progress) as call:
            call("oatgp_refit", self._handle, data.handle, struct.by_reference, call.monitor, None, handle.out)
            interrupted = call.take_interrupt()
        model = Model._of(handle, call.trace, self._width)
        if interrupted:
            end_interrupted(_BEST, model, on_interrupt)
        return model

    # ---- figures and the report ---------------------------------------------------------------------------------------

    def svg(self, figure: str, X: Any = None, y: Any = None, **rows: Unpack[OfRows]) -> SVG:
        """A figure as ``oatgp plot`` draws it; ``oatgp.figures()`` lists them. Some need rows with a target."""
        return draw_svg(self, figure, None if X is None else self._rows(X, y, rows, need_target=False))

    def plot(
        self, figure: str = "knots", X: Any = None, y: Any = None, *, ax: Any = None, input: Optional[str] = None, **rows: Unpack[OfRows]
    ) -> Any:
        """A figure in axes of matplotlib, which are returned; without matplotlib, as ``svg``.

        Parameters
        ----------
        figure : {"knots", "partial", "observed", "residuals", "calibration", "reliability", "objective", "relevance", "effects"}
            Knots on the fit (or among the rows), the function along one input (of other likelihoods than the Gaussian the expected answer),
            observed against predicted, residuals, coverage of intervals, probabilities of two classes against their shares, the objective
            during the fit, relevance of the inputs, one effect of a covariance that is a sum.
        X, y, **rows
            Rows; observed, residuals, calibration, reliability and effects need them. Rows of the fit are predicted without themselves; those of a fit with
            ``weights`` or ``noise_variance`` need them here, too.
        ax : matplotlib axes, optional
            Where to draw.
        input : str, optional
            For ``partial``: the input (default: the most relevant). For ``effects``: the name of the summand (default: that with the largest
            share of the variance).
        """
        data = None if X is None else self._rows(X, y, rows, need_target=False)
        axes = draw_axes(self, figure, data, ax, input)
        return axes if axes is not None else draw_svg(self, figure, data)

    def report(self, path: Any, X: Any, y: Any = None, *, source: Optional[str] = None, **rows: Unpack[OfRows]) -> None:
        """Writes a report of the model and these rows as one HTML page, as ``oatgp report`` does; ``source`` names the source of the rows."""
        data = self._rows(X, y, rows)
        name = os.fspath(X) if source is None and is_path(X) else source
        with Call() as call:
            call("oatgp_report", self._handle, data.handle, name.encode() if name is not None else None, os.fsencode(path))

    # ---- shown --------------------------------------------------------------------------------------------------------

    def _shown_parameters(self) -> Dict[str, str]:
        info = self._info()
        noise = {"tau": info.tau} if self._is_gaussian else self.likelihood_parameters
        if info.parameter_count:
            shown = {name: f"{value:.5g}" for name, value in {**self.parameters, **noise}.items()}
            return shown if len(shown) <= _LISTED else {"parameters": _few([f"{name} {value}" for name, value in shown.items()])}
        numbers = {"sigma": info.sigma, **noise}
        lengthscales = _few([f"{value:.4g}" for value in self.lengthscales])
        return {", ".join(numbers): ", ".join(f"{value:.5g}" for value in numbers.values()), "lengthscales": lengthscales}

    def _shown_likelihood(self) -> Dict[str, str]:
        of = f" of {', '.join(self.classes)}" if self.classes else ""
        return {} if self._is_gaussian else {"likelihood": self.likelihood + of}

    def _summary(self) -> Dict[str, str]:
        info = self._info()
        scores = self.loo_scores
        shown = {
            "model": f"{self.approx}, kernel {self.kernel}",
            **self._shown_likelihood(),
            "rows": str(info.n),
            "inputs": _few(self.inputs),
            "knots": f"{info.knots} ({self.select})" + (f", and {info.neighbours} neighbours of each row" if info.neighbours else ""),
            "objective": f"{info.objective:.6g}",
            **self._shown_parameters(),
            **({"average": f"over {info.average} draws of the parameters"} if info.average else {}),
            "fit": f"{info.evaluations} evaluations, {info.seconds:.3g} s; ended: {self.stop}",
        }
        if not math.isnan(scores["rmse"]):
            shown["leave-one-out"] = ", ".join(f"{name} {value:.4g}" for name, value in scores.items() if not math.isnan(value))
        if not math.isnan(info.lower):
            shown["log evidence"] = f"{info.lower:.6g} to {info.upper:.6g}"
        return shown

    def __repr__(self) -> str:
        info = self._info()
        counts = {"row": info.n, "input": info.d, "knot": info.knots}
        counts.update({what: count for what, count in {"neighbour": info.neighbours, "draw": info.average}.items() if count})
        size = ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for what, count in counts.items())
        kind = self.kernel if self._is_gaussian else f"{self.kernel}, {self.likelihood}"
        return f"<oatgp.Model: {self.approx}, {kind}, {size}, objective {info.objective:.6g}>"

    def _repr_html_(self) -> str:
        left = "style='text-align:left'"
        rows = "".join(f"<tr><th {left}>{name}</th><td {left}>{html.escape(value)}</td></tr>" for name, value in self._summary().items())
        return f"<table><caption>oatgp model{' of ' + html.escape(self.target) if self.target else ''}</caption>{rows}</table>"


#: More texts than these are not listed in a notebook.
_LISTED = 12


def _few(texts: Sequence[str]) -> str:
    return ", ".join(texts[:_LISTED]) + (f" ... ({len(texts)} in all)" if len(texts) > _LISTED else "")


class Functions:
    """Functions drawn from the posterior of a model (``Model.functions``)."""

    _model: Model  # a copy of the handle, which lives as long as the functions
    _handle: Handle
    _seed: int
    #: How many there are.
    count: int

    def __init__(self) -> None:
        raise TypeError("functions are made by Model.functions")

    @classmethod
    def _draw(cls, model: Model, count: int, seed: int) -> "Functions":
        drawn = cls.__new__(cls)
        drawn._model = Model._of(model._handle, [], model._width)
        drawn._handle, drawn.count, drawn._seed = Handle("function"), count, seed
        with Call() as call:
            call("oatgp_function_create", model._handle, count, seed, drawn._handle.out)
        return drawn

    def __reduce__(self) -> Any:
        return Functions._draw, (self._model, self.count, self._seed)

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        return f"<oatgp.Functions: {self.count} functions of {', '.join(self._model.inputs)}>"

    def _evaluate(self, X: Any, threads: Optional[int], width: int) -> Array:
        found = []
        for part in self._model._parts(X, threads, {}):
            n = len(part)
            room = np.empty((self.count, n, width) if width else (self.count, n))
            with Call(threads=threads) as call:
                call(
                    "oatgp_function_evaluate", self._handle, part.handle, None if width else address(room), address(room) if width else None
                )
            found.append(room)
        return found[0] if len(found) == 1 else np.concatenate(found, axis=1)

    def __call__(self, X: Any, *, threads: Optional[int] = None) -> Array:
        """Values at the rows, one function per row of the result."""
        return self._evaluate(X, threads, 0)

    def gradient(self, X: Any, *, threads: Optional[int] = None) -> Array:
        """Derivatives with respect to each input of the model, in the data's units: functions x rows x inputs."""
        return self._evaluate(X, threads, len(self._model.inputs))


def _join(parts: List[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
