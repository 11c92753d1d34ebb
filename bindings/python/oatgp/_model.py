"""Models: fitted, saved, loaded, asked."""

from __future__ import annotations

import ctypes
import html
import math
import os
import sys
import threading
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

import numpy as np

from . import _abi as abi
from ._data import COLUMNS, ROWS_AT_A_TIME, Classes, Data, Table, as_table, counted_from, in_parts, is_path, refuse_masked
from ._library import (
    Call,
    Handle,
    SettingsStruct,
    address,
    check_on_interrupt,
    copy_array,
    decode,
    end_interrupted,
    lib,
    likelihood_parameters,
    named_parameters,
)
from ._plot import SVG
from ._plot import plot as draw_axes
from ._plot import svg as draw_svg
from ._results import Answers, Certificate, Effects, Evaluation, Gradient, HeldOut, Prediction, Scores, from_struct
from ._settings import OF_COLUMNS, OF_FILES, OF_READING, OF_ROWS

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._library import Array, OnInterrupt, ProgressLike
    from ._settings import OfReading, OfRows, Settings

_BEST = "the best model so far"


def _pick(settings: Mapping[str, Any], names: Tuple[str, ...]) -> Dict[str, Any]:
    """Those settings, as far as they are given."""
    return {name: settings[name] for name in names if settings.get(name) is not None}


def _take_out(settings: Dict[str, Any], names: Tuple[str, ...]) -> Dict[str, Any]:
    """The same, no longer in the settings."""
    known = _pick(settings, names)
    for name in names:
        settings.pop(name, None)
    return known


def _said(given: Mapping[str, Any], names: Tuple[str, ...]) -> Dict[str, Any]:
    """The same, where there may be no others."""
    for name in given:
        if name not in names:
            raise TypeError(f"rows have no setting '{name}'; they have {', '.join(names)}")
    return _pick(given, names)


def _refuse_target(y: Any) -> None:
    if y is not None:
        raise ValueError("the rows are in a file, so the target is one of its columns: give its name by target=")


def _need_target(y: Any, settings: Mapping[str, Any]) -> None:
    if y is None and settings.get("target") is None:
        raise ValueError("there is no target: give y, or name its column by target=")


def _refuse_reading(settings: Mapping[str, Any]) -> None:
    if _pick(settings, OF_READING):
        raise TypeError("header and missing are settings of files")


def make_data(X: Any, y: Any, settings: Dict[str, Any]) -> Data:
    """Data from whatever X is. Settings that only matter here are taken out; those of a file stay, for the model to keep."""
    known = _pick(settings, OF_FILES)
    if isinstance(X, Data):
        if y is not None or known:
            raise ValueError(f"y, {', '.join(OF_FILES)} are given when a Data is made, not with it")
        return X
    if is_path(X):
        _refuse_target(y)
        return Data.read(X, **known, **_pick(settings, ("threads", "likelihood")))
    _refuse_reading(known)
    _need_target(y, known)
    data = Data(X, y, **_take_out(settings, OF_FILES), **_pick(settings, ("likelihood",)))
    # names of columns that predictions use, too, are for the model to keep
    settings.update({name: known[name] for name in OF_COLUMNS if isinstance(known.get(name), str)})
    return data


def _knots(settings: Dict[str, Any], like: Data) -> Optional[Data]:
    """Knots that are given as an array or in a file, as the command reads them."""
    knots = settings.get("knots")
    if knots is None or isinstance(knots, (int, np.integer)):
        return None
    if not is_path(knots):
        del settings["knots"]
        table = as_table(knots)
        places = table.find_inputs(like.inputs)
        factors = [place for place, name in zip(places, like.inputs) if name in like.levels]
        return Data(table.take(places, factors=factors), names=like.inputs if len(places) == len(like.inputs) else None)
    if not any(mark in os.fspath(knots) for mark in "./"):
        return None
    text, handle, struct = os.fspath(knots), Handle("data"), SettingsStruct("fit", _pick(settings, OF_READING))
    with Call() as call:
        call("oatgp_data_read_like", os.fsencode(text), like.handle, struct.by_reference, handle.out, path=text)
    return Data._of(handle)


