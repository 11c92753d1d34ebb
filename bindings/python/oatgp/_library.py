"""The library, and one call into it: a context of its own, errors as exceptions, messages, progress and Ctrl-C."""

from __future__ import annotations

import contextlib
import ctypes
import difflib
import logging
import operator
import os
import signal
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Collection, Dict, Iterable, Iterator, List, Literal, Mapping, Optional, Sequence, Tuple, Type, Union

import numpy as np

from . import _abi as abi
from .kernels import Kernel
from .likelihoods import Likelihood

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    ProgressLike = Union[bool, Callable[[Dict[str, Any]], Any], None]
    OnInterrupt = Literal["raise", "return"]


#: What the linear algebra and the threads read when they are loaded, and never again (cli/environment.c says why).
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "GOMP_SPINCOUNT": "1000"}


@contextlib.contextmanager
def _environment() -> Iterator[None]:
    """Sets missing environment variables, and restores the environment afterwards."""
    added = [name for name in _ENVIRONMENT if name not in os.environ and not (name.startswith("GOMP") and "OMP_WAIT_POLICY" in os.environ)]
    os.environ.update({name: _ENVIRONMENT[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


def _load() -> ctypes.CDLL:
    with _environment():
        library = ctypes.CDLL(str(Path(__file__).with_name("liboatgp.so")))
    for function, (result, arguments) in abi.FUNCTIONS.items():
        getattr(library, function).restype = result
        getattr(library, function).argtypes = arguments
    return library


#: ctypes lets go of the interpreter's lock during every call.
lib = _load()


def _share_cores() -> None:
    """Children of multiprocessing run at the same time, so each uses one core, unless OMP_NUM_THREADS (which joblib sets for its children)
    allows more."""
    multiprocessing = sys.modules.get("multiprocessing")  # there in its children
    if multiprocessing is not None and multiprocessing.parent_process() is not None and "OMP_NUM_THREADS" not in os.environ:
        lib.oatgp_set_cores(1)


_share_cores()

log = logging.getLogger("oatgp")


class OatgpWarning(UserWarning):
    """A warning of the library, or about a result that was interrupted (``on_interrupt="return"``)."""


def warn(sentence: str) -> None:
    """A warning that names the line of the user's program, outside of this package."""
    package, frame, level = os.path.dirname(__file__), sys._getframe(1), 2
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, OatgpWarning, stacklevel=level)


def decode(words: bytes) -> str:
    """Decodes text that may come from a file and need not be UTF-8; the library reads it as Windows-1252 then."""
    try:
        return words.decode()
    except UnicodeDecodeError:
        room = ctypes.create_string_buffer(lib.oatgp_to_utf8(words, None, 0) + 1)
        lib.oatgp_to_utf8(words, room, len(room))
        return room.value.decode()


# ---- errors -----------------------------------------------------------------------------------------------------------

_EXCEPTIONS: Dict[int, Type[BaseException]] = {
    abi.OATGP_ARGUMENT: ValueError,
    abi.OATGP_MEMORY: MemoryError,
    abi.OATGP_DATA: ValueError,
    abi.OATGP_READ: OSError,
    abi.OATGP_WRITE: OSError,
    abi.OATGP_FORMAT: ValueError,
    abi.OATGP_NUMERIC: np.linalg.LinAlgError,
    abi.OATGP_STOPPED: RuntimeError,
}


def _exception(status: int, sentence: str, path: Optional[str]) -> BaseException:
    if status == abi.OATGP_READ and path is not None and not os.path.exists(path):
        return FileNotFoundError(sentence)
    return _EXCEPTIONS[status](sentence)


# ---- Ctrl-C -----------------------------------------------------------------------------------------------------------


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a fit, a cross-validation or a certificate. ``result`` has the results so far: the best model, the scores, the bounds.

    In a console it is ``sys.last_value.result`` afterwards.
    """

    def __init__(self, sentence: str, result: Any = None) -> None:
        super().__init__(sentence)
        self.result = result


def check_on_interrupt(on_interrupt: str) -> None:
    """Checks the argument before the work begins, which may take long."""
    if on_interrupt not in ("raise", "return"):
        raise ValueError(f"on_interrupt is {on_interrupt!r} but must be 'raise' or 'return'")


def end_interrupted(what: str, result: Any, on_interrupt: str) -> None:
    """Raises, so that a loop around the call ends, too; or warns, for the result to be returned."""
    if on_interrupt == "raise":
        raise Interrupted(f"interrupted; the attribute 'result' of this exception is {what}; on_interrupt='return' returns it instead", result)
    warn(f"interrupted; the result is {what}")


class Interrupts:
    """Inside this context, Ctrl-C is recorded instead of raised, so that the work can end with its results so far. (An exception from a
    callback would be lost in the library.) Only the main thread may do this, and only it receives signals.
    """

    def __init__(self) -> None:
        self.caught = False
        self._mine = False

    def _catch(self, *_: Any) -> None:
        self.caught = True

    def __enter__(self) -> "Interrupts":
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._catch)
            self._mine = True
        return self

    def __exit__(self, *_: Any) -> None:
        if self._mine:
            signal.signal(signal.SIGINT, signal.default_int_handler)


# ---- progress ---------------------------------------------------------------------------------------------------------


#: Seconds before the first line of progress, and from one to the next.
FIRST_LINE_AFTER, NEXT_LINE_AFTER = 0.2, 0.1


def _short(number: float) -> str:
    """950, 12.3k, 4.56M"""
    for suffix in ("", "k", "M", "G"):
        if number < 999.5:
            return f"{number:.3g}{suffix}"
        number /= 1000
    return f"{number:.3g}T"


class Progress:
    """A line on standard error that is overwritten, in a terminal and in a notebook; or a function that is called for every event."""

    def __init__(self, wanted: ProgressLike) -> None:
        self._function = wanted if callable(wanted) else None
        self._shown = bool(wanted) and self._function is None
        self._begin = time.monotonic()
        self._next = self._begin + FIRST_LINE_AFTER
        self._written = False
        self._work, self._done, self._since, self._from = "", 0, 0.0, 0

    def _line(self, text: str) -> None:
        now = time.monotonic()
        if self._shown and now >= self._next:
            self._next = now + NEXT_LINE_AFTER
            self._written = True
            sys.stderr.write(f"\r{text}, {now - self._begin:.1f} s".ljust(80)[:100])
            sys.stderr.flush()

    def event(self, event: Dict[str, Any]) -> bool:
        """Whether the listener wants an end."""
        if self._function is not None:
            return bool(self._function(event))
        if event["event"] in ("step", "subset"):
            near = f" and {event['neighbours']} neighbours" if event["neighbours"] else ""
            what = f"{event['knots']} knots{near}" if event["knots"] else f"exact GP of {event['rows']} rows"
            self._line(f"{what}, iteration {event['iteration']}, objective {event['objective']:.8g}, best {event['best']:.8g}")
        return False

    def bracket(self, iterations: int, lower: float, upper: float) -> None:
        self._line(f"iteration {iterations}, log evidence from {lower:.8g} to {upper:.8g}")

    def rows(self, what: str, done: int, total: int) -> None:
        """How much of the current work is done, and how fast, measured from its first report."""
        now, unit = time.monotonic(), lib.oatgp_progress_unit(what.encode()).decode()
        if what != self._work or done < self._done:
            self._work, self._since, self._from = what, now, done
        self._done = done
        share = f"{100 * done // total} % of {_short(total)}" if total else _short(done)
        pace = f", {_short((done - self._from) / (now - self._since))} {unit}/s" if done > self._from and now > self._since else ""
        self._line(f"{what}: {share} {unit}{pace}")

    def close(self) -> None:
        if self._written:
            sys.stderr.write("\n")
            sys.stderr.flush()


# ---- one call -----------------------------------------------------------------------------------------------------------

_EVENTS = {value: name[len("OATGP_EVENT_") :].lower() for name, value in vars(abi).items() if name.startswith("OATGP_EVENT_")}
_OF_KNOTS = ("candidates", "predicted", "gain")
_OF_LIKELIHOODS = ("site_rounds",)
_COUNTS = ("lengthscale_count", "added", "inputs", "max_knots", "parameter_count", "likelihood_count")
_OF_NAMED_KERNELS = ("sigma", "shape", "lengthscales")
_NUMBERS = [
    field[0]
    for field in abi.oatgp_event._fields_
    if field[1] in (ctypes.c_int64, ctypes.c_size_t, ctypes.c_double) and field[0] not in _OF_KNOTS + _OF_LIKELIHOODS + _COUNTS
]


def named_parameters(holder: Any) -> Dict[str, float]:
    """The parameters of an expression, in their order; events, evaluations and models have them."""
    return {decode(parameter.name): parameter.value for parameter in holder.parameters[: holder.parameter_count]}


def likelihood_parameters(holder: Any) -> Dict[str, float]:
    """The same of a likelihood other than the Gaussian."""
    return {decode(parameter.name): parameter.value for parameter in holder.likelihood_parameters[: holder.likelihood_count]}


def _event_dict(event: Any) -> Dict[str, Any]:
    """An event with the keys of a line of the command's --trace."""
    found: Dict[str, Any] = {"event": _EVENTS[event.kind]}
    found.update({name: getattr(event, name) for name in _NUMBERS})
    found["lengthscales"] = event.lengthscales[: event.lengthscale_count]
    if event.parameter_count:
        found = {name: value for name, value in found.items() if name not in _OF_NAMED_KERNELS}
        found["parameters"] = named_parameters(event)
    if event.likelihood_parameters:
        del found["tau"]
        found.update({name: getattr(event, name) for name in _OF_LIKELIHOODS}, likelihood_parameters=likelihood_parameters(event))
    found["stop"] = event.stop.decode() if event.stop else None
    if event.positions:
        found.update({name: getattr(event, name) for name in _OF_KNOTS})
        found["positions"] = copy_array(event.positions, (event.added, event.inputs)).tolist()
    return found


class Call:
    """A context for one piece of work. The library's messages are passed on at the end: warnings as warnings, notes to the log."""

    def __init__(self, *, threads: Optional[int] = None, progress: ProgressLike = None) -> None:
        self._context = lib.oatgp_context_create()
        if not self._context:
            raise MemoryError("out of memory")
        self._messages: List[Tuple[int, str]] = []
        self._error: Optional[BaseException] = None
        self._interrupts = Interrupts()
        self.progress = Progress(progress)
        self.trace: List[Dict[str, Any]] = []
        # they must live as long as the context
        self._hears = abi.oatgp_message_fn(lambda _, level, text: self._messages.append((level, decode(text))))
        self._rows = abi.oatgp_progress_fn(self._on_rows)
        self.monitor = abi.oatgp_monitor_fn(self._on_event)
        self.bracket = abi.oatgp_bracket_fn(self._on_bracket)
        lib.oatgp_context_set_message(self._context, self._hears, None)
        lib.oatgp_context_set_front(self._context, abi.OATGP_FRONT_PYTHON)
        lib.oatgp_context_set_progress(self._context, self._rows, None)
        lib.oatgp_context_set_threads(self._context, int(threads or 0))  # 0: as there are cores

    def __enter__(self) -> "Call":
        self._interrupts.__enter__()
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self._interrupts.__exit__()
        self.progress.close()
        lib.oatgp_context_free(self._context)
        self._context = None
        for level, text in self._messages:
            if level == abi.OATGP_WARNING:
                warn(text)
            else:
                log.info("%s", text)
        if kind is None and self._interrupts.caught:
            raise KeyboardInterrupt

    def __call__(self, name: str, *arguments: Any, path: Optional[str] = None) -> None:
        """Calls a function of the library that takes the context first; raises if it fails."""
        status = getattr(lib, name)(self._context, *arguments)
        if self._error is not None:
            raise self._error
        if status != abi.OATGP_OK:
            sentence = decode(lib.oatgp_last_error(self._context))
            if status == abi.OATGP_STOPPED and self._interrupts.caught:
                raise KeyboardInterrupt(sentence)
            raise _exception(status, sentence, path)

    def take_interrupt(self) -> bool:
        """Whether Ctrl-C was pressed; the caller then has to handle it."""
        caught, self._interrupts.caught = self._interrupts.caught, False
        return caught

    # An exception must not leave a callback. It is stored, and raised when the library has returned. Until then no callback runs again.

    def _guard(self, work: Callable[[], Any]) -> int:
        if self._error is not None:
            return 1
        try:
            wants_end = work()
        except BaseException as error:  # noqa: BLE001
            self._error = error
            return 1
        return int(bool(wants_end) or self._interrupts.caught)

    def _on_event(self, _: Any, event: Any) -> int:
        def hear() -> bool:
            self.trace.append(_event_dict(event.contents))
            return self.progress.event(self.trace[-1])

        return self._guard(hear)

    def _on_bracket(self, _: Any, bracket: Any) -> int:
        so_far = bracket.contents
        return self._guard(lambda: self.progress.bracket(so_far.iterations, so_far.lower, so_far.upper))

    def _on_rows(self, _: Any, what: bytes, done: int, total: int) -> None:
        self._guard(lambda: self.progress.rows(what.decode(), done, total))


# ---- handles, arrays, settings ------------------------------------------------------------------------------------------


class Handle:
    """An object of the library, freed with this one. As an argument, it lives until the call ends, whatever other threads do."""

    def __init__(self, kind: str) -> None:
        self._free = getattr(lib, f"oatgp_{kind}_free")
        self._kind = kind
        self.pointer = ctypes.c_void_p()
        self._as_parameter_ = self.pointer

    @property
    def out(self) -> Any:
        """Where the library stores the object."""
        return ctypes.byref(self.pointer)

    def __reduce__(self) -> Any:
        raise TypeError(f"{self._kind} of oatgp cannot be copied or pickled: make it again from the table, which can")

    def __del__(self) -> None:
        self._free(self.pointer)


def whole_number(value: Any, least: int, what: str) -> int:
    """A count that is given; True and False are none."""
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__") or operator.index(value) < least:
        raise ValueError(f"{what} is {value!r} but must be a whole number, {least} or more")
    return operator.index(value)


def address(array: Optional[Array]) -> Any:
    """The address of a contiguous array of doubles."""
    return None if array is None else array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def copy_array(pointer: Any, shape: Tuple[int, ...]) -> Array:
    """A copy of values that belong to the library."""
    count = int(np.prod(shape))
    if count == 0 or not pointer:
        return np.zeros(shape if count == 0 else (0,))
    return np.ctypeslib.as_array(pointer, shape=(count,)).astype(np.float64).reshape(shape)


def _as_text(value: Any) -> str:
    """A value as text for the library; numbers with all their digits."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value) if not isinstance(value, str) else value
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (Sequence, np.ndarray)):
        return ",".join(_as_text(part) for part in value)
    raise TypeError(f"a setting must be a number, a text, True or False, or a sequence of these, not of the type {type(value).__name__}")


def nearest_of(name: str, names: Iterable[str]) -> str:
    """The end of an error message about an unknown name."""
    nearest = difflib.get_close_matches(name, list(names), 1)
    return f" (the nearest name is '{nearest[0]}')" if nearest else ""


def check_names(what: str, given: Iterable[str], names: Collection[str], others: Collection[str] = ()) -> None:
    """Refuses these names, which are not arguments of the function. others: its other arguments, for suggestions."""
    for name in given:
        if name not in names:
            raise TypeError(f"{what} has no argument '{name}'{nearest_of(name, [*names, *others])}")


def _table() -> Dict[str, Any]:
    """The settings of the library by name, without the options of the command, which may have the same names."""
    rows = (lib.oatgp_setting_at(index).contents for index in range(lib.oatgp_setting_count()))
    return {row.name.decode(): row for row in rows if not row.in_command_only}


TABLE = _table()


def plain(settings: Mapping[str, Any]) -> Dict[str, Any]:
    """Replaces objects in settings: a kernel by its text, a likelihood by its name and those of its parameters that are not settings
    already."""
    for name, value in settings.items():
        if isinstance(value, type) and issubclass(value, (Kernel, Likelihood)):
            raise TypeError(f"{name} is the class {value.__name__}; give an object of it, such as {name}={value.__name__}(...)")
    found = {name: str(value) if isinstance(value, Kernel) else value for name, value in settings.items()}
    likelihood = found.get("likelihood")
    if isinstance(likelihood, Likelihood):
        found["likelihood"] = likelihood.name
        found.update({name: value for name, value in likelihood.settings.items() if found.get(name) is None})
    return found


#: Verbs that are functions of another name.
_FUNCTIONS = {"update": "refit"}


class SettingsStruct:
    """The library's settings for one verb. The preset is applied first, so that other settings override it."""

    def __init__(self, verb: str, given: Mapping[str, Any]) -> None:
        self.struct = abi.oatgp_settings()
        self._texts: List[bytes] = []  # borrowed by the struct
        lib.oatgp_settings_default(ctypes.byref(self.struct))
        for name, value in sorted(given.items(), key=lambda item: item[0] != "preset"):
            if value is not None:
                self.set(verb, name, value)

    def set(self, verb: str, name: str, value: Any) -> None:
        if name not in TABLE or verb.encode() not in TABLE[name].verbs.split(b","):
            near = difflib.get_close_matches(name, [other for other, row in TABLE.items() if verb.encode() in row.verbs.split(b",")], 1)
            advice = f"the nearest name is '{near[0]}'" if near else "help() lists its settings"
            raise TypeError(f"{_FUNCTIONS.get(verb, verb)} has no setting '{name}'; {advice}")
        if TABLE[name].type == abi.OATGP_TYPE_FLAG and not isinstance(value, (bool, np.bool_)) and value not in ("yes", "no"):
            raise ValueError(f"{name} is {value!r} but must be True or False")
        if name == "parameters" and isinstance(value, Mapping):
            value = [f"{key}={_as_text(number)}" for key, number in value.items()]
        text = _as_text(value).encode()
        self._texts.append(text)
        with Call() as call:
            call("oatgp_settings_set", ctypes.byref(self.struct), name.encode(), text)

    @property
    def by_reference(self) -> Any:
        return ctypes.byref(self.struct)