def _refuse_certificate(settings: Mapping[str, Any]) -> None:
    """Before the fit, which may be long."""
    if settings.get("likelihood") not in (None, "gaussian"):
        raise ValueError(f"certify is for Gaussian likelihoods, and likelihood is {settings['likelihood']}")


def _handle_of(data: Optional[Data]) -> Any:
    return data.handle if data is not None else None


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
        True: a line on standard error. A function is called with a dict for every event; if it returns something true, the fit ends.
    on_interrupt : {"raise", "return"}
        What Ctrl-C does, after the checkpoint is written if there is one. ``"raise"``: raises ``oatgp.Interrupted``, a KeyboardInterrupt
        whose ``result`` is the best model so far. ``"return"``: returns that model, with a warning.
    **settings
        Those of ``oatgp fit`` with underscores (docs/options.md). ``knots`` may also be an array, ``weights``, ``noise_variance``,
        ``trials`` and ``exposure`` too. With ``likelihood="bernoulli-logit"`` (or ``-probit``, or ``"ordinal"``) the target may be of texts,
        truth values or a category, whose order ordinal keeps (``Data(..., classes=)`` gives another).

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
    given: Dict[str, Any] = dict(settings)
    if certify:
        _refuse_certificate(given)
    data = make_data(X, y, given)
    knots = _knots(given, data)
    struct = SettingsStruct("fit", given)
    handle = Handle("model")
    with Call(threads=int(struct.struct.threads), progress=progress) as call:
        call("oatgp_fit", data.handle, struct.by_reference, _handle_of(knots), call.monitor, None, handle.out)
        interrupted = call.take_interrupt()
    model = Model._of(handle, call.trace)
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


def cv(
    X: Any, y: Any = None, *, progress: ProgressLike = None, on_interrupt: OnInterrupt = "raise", **settings: Unpack[Settings]
) -> HeldOut:
    """Cross-validation with refitting: rows are dealt out at random to ``folds`` folds, each predicted by a fit to the others.

    Takes what ``fit`` takes. The scores are of all rows; after Ctrl-C, of those whose folds were done (``on_interrupt`` as for ``fit``).
    """
    check_on_interrupt(on_interrupt)
    given: Dict[str, Any] = dict(settings)
    data = make_data(X, y, given)
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


def objective(X: Any, y: Any = None, *, gradient: bool = False, **settings: Unpack[Settings]) -> Evaluation:
    """The objective at the parameters ``sigma``, ``tau``, ``lengthscale``, ``shape`` (of an expression: ``parameters``, ``tau``; of a likelihood
    other than the Gaussian, ``likelihood_shape`` and so on in place of tau) and the knots ``knots``. An expression is taken as it is written: inputs are not standardised unless ``scale=True``.

    >>> objective([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0], approx="full", sigma=1, tau=0.5, lengthscale=1).objective  # doctest: +ELLIPSIS
    -3.5...
    """
    given: Dict[str, Any] = dict(settings)
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
    evaluation = Evaluation(found.objective, found.sigma, tau, found.shape, found.mean, found.jitter, lengthscales, slopes, *parameters)
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

    def __init__(self) -> None:
        raise TypeError("a model is made by oatgp.fit or oatgp.Model.load")

    @classmethod
    def _of(cls, handle: Handle, trace: List[Dict[str, Any]]) -> "Model":
        model = cls.__new__(cls)
        model._handle = handle
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
        """Writes the model file, whole or not at all."""
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
    def _from_bytes(cls, content: bytes, trace: List[Dict[str, Any]]) -> "Model":
        handle = Handle("model")
        with Call() as call:
            call("oatgp_model_from_bytes", content, len(content), handle.out)
        return cls._of(handle, trace)

    def __reduce__(self) -> Any:
        return Model._from_bytes, (self._to_bytes(), self.trace)

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
        """Of a fit with ``kernel="auto"``: the kernels that were compared, and the mean negative log density of the rows left out with each."""
        lines = [line.split("\t") for line in self._text("kernel_candidates").splitlines()]
        return {kernel: float(score) for kernel, score in lines}

    @property
    def select(self) -> str:
        """How its knots were found."""
        return self._text("select")

    @property
    def target(self) -> str:
        """Name of the target, or an empty text."""
        return self._text("target")

    @property
    def command(self) -> str:
        """The command line that made it, or an empty text."""
        return self._text("command")

    @property
    def fingerprint(self) -> str:
        """Of the rows that it was fitted to."""
        return self._text("fingerprint")

    @property
    def settings(self) -> Dict[str, str]:
        """All settings of its fit."""
        lines = self._text("settings").splitlines()
        return {name: value for name, _, value in (line.partition(" = ") for line in lines)}

    @property
    def inputs(self) -> List[str]:
        """Names of the inputs that it uses: those that varied."""
        info = self._info()
        return [decode(lib.oatgp_model_input_name(info.owner, j)) for j in range(info.d)]

    @property
    def n(self) -> int:
        """Rows that it has learnt from."""
        return int(self._info().n)

    @property
    def n_knots(self) -> int:
        """0 for the full GP."""
        return int(self._info().knots)

    @property
    def neighbours(self) -> int:
        """Earlier rows that each row is predicted from beside the knots (docs/neighbours.md); 0 if there are none. With them the model holds its rows."""
        return int(self._info().neighbours)

    @property
    def predict_neighbours(self) -> int:
        """Rows that each prediction is made from beside the knots; 0 if there are none."""
        return int(self._info().predict_neighbours)

    @property
    def parameters(self) -> Dict[str, float]:
        """Of a kernel that is an expression (docs/kernels.md): its parameters by name, in their order and in the data's units.
        The kernels that have a name have ``sigma``, ``lengthscales`` and ``shape`` instead, and this is empty."""
        return named_parameters(self._info())

    @property
    def likelihood(self) -> str:
        """How the target varies about the function: gaussian, or another."""
        return self._text("likelihood")

    @property
    def likelihood_parameters(self) -> Dict[str, float]:
        """Of a likelihood other than the Gaussian: its own parameters by name, as shape, scale, degrees or the thresholds between levels."""
        return likelihood_parameters(self._info())

    @property
    def classes(self) -> List[str]:
        """The classes of the target in their order; the probability of a Bernoulli model is that of the second. Empty if it holds numbers."""
        handle = self._handle
        count = lib.oatgp_model_target_level_count(handle)
        return [decode(lib.oatgp_model_target_level(handle, i)) for i in range(count)]

    @property
    def answer_levels(self) -> int:
        """How many levels an ordinal answer has; 0 for others."""
        return int(self._info().answer_levels)

    @property
    def _is_gaussian(self) -> bool:
        return self.likelihood == "gaussian"

    @property
    def _is_bernoulli(self) -> bool:
        return self.likelihood.startswith("bernoulli")

    @property
    def sigma(self) -> float:
        """Standard deviation of the function, in units of the target (or of what the link makes of it); nan for an expression."""
        return float(self._info().sigma)

    @property
    def tau(self) -> float:
        """Standard deviation of the noise, in units of the target; nan with a likelihood other than the Gaussian."""
        return float(self._info().tau) if self._is_gaussian else math.nan

    @property
    def shape(self) -> float:
        """Of the rq kernels."""
        return float(self._info().shape)

    @property
    def lengthscales(self) -> Array:
        """In units of the scaled inputs."""
        info = self._info()
        return copy_array(info.lengthscales, (info.lengthscale_count,))

    @property
    def input_centre(self) -> Array:
        """What is taken off the inputs before they are divided by ``input_scale``."""
        info = self._info()
        return copy_array(info.input_centre, (info.d,))

    @property
    def input_scale(self) -> Array:
        """What the centred inputs are divided by."""
        info = self._info()
        return copy_array(info.input_scale, (info.d,))

    @property
    def mean(self) -> float:
        """The prior mean; of a linear one, its value at the mean of the inputs."""
        return float(self._info().mean)

    @property
    def slopes(self) -> Optional[Array]:
        """Of a linear prior mean."""
        info = self._info()
        return copy_array(info.slopes, (info.d,)) if info.slopes else None

    @property
    def objective(self) -> float:
        """What was maximised: of vfe and tvfe, a lower bound of the log evidence."""
        return float(self._info().objective)

    @property
    def bounds(self) -> Tuple[float, float]:
        """Bounds of the exact log evidence at the model's parameters, as far as they are known (``certify``)."""
        info = self._info()
        if not math.isnan(info.lower):
            return float(info.lower), float(info.upper)
        exact = info.objective if info.likelihood == b"gaussian" else math.inf
        known = {b"full": (info.objective, exact), b"vfe": (info.objective, math.inf), b"tvfe": (info.objective, math.inf)}
        return known.get(info.approx, (-math.inf, math.inf))

    @property
    def loo_scores(self) -> Dict[str, float]:
        """Leave-one-out scores of the rows of the fit (NaN if they are not known); ``loo`` has them row by row."""
        info = self._info()
        return {"mean_nlp": info.loo_mean_nlp, "rmse": info.loo_rmse, "coverage95": info.loo_coverage95}

    @property
    def iterations(self) -> int:
        """Of the optimiser."""
        return int(self._info().iterations)

    @property
    def evaluations(self) -> int:
        """Of the objective."""
        return int(self._info().evaluations)

    @property
    def seconds(self) -> float:
        """That the fit took."""
        return float(self._info().seconds)

    @property
    def stop(self) -> str:
        """Why the fit ended, in a word."""
        word: bytes = lib.oatgp_stop_word(self._info().stop)
        return word.decode()

    @property
    def history(self) -> Array:
        """Evaluations, objective and seconds after each iteration of the best start."""
        info = self._info()
        return copy_array(info.history, (info.history_count, 3))

    @property
    def knots(self) -> Array:
        """In the data's units, one a row."""
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
        _refuse_reading(reading)
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
        given, inputs = {**self._remembered(table.names or []), **_pick(known, tuple(COLUMNS))}, self.inputs
        places = table.find_inputs(inputs, (target, *given.values()))
        factors = [place for place, levels in zip(places, self._levels()) if levels]
        names = inputs if len(places) == len(inputs) else None  # of another number the library says what is wrong
        if isinstance(table.values, np.ma.MaskedArray):
            refuse_masked(table.values[:, places], "the inputs")
        columns: Dict[str, Any] = {role: table.column(values, COLUMNS[role]) for role, values in given.items()}
        columns["y"], _ = table.target(y, target, Classes.wanted(None, self.classes or None))
        name = (self.target or None) if columns["y"] is not None else None
        for rows in in_parts(table.rows, at_a_time):
            cut: Dict[str, Any] = {role: column[rows] for role, column in columns.items() if column is not None}
            try:
                taken = table.take(places, rows, factors)
                part = Data(Table(taken.values, names, taken.levels), target=name, **cut)
            except ValueError as error:
                raise counted_from(rows.start, error) from None
            yield part

    def _remembered(self, names: List[str]) -> Dict[str, str]:
        """The columns with trials and exposures of the fit, as far as there are columns of these names."""
        kept = {**self._of_frame(), **{role: self._text(role) for role in OF_COLUMNS if self._text(role)}}
        return {role: name for role, name in kept.items() if name in names}

    def _of_frame(self) -> Dict[str, str]:
        """The names that the model's settings alone know, since it was fitted to a frame; of a file the library knows them."""
        settings = self.settings
        return {role: settings[role] for role in OF_COLUMNS if settings.get(role) and not self._text(role)}

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
            Of a data frame or a file the inputs are found by name, and none may be missing; an array has no names and goes by place. Large
            ones are taken some rows at a time.
        interval : float or None
            Probability of the interval. None: none is wanted, and lower and upper are NaN; quantiles of counts and amounts are what takes long.
        latent : bool
            The interval is for the function, without the noise. With a likelihood other than the Gaussian all columns are (a ``Prediction``),
            without the logarithm of the exposure.
        given : (inputs, targets), optional
            Rows that exist in thought alone: predictions are made as if they were known, at the model's parameters and mean. For the Gaussian
            likelihood.
        **reading
            ``trials`` and ``exposure`` of the rows, as arrays or columns. Of a file: ``header`` and ``missing``.
        """
        if interval is not None and not 0 < interval < 1:
            raise ValueError(f"interval is {interval!r} but must be a number above 0 and below 1")
        if given is None and not (latent or self._is_gaussian):
            return self._answers(X, interval, threads, reading)
        width = math.nan if interval is None else lib.oatgp_normal_quantile((1 - interval) / 2)
        handle, found = self._handle, []
        known = None if given is None else self._rows(given[0], given[1], {}, threads=threads)
        for part in self._parts(X, threads, reading):
            columns = [np.empty(len(part)) for _ in range(3)]
            room = abi.oatgp_prediction_sd(*(address(column) for column in columns))
            with Call(threads=threads) as call:
                if known is None:
                    call("oatgp_predict_sd", handle, part.handle, ctypes.byref(room))
                else:
                    call("oatgp_predict_given", handle, part.handle, known.handle, ctypes.byref(room))
            found.append(columns)
        mean, sd_latent, sd = (_join([columns[j] for columns in found]) for j in range(3))
        half = -width * (sd_latent if latent else sd)
        return Prediction(mean, sd_latent, sd, mean - half, mean + half)

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
        """The probability of each class, one a column: those of ``classes``, or 0, 1, ... if they have no names.

        For likelihoods with classes: bernoulli-logit, bernoulli-probit and ordinal.
        """
        if self._is_bernoulli:
            probability = self.predict_mean(X, threads=threads, **reading)
            return np.column_stack([1 - probability, probability])
        handle, count, found = self._handle, self.answer_levels, []
        if count == 0:
            raise ValueError(f"the likelihood {self.likelihood} has no classes, and so no probability of each")
        for part in self._parts(X, threads, reading):
            found.append(np.empty((len(part), count)))
            with Call(threads=threads) as call:
                call("oatgp_predict_answers", handle, part.handle, ctypes.byref(abi.oatgp_answers(levels=address(found[-1]))))
        return _join(found)

    def predict_gradient(self, X: Any, *, threads: Optional[int] = None, **reading: Unpack[OfReading]) -> Gradient:
        """Mean and standard deviation of the function at the rows, and the derivatives of both in each input.

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
        """Name and inputs of each summand of the covariance."""
        effect = abi.oatgp_effect()
        found: List[Tuple[str, List[int]]] = []
        while lib.oatgp_effect_at(self._handle, len(found), ctypes.byref(effect)):
            found.append((decode(effect.name), [effect.inputs[j] for j in range(effect.input_count)]))
        return found

    def effects(self, X: Any, over: Any = None, *, threads: Optional[int] = None, **reading: Unpack[OfReading]) -> Effects:
        """Posterior of each summand of a covariance that is a sum, as ``oatgp predict --parts`` writes it.

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

    def covariance(self, X: Any, **reading: Unpack[OfReading]) -> Array:
        """Joint covariance of the function at the rows."""
        (data,) = self._parts(X, 1, reading, sys.maxsize)
        covariance = np.empty((len(data), len(data)))
        with Call() as call:
            call("oatgp_predict_covariance", self._handle, data.handle, address(covariance))
        return covariance

    def functions(self, count: int = 1, *, seed: int = 1) -> "Functions":
        """Functions drawn from the posterior, which can be evaluated anywhere: the same ones at all rows of all calls.

        The kernel needs a spectral form: those with a name, and expressions of se, matern, rq, periodic, cosine and constant. The functions stay
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
        return Functions._draw(self, int(count), int(seed))

    def sample(self, X: Any, count: int = 1, *, seed: int = 1, latent: bool = True, **reading: Unpack[OfReading]) -> Array:
        """Joint draws of the function at the rows, one a row of the result; with ``latent=False`` of the answers: the function, and then what
        the likelihood makes of it, noise included."""
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
        _refuse_reading(known)
        names = as_table(X).names
        there = names is not None and self.target in names
        if need_target and y is None and names is not None and self.target and not there and "target" not in known:
            raise ValueError(f"there is no column '{self.target}', the target; there are {', '.join(names)}; give y, or its column by target=")
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

    def score(self, X: Any, y: Any = None, *, against: Optional["Model"] = None, threads: Optional[int] = None, **rows: Unpack[OfRows]) -> Scores:
        """RMSE, negative log probabilities and coverage of rows with a target; ``against``: also the KL divergence from that model.

        With a likelihood other than the Gaussian also log loss, Brier score, accuracy and AUC of 0 and 1, and the deviance."""
        data = self._rows(X, y, rows, threads=threads)
        other, scores = against._handle if against is not None else None, abi.oatgp_scores()
        with Call(threads=threads) as call:
            call("oatgp_score", self._handle, data.handle, other, ctypes.byref(scores))
        return from_struct(Scores, scores)

    def loo(self, X: Any, y: Any = None, *, threads: Optional[int] = None, **rows: Unpack[OfRows]) -> HeldOut:
        """Each row of the fit as the model predicts it without that row, in closed form. The rows must be those of the fit."""
        data = self._rows(X, y, rows, threads=threads)
        held_out, scores = _HeldOutRows(len(data)), abi.oatgp_scores()
        with Call(threads=threads) as call:
            call("oatgp_loo_sd", self._handle, data.handle, held_out.by_reference, ctypes.byref(scores))
        return held_out.result(scores)

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
        """Takes in further rows at the model's parameters and knots, without the old ones; returns the model itself.

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
        """Takes rows out of the full GP: their numbers, from 0, in the order in which it took them in; returns the model itself.

        >>> import numpy as np
        >>> x = np.linspace(0, 6, 30)
        >>> model = fit(x, np.sin(x) + 0.1 * np.cos(40 * x), approx="full")
        >>> model.update([[6.5]], [0.2]).remove([0, 1]).n
        29
        """
        numbers = np.ascontiguousarray(np.atleast_1d(rows), dtype=np.int64)
        if (numbers < 0).any():
            raise ValueError(f"row {int(numbers.min())} is asked for, and rows are numbered from 0")
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

    def _new_rows(self, X: Any, y: Any, rows: Mapping[str, Any], threads: Optional[int]) -> Iterator[Data]:
        if isinstance(X, Data) or is_path(X):
            yield self._rows(X, y, rows, threads=threads)
        else:
            yield from self._cut(X, y, self._of_table(X, y, _said(rows, OF_ROWS)), ROWS_AT_A_TIME)

    def refit(
        self, X: Any, y: Any = None, *, progress: ProgressLike = None, on_interrupt: OnInterrupt = "raise", **settings: Unpack[Settings]
    ) -> "Model":
        """A model that was optimised on from this one, with all rows, old and new (``oatgp update --refit``). Ctrl-C as in ``fit``."""
        check_on_interrupt(on_interrupt)
        given: Dict[str, Any] = dict(settings)
        data = self._rows(X, y, _take_out(given, OF_ROWS), threads=given.get("threads"))
        struct, handle = SettingsStruct("update", given), Handle("model")
        with Call(threads=int(struct.struct.threads), progress=progress) as call:
            call("oatgp_refit", self._handle, data.handle, struct.by_reference, call.monitor, None, handle.out)
            interrupted = call.take_interrupt()
        model = Model._of(handle, call.trace)
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
        """Writes all about the model and these rows as one page of HTML, as ``oatgp report``; ``source`` says where the rows come from."""
        data = self._rows(X, y, rows)
        name = os.fspath(X) if source is None and is_path(X) else source
        with Call() as call:
            call("oatgp_report", self._handle, data.handle, name.encode() if name is not None else None, os.fsencode(path))

    # ---- shown --------------------------------------------------------------------------------------------------------

    def _shown_parameters(self) -> Dict[str, str]:
        info = self._info()
        noise = {"tau": info.tau} if self._is_gaussian else self.likelihood_parameters
        if info.parameter_count:
            return {name: f"{value:.5g}" for name, value in {**self.parameters, **noise}.items()}
        numbers = {"sigma": info.sigma, **noise}
        lengthscales = ", ".join(f"{value:.4g}" for value in self.lengthscales)
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
            "inputs": ", ".join(self.inputs),
            "knots": f"{info.knots} ({self.select})" + (f", and {info.neighbours} neighbours of each row" if info.neighbours else ""),
            "objective": f"{info.objective:.6g}",
            **self._shown_parameters(),
            "fit": f"{info.evaluations} evaluations, {info.seconds:.3g} s; ended: {self.stop}",
        }
        if not math.isnan(scores["rmse"]):
            shown["leave-one-out"] = ", ".join(f"{name} {value:.4g}" for name, value in scores.items() if not math.isnan(value))
        if not math.isnan(info.lower):
            shown["log evidence"] = f"{info.lower:.6g} to {info.upper:.6g}"
        return shown

    def __repr__(self) -> str:
        info = self._info()
        size = f"{info.n} rows, {info.d} inputs, {info.knots} knots" + (f", {info.neighbours} neighbours" if info.neighbours else "")
        kind = self.kernel if self._is_gaussian else f"{self.kernel}, {self.likelihood}"
        return f"<oatgp.Model: {self.approx}, {kind}, {size}, objective {info.objective:.6g}>"

    def _repr_html_(self) -> str:
        left = "style='text-align:left'"
        rows = "".join(f"<tr><th {left}>{name}</th><td {left}>{html.escape(value)}</td></tr>" for name, value in self._summary().items())
        return f"<table><caption>oatgp model{' of ' + html.escape(self.target) if self.target else ''}</caption>{rows}</table>"


class Functions:
    """Functions drawn from the posterior of a model (``Model.functions``)."""

    _model: Model  # a copy of the handle, which lives as long as the functions
    _handle: Handle
    #: How many there are.
    count: int

    def __init__(self) -> None:
        raise TypeError("functions are made by Model.functions")

    @classmethod
    def _draw(cls, model: Model, count: int, seed: int) -> "Functions":
        drawn = cls.__new__(cls)
        drawn._model, drawn._handle, drawn.count = Model._of(model._handle, []), Handle("function"), count
        with Call() as call:
            call("oatgp_function_create", model._handle, count, seed, drawn._handle.out)
        return drawn

    def __len__(self) -> int:
        return self.count

    def _evaluate(self, X: Any, threads: Optional[int], width: int) -> Array:
        found = []
        for part in self._model._parts(X, threads, {}):
            n = len(part)
            room = np.empty((self.count, n, width) if width else (self.count, n))
            with Call(threads=threads) as call:
                call("oatgp_function_evaluate", self._handle, part.handle, None if width else address(room), address(room) if width else None)
            found.append(room)
        return found[0] if len(found) == 1 else np.concatenate(found, axis=1)

    def __call__(self, X: Any, *, threads: Optional[int] = None) -> Array:
        """Values at the rows, one function a row of the result."""
        return self._evaluate(X, threads, 0)

    def gradient(self, X: Any, *, threads: Optional[int] = None) -> Array:
        """Derivatives in each input of the model, in the data's units: functions x rows x inputs."""
        return self._evaluate(X, threads, len(self._model.inputs))


def _join(parts: List[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
