"""Converts tables of numbers for the library: arrays, data frames, Arrow tables and files."""

from __future__ import annotations

import ctypes
import datetime
import os
import re
from typing import (
    TYPE_CHECKING,
    Any,
    Collection,
    Dict,
    Iterable,
    Iterator,
    List,
    Literal,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Union,
)

import numpy as np

from . import _abi as abi
from ._library import Call, Handle, SettingsStruct, address, check_names, decode, lib, plain, warn
from ._settings import OF_FILES
from .likelihoods import Likelihood

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._library import Array, ProgressLike
    from ._settings import Settings

#: A multiple of 512, so that rows predicted in parts have the bits of all rows at once.
ROWS_AT_A_TIME = 65536


def counted_from(first: int, error: ValueError, kept: Optional[Any] = None) -> ValueError:
    """The error of a part of the rows, with the number of the row among all rows."""

    def number(found: "re.Match[str]") -> str:
        row = int(found[1]) - 1 + first
        return f"row {(row if kept is None or row >= len(kept) else int(kept[row])) + 1}"

    return ValueError(re.sub(r"\brow (\d+)", number, str(error)))


def is_path(table: Any) -> bool:
    return isinstance(table, (str, os.PathLike))


def is_column(wanted: Any) -> bool:
    """Whether it is the name or the number of a column; names of pandas with several levels are tuples."""
    of_levels = isinstance(wanted, tuple) and any(isinstance(part, str) for part in wanted)
    return of_levels or isinstance(wanted, (str, int, np.integer))


def in_parts(rows: int, at_a_time: int) -> Iterator[slice]:
    """At least one, so that a table without rows is checked, too."""
    return (slice(first, first + at_a_time) for first in range(0, max(rows, 1), at_a_time))


def _is_arrow(table: Any) -> bool:
    return hasattr(table, "column_names") and hasattr(table, "num_columns")


def level(value: Any) -> str:
    """The text of a level: 7 and 7.0 are the same, as in files."""
    if isinstance(value, (float, np.floating)):
        return format(value, ".15g") if float(format(value, ".15g")) == value else format(value, ".17g")
    return str(value)


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, (float, np.floating)) and bool(value != value))


def _absent(column: Any) -> Any:
    """Where a column has no value: None, NaN, NA, NaT or masked."""
    values = as_array(column.to_pylist() if hasattr(column, "to_pylist") else column)
    masked = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else False
    plain = np.ma.getdata(values)
    if plain.dtype.kind in "fc":
        return np.isnan(plain) | masked
    if plain.dtype.kind in "mM":
        return np.isnat(plain) | masked
    if plain.dtype.kind == "O":
        return np.array([_is_missing(value) for value in plain.ravel()], dtype=bool).reshape(plain.shape) | masked
    return np.zeros(plain.shape, dtype=bool) | masked


def _only(values: Any, rows: Any) -> Any:
    """These rows of a column or a table of any package."""
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    if hasattr(values, "take") and not isinstance(values, np.ndarray):  # Arrow
        return values.take(rows)
    return values[rows] if hasattr(values, "shape") else as_array(values)[rows]


def _of_category(column: Any) -> Optional[Tuple[Array, List[str]]]:
    """Codes and levels of a column that is an ordered category in pandas or polars."""
    if str(getattr(column, "dtype", "")).startswith("Enum"):  # of polars
        return column.to_physical().cast(float).fill_null(-1.0).to_numpy(), [str(text) for text in column.dtype.categories]
    kind = getattr(column, "cat", column)
    if not (hasattr(kind, "codes") and hasattr(kind, "categories")):
        return None
    return np.asarray(kind.codes, dtype=np.float64), [level(value) for value in kind.categories]


def _texts(column: Any) -> List[Optional[str]]:
    """The values as texts of levels, None where they are missing."""
    values = np.asarray(column.to_pylist() if hasattr(column, "to_pylist") else column, dtype=object).ravel()
    return [None if _is_missing(value) else level(value) for value in values]


def _codes(texts: List[Optional[str]], levels: List[str]) -> Array:
    """-1 where the text is missing."""
    place: Dict[Optional[str], int] = {text: code for code, text in enumerate(levels)}
    return np.array([place.get(text, -1) for text in texts], dtype=np.float64)


def _as_category(column: Any, what: str) -> Tuple[Array, List[str]]:
    """The codes of a column, as doubles, and its levels: those of a category in their order, else sorted."""
    found = _of_category(column)
    if found is None:
        texts = _texts(column)
        levels = sorted({text for text in texts if text is not None})
        found = _codes(texts, levels), levels
    codes, levels = found
    if "" in levels:
        row = int(np.argmax(codes == levels.index(""))) + 1
        raise ValueError(f"{what}: the category of row {row} is an empty text; give it a name, such as 'none', or make it missing (None)")
    if len(codes) > 0 and codes.min() < 0:
        row = int(np.argmin(codes)) + 1
        raise ValueError(f"{what}: the category of row {row} is missing; fill it in, or leave such rows out by missing='drop'")
    return codes, levels


def _is_text(column: Any) -> bool:
    """Whether it holds texts, or what pandas calls a category. Texts that are all numbers are numbers, as in files."""
    if _of_category(column) is not None or str(getattr(column, "type", "")).startswith("dictionary"):
        return True
    values = np.asarray(column)
    if values.dtype.kind not in "UO" or values.size == 0:
        return values.dtype.kind == "T"
    if any(not isinstance(value, str) and not _is_missing(value) for value in values.ravel()):
        return False
    try:
        np.asarray([value for value in values.ravel() if isinstance(value, str)], dtype=np.float64)
    except ValueError:
        return True
    return False


def _beside(columns: List[Any], names: Optional[List[str]] = None, factors: Collection[int] = ()) -> "Table":
    """Columns as an array of doubles, each converted once. Texts, and the columns named here, become codes of levels."""
    values = np.empty((len(columns[0]) if columns else 0, len(columns)), order="F")
    levels = {}
    for j, column in enumerate(columns):
        what = f"column '{names[j]}'" if names else f"column {j + 1}"
        if j in factors or _is_text(column):
            values[:, j], levels[j] = _as_category(column, what)
        else:
            values[:, j] = as_doubles(column, what)
    return Table(values, names, levels)


#: The names of inputs that were given none: of arrays, and of files without a header.
_AUTOMATIC = re.compile("[xV][0-9]+")


def are_automatic(names: Iterable[str]) -> bool:
    return all(_AUTOMATIC.fullmatch(name) for name in names)


class Table(NamedTuple):
    """An array of two dimensions, not yet of doubles, a data frame or a list of columns, and the names of its columns if it has some.

    A frame becomes an array when columns are taken, so that the others may hold anything.
    """

    values: Any
    names: Optional[List[str]]
    levels: Mapping[int, List[str]] = {}  # of columns that are categories, whose values are codes

    @property
    def width(self) -> int:
        return len(self.names) if self.names is not None else int(self.values.shape[1])

    @property
    def rows(self) -> int:
        return len(self.values[0]) if isinstance(self.values, list) and self.values else len(self.values)

    def place(self, name: str) -> int:
        """The index of the one column with this name."""
        assert self.names is not None
        if self.names.count(name) > 1:
            raise ValueError(f"{self.names.count(name)} columns have the name '{name}'; rename them, or leave all but one out")
        return self.names.index(name)

    def only(self, rows: Any) -> "Table":
        """Only these rows."""
        values = [_only(column, rows) for column in self.values] if isinstance(self.values, list) else _only(self.values, rows)
        return Table(values, self.names, self.levels)

    def complete(self, places: List[int], y: Any, target: Any, given: Mapping[str, Any]) -> "Tuple[Table, Any, Dict[str, Any], Any]":
        """Drops the rows with a missing value in these columns, in y or the target, or in the given arrays. Returns all of them without
        these rows, and the numbers of the rows that remain, from 0. A warning says how many rows were dropped."""
        beside = {"the target": target if y is None else y, **given}
        columns = {what: self._as_it_is(self.find(column)) if is_column(column) else column for what, column in beside.items()}
        absent = np.zeros(self.rows, dtype=bool)
        for place in places:
            absent |= _absent(self._as_it_is(place))
        for what, column in columns.items():
            if column is not None:
                found = _absent(column)
                found = found.ravel() if found.ndim == 2 and found.shape[1] == 1 else found
                refuse_shape(found.shape, self.rows, COLUMNS.get(what, what))
                absent |= found
        if absent.all():
            raise ValueError(f"each of the {self.rows} rows has a missing value in a column that is used: no row is left")
        if absent.any():
            warn(f"dropped {absent.sum()} of {self.rows} rows, which have missing values")
        kept = np.flatnonzero(~absent)
        cut = {what: column if column is None or is_column(column) else _only(column, kept) for what, column in given.items()}
        return self.only(kept), None if y is None else _only(y, kept), cut, kept

    def name_target(self, y: Any, target: Any) -> Optional[str]:
        """The given name, or that of the column or the Series unless an input has the same name."""
        if y is not None:
            own = name_of(y)
            return str(target) if target is not None else None if own in (self.names or ()) else own
        return None if target is None or self.names is None else self.names[self.find(target)]

    def refuse_target_among(self, places: List[int], y: Any, target: Any) -> None:
        """The target must not be an input, by its place or, beside y, by its name."""
        name = self.name_target(y, target)
        of_y = y is not None and name is not None and name in [self.names[place] for place in places] if self.names is not None else False
        if of_y or (y is None and target is not None and self.find(target) in places):
            what = f"column '{name}'" if name is not None else f"column {target}"
            raise ValueError(f"{what} is the target and cannot be an input, too; leave it out of the inputs")

    def find(self, typed: Union[int, str]) -> int:
        """The index of a column, given by its name, its number from 1, or 'last', as in the command."""
        text = str(typed)
        if self.names is not None and text in self.names:
            return self.place(text)
        number = self.width if text == "last" else int(text) if text.isdecimal() else 0
        if 1 <= number <= self.width:
            return number - 1
        numbers = f"columns can be chosen by name in data frames and files only, by number (1 to {self.width}) in arrays"
        raise ValueError(f"there is no column '{text}'; {numbers if self.names is None else 'there are ' + ', '.join(self.names)}")

    def others(self, used: Iterable[Any]) -> List[int]:
        """Every column except those named here."""
        taken = [self.find(column) for column in used if is_column(column)]
        return [j for j in range(self.width) if j not in taken]

    def find_inputs(self, wanted: Sequence[str], used: Iterable[Any] = ()) -> List[int]:
        """The columns of these inputs: by name if both sides have names, otherwise all unused columns in order."""
        if self.names is None:
            return self.others(used)
        missing = [name for name in wanted if name not in self.names]
        if not missing:
            return [self.place(name) for name in wanted]
        places, there = self.others(used), f"there are {', '.join(self.names)}"
        if len(missing) < len(wanted) or not are_automatic(wanted):
            quoted = ", ".join(f"'{name}'" for name in missing)
            which = f"there is no column {quoted}" if len(missing) == 1 else f"there are no columns {quoted}"
            advice = "give the columns the names of the model's inputs, or give an array of them in this order: " + ", ".join(wanted)
            raise ValueError(f"{which}; {there}; {advice}")
        if len(places) != len(wanted):
            inputs = f"the model's inputs have no names, so that its {len(wanted)} are taken in order"
            raise ValueError(f"{inputs}, and {len(places)} columns could be inputs; {there}; give only the inputs")
        return places

    def take(self, places: List[int], rows: slice = slice(None), factors: Collection[int] = ()) -> "Table":
        """These columns, as an array; not copied if it is one already and all columns are wanted. Categories are texts and the factors,
        which are places of this table."""
        names = None if self.names is None else [self.names[j] for j in places]
        chosen_factors = {j for j, place in enumerate(places) if place in factors}
        if _is_arrow(self.values):
            return _beside([_of_arrow(self.values.column(j)[rows]) for j in places], names, chosen_factors)
        if isinstance(self.values, list):
            return _beside([self.values[j][rows] for j in places], names, chosen_factors)
        table = self.values.iloc if hasattr(self.values, "iloc") else self.values
        chosen = table[rows] if places == list(range(self.width)) else table[rows, places]
        if not isinstance(chosen, np.ndarray):
            return _frame_values(chosen, names, chosen_factors)
        levels = {j: self.levels[place] for j, place in enumerate(places) if place in self.levels}
        if chosen_factors.difference(levels):
            made = _beside([chosen[:, j] for j in range(len(places))], names, chosen_factors.difference(levels))
            return Table(made.values, names, {**made.levels, **levels})
        return Table(chosen, names, levels)

    def with_levels(self, names: List[str], known: Mapping[str, List[str]]) -> "Table":
        """With these names, and with the codes that the levels have elsewhere; those that are not known there come last."""
        if not self.levels:
            return Table(self.values, names)
        values, levels = np.array(as_doubles(self.values), order="F"), dict(self.levels)
        for j, texts in self.levels.items():
            levels[j] = [*known.get(names[j], []), *(text for text in texts if text not in known.get(names[j], []))]
            values[:, j] = np.array([levels[j].index(text) for text in texts], dtype=np.float64)[values[:, j].astype(int)]
        return Table(values, names, levels)

    def target(self, y: Any, name: Any, classes: "Optional[Classes]" = None) -> Tuple[Optional[Array], List[str]]:
        """The values of y or, without it, those of the column of that name or number. For classes: their codes, and the classes."""
        if y is None and name is None:
            return None, []
        values = self._as_it_is(self.find(name)) if y is None else y
        refuse_other_order(self.values, values, "the target")
        coded = None if classes is None else classes.of(values)
        if coded is None:
            return self.column(name, "the target") if y is None else self._given(y, "the target"), []
        return as_column(coded[0], self.rows, "the target"), coded[1]

    def _as_it_is(self, place: int) -> Any:
        """The column, not yet of doubles."""
        if _is_arrow(self.values):
            return _of_arrow(self.values.column(place))
        if isinstance(self.values, list):
            return self.values[place]
        return self.values.iloc[:, place] if hasattr(self.values, "iloc") else self.values[:, place]

    def column(self, wanted: Any, what: str) -> Optional[Array]:
        """One value for each row: those of an array, or those of the column of that name or number."""
        if not is_column(wanted):
            return self._given(wanted, what)
        place = self.find(wanted)
        own = f"column '{self.names[place]}'" if self.names is not None else f"column {place + 1}"
        return as_column(self._as_it_is(place), self.rows, f"{what}, {own}")

    def _given(self, values: Any, what: str) -> Optional[Array]:
        refuse_other_order(self.values, values, what)
        return as_column(values, self.rows, what)


#: Likelihoods whose answers are classes, which may be texts.
_OF_CLASSES = ("bernoulli-logit", "bernoulli-probit", "ordinal")
#: More classes than these are not listed in a sentence.
_LISTED = 8


def _shown(levels: Sequence[str]) -> str:
    return ", ".join(levels[:_LISTED]) + (" ..." if len(levels) > _LISTED else "")


def _rank(text: str) -> Tuple[bool, float, str]:
    """The order of a file's classes: numbers first, by their values, then texts."""
    value = ctypes.c_double()
    number = bool(lib.oatgp_is_number(text.encode(), ctypes.byref(value)))
    return not number, value.value if number else 0.0, text


class Classes(NamedTuple):
    """How a target is converted to codes of classes: by known classes, or by the rules of the likelihood."""

    likelihood: str
    known: List[str]

    @classmethod
    def wanted(cls, likelihood: Optional[str], known: Optional[Sequence[Any]]) -> "Optional[Classes]":
        """None if the target must be numbers."""
        if known is None and likelihood not in _OF_CLASSES:
            return None
        return cls(likelihood or "", [] if known is None else [level(value) for value in known])

    def of(self, values: Any) -> Optional[Tuple[Array, List[str]]]:
        """Codes and classes; None for numbers that are not classes. Numbers may be codes of known classes."""
        values = as_array(values) if isinstance(values, (list, tuple)) else values
        refuse_masked(values, "the target", BY_DROPPING)
        numbers = not self._are_named(values)
        if numbers and not self.known:
            return None
        texts = _texts(values)
        levels = self.known or self._found(values, texts)
        codes = _codes(texts, levels)
        if len(codes) > 0 and codes.min() < 0:
            if numbers:
                return None
            self._refuse(int(np.argmin(codes)), texts, levels)
        return codes, levels

    def _are_named(self, values: Any) -> bool:
        """Whether they are texts, a category or truth values."""
        kinds = np.asarray(values).dtype
        truth = kinds.kind == "b" or (kinds == object and any(isinstance(value, (bool, np.bool_)) for value in np.asarray(values).ravel()))
        return truth or _is_text(values)

    def _found(self, values: Any, texts: List[Optional[str]]) -> List[str]:
        """The classes of a category in their order, otherwise sorted. If two are needed and the category has more, those that occur."""
        ranked = _of_category(values)
        there = {text for text in texts if text is not None}
        levels = sorted(there, key=_rank) if ranked is None else ranked[1]
        if self.likelihood == "ordinal":
            return levels
        levels = levels if len(levels) == 2 else [level for level in levels if level in there]
        if len(levels) != 2:
            number = f"{len(levels)} classes" if len(levels) > 1 else "one class"
            raise ValueError(f"the target has {number} ({_shown(levels)}), and likelihood {self.likelihood} needs two")
        return levels

    def _refuse(self, row: int, texts: List[Optional[str]], levels: List[str]) -> None:
        if texts[row] is None:
            raise ValueError(f"the target: the class of row {row + 1} is missing; leave such rows out by missing='drop'")
        raise ValueError(f"the target: row {row + 1} is '{texts[row]}', which is not one of the classes {_shown(levels)}")


def _of_arrow(column: Any) -> Any:
    """Keeps dictionary-encoded columns, and converts all others to arrays."""
    return column if str(column.type).startswith("dictionary") else column.to_numpy(zero_copy_only=False)


def _frame_values(frame: Any, names: Optional[List[str]], factors: Collection[int] = ()) -> Table:
    """The values of a frame of pandas or polars: at once if all are numbers of one type, otherwise column by column, so that errors name
    the column."""
    values = frame.to_numpy() if len(set(map(str, frame.dtypes))) == 1 and not factors else None
    if values is not None and values.dtype.kind in "fiub":
        return Table(values, names)
    columns = [frame.iloc[:, j] if hasattr(frame, "iloc") else frame[:, j] for j in range(frame.shape[1])]
    return _beside(columns, names, factors)


#: Packages whose tables may be lazy, and the method, which the others of their tables lack, that gets the rows.
_LAZY = {"polars": "collect", "dask": "compute", "pyspark": "toPandas", "duckdb": "arrow", "ibis": "to_pyarrow", "pyarrow": "to_table"}


def refuse_lazy(table: Any) -> None:
    package = type(table).__module__.partition(".")[0]
    method = _LAZY.get(package)
    if method is not None and hasattr(table, method):
        kind = f"{package}.{type(table).__name__}"
        raise ValueError(f"the inputs are a lazy frame ({kind}), whose rows are not in memory yet: get them by .{method}()")


def refuse_sparse(values: Any, what: str) -> None:
    package = type(values).__module__.partition(".")[0]
    if package in ("scipy", "sparse", "torch", "cupyx") and getattr(values, "is_sparse", hasattr(values, "nnz")):
        method = {"sparse": "todense", "torch": "to_dense"}.get(package, "toarray")
        raise ValueError(f"{what}: sparse matrices ({package}.{type(values).__name__}) are not supported; make it dense by .{method}()")


def as_table(table: Any) -> Table:
    if isinstance(table, Table):
        return table
    refuse_lazy(table)
    refuse_sparse(table, "the inputs")
    if _is_arrow(table):
        return Table(table, [str(name) for name in table.column_names])
    if hasattr(table, "columns") and hasattr(table, "to_numpy"):
        return Table(table, [str(name) for name in table.columns])
    if hasattr(table, "to_frame") and name_of(table) is not None:  # a Series
        return as_table(table.to_frame())
    if isinstance(table, Mapping):
        return _of_columns(table)
    values = table if isinstance(table, np.ndarray) else as_array(table)
    if values.dtype == object and values.ndim == 1 and len(values) > 0 and isinstance(values[0], Mapping):
        raise ValueError("the inputs are a list of dicts; pandas.DataFrame(rows) makes a table of them")
    if values.dtype.names is not None:
        return _of_columns({name: values[name] for name in values.dtype.names})
    if values.ndim == 0:
        kind = type(table).__name__
        raise ValueError(f"the inputs are of the type {kind}; an array, a data frame, a dict of columns or a sequence of rows is needed")
    if values.ndim == 1:
        values = values.reshape(-1, 1)
    if values.ndim != 2:
        raise ValueError(f"the inputs have {values.ndim} dimensions; they must have 2: rows and inputs")
    return Table(values, None)


def _of_columns(columns: Mapping[Any, Any]) -> Table:
    arrays = [as_array(column) for column in columns.values()]
    for name, column in zip(columns, arrays):
        if column.ndim != 1 or len(column) != len(arrays[0]):
            first = f"the first {arrays[0].shape}"
            raise ValueError(f"column '{name}' has the shape {column.shape}, {first}; columns have one value for each row")
    return Table(arrays, [str(name) for name in columns])


def _refuse_ragged(rows: Sequence[Any], what: str) -> None:
    """Rows of different lengths."""
    lengths = [len(row) if hasattr(row, "__len__") and not isinstance(row, str) else None for row in rows]
    odd = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
    if odd is not None:
        first, other = ("1 number" if length is None else f"the length {length}" for length in (lengths[0], lengths[odd]))
        raise ValueError(f"{what}: rows must have the same length; row 1 has {first}, row {odd + 1} has {other}")


def _of_times(array: Any) -> Optional[str]:
    """What first makes times of pandas out of a column of dates or times, if it is needed; None for other values."""
    if array.dtype != object:
        return "" if array.dtype.kind in "mM" else None
    first = next((value for value in array.ravel() if not _is_missing(value)), None)
    if type(first).__name__ == "Period":
        return "column = column.dt.to_timestamp(); "
    if isinstance(first, datetime.timedelta):
        return "column = pandas.to_timedelta(column); "
    return "column = pandas.to_datetime(column); " if isinstance(first, datetime.date) else None


def _refuse_times(array: Any, what: str) -> None:
    before = _of_times(array)
    if before is not None:
        days = f"{before}(column - column.min()) / numpy.timedelta64(1, 'D')"
        raise ValueError(f"{what}: dates and times are not numbers; convert them, for example to days since the first: {days}")


def as_array(values: Any, what: str = "the inputs") -> Any:
    """Masked arrays, and rows that are masked arrays, stay masked. The missing values of pandas' own types become NaN."""
    parts = values if isinstance(values, (list, tuple)) else [values]
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        return np.ma.asarray(values)
    try:
        array = np.asarray(values)
    except ValueError:
        _refuse_ragged(parts, what)
        raise
    if array.dtype != object or not hasattr(values, "iloc") or values.ndim != 1 or _of_times(array) is not None:
        return array
    try:
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError, OverflowError):  # not numbers; the caller reports it if it needs numbers
        return array


def coded(frame: Any) -> Optional[Table]:
    """A data frame with text or category columns, which are replaced by codes; None for every other table. For the estimators, which cannot
    drop rows."""
    refuse_lazy(frame)
    if not (hasattr(frame, "columns") or _is_arrow(frame)):
        return None
    table = as_table(frame)
    columns = [table._as_it_is(j) for j in range(table.width)]
    if not any(_is_text(column) or _is_odd(column) for column in columns):
        return None
    try:
        return table.take(list(range(table.width)))
    except ValueError as error:
        raise ValueError(str(error).replace(BY_DROPPING, "")) from None


def _is_odd(column: Any) -> bool:
    """Whether it holds dates, complex numbers or other objects, which are refused by the name of the column."""
    array = as_array(column)
    return array.dtype.kind == "c" or _of_times(array) is not None or (array.dtype == object and bool(no_number(array)))


def refuse_other_order(table: Any, column: Any, what: str) -> None:
    """Checks the labels of pandas rows: the same labels in a different order mean that the rows do not match."""
    if not (hasattr(table, "iloc") and hasattr(column, "iloc")) or table.index.equals(column.index):
        return
    mine, its = table.index, column.index
    if len(mine) == len(its) and mine.is_unique and its.is_unique and mine.isin(its).all():
        raise ValueError(
            f"{what}: the index is that of the inputs in another order; put the values into theirs by .loc[X.index], or give them as "
            ".to_numpy() if rows belong together as they are"
        )


def refuse_masked(values: Any, what: str, how: str = "") -> None:
    """Masked values count as missing and are refused like NaN. how: the way to leave rows out, such as " by missing='drop'"."""
    if not isinstance(values, np.ma.MaskedArray) or not np.ma.is_masked(values):
        return
    mask = np.ma.getmaskarray(values)
    first = np.argwhere(mask)[0] + 1
    place = f"row {first[0]}" + (f", column {first[1]}" if len(first) > 1 else "")
    count = "1 value is masked, in" if mask.sum() == 1 else f"{mask.sum()} values are masked, the first in"
    raise ValueError(f"{what}: {count} {place}; fill the values in, or leave such rows out{how}")


#: How the functions of this package leave rows out; the estimators for scikit-learn cannot.
BY_DROPPING = " by missing='drop'"


def no_number(values: Any) -> str:
    """The first value that is not a number, and its position; empty if there is none."""
    for place in np.ndindex(values.shape):
        try:
            float(values[place])
        except (TypeError, ValueError):
            column = f", column {place[1] + 1}," if len(place) > 1 else ""
            value = str(values[place]) if isinstance(values[place], str) else values[place]
            return f"row {place[0] + 1}{column} is {value!r}"
        except OverflowError:
            return ""
    return ""


def _remedy(values: Any, what: str) -> str:
    """Advice for a column or a table that holds anything but numbers."""
    if what.startswith("the target"):
        return f"classes need likelihood=, one of {', '.join(_OF_CLASSES)}"
    if values.ndim > 1:
        return "texts are categories in a data frame or a dict of columns"
    return ".astype(str) makes a category of the column; pandas.to_numeric(column, errors='coerce') makes numbers, and NaN where it cannot"


def as_doubles(values: Any, what: str = "the inputs") -> Array:
    """The same array if it is one of doubles that lie at whole steps forwards, else a copy."""
    refuse_sparse(values, what)
    values = as_array(values, what)
    refuse_masked(values, what, BY_DROPPING)
    if np.iscomplexobj(values):
        raise ValueError(f"{what}: complex numbers are not supported; give .real and .imag as two columns")
    _refuse_times(values, what)
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{what}: {no_number(values) or error}; every value must be a number; {_remedy(values, what)}") from error
    if values.dtype.kind in "iu" and values.size > 0 and max(int(values.max()), -int(values.min())) > 2**53:
        sentence = "whole numbers beyond 2^53 are rounded, and those that differ may become the same; subtract the smallest one before"
        warn(f"{what}: {sentence}")
    usable = array.flags.aligned and all(step >= 0 and step % 8 == 0 for step in array.strides)
    return array if usable else np.ascontiguousarray(array)


def as_column(values: Any, rows: int, what: str) -> Optional[Array]:
    if values is None:
        return None
    column = np.ascontiguousarray(as_doubles(values, what))
    if column.ndim == 2 and column.shape[1] == 1:
        column = column.ravel()
    refuse_shape(column.shape, rows, what)
    return column


def refuse_shape(shape: Tuple[int, ...], rows: int, what: str) -> None:
    if shape != (rows,):
        raise ValueError(f"{what} of shape {shape} for {rows} rows: one value for each row is needed")


def name_of(y: Any) -> Optional[str]:
    """The name of a Series, or of the column of a frame with one column."""
    name = y.columns[0] if getattr(y, "columns", None) is not None and len(y.columns) == 1 else getattr(y, "name", None)
    return name if isinstance(name, str) and name else None


#: What rows can have beside inputs and target, in the words of sentences.
COLUMNS = {"weights": "weights", "noise_variance": "noise variances", "trials": "trials", "exposure": "exposures"}


#: The settings of reading a file.
_OF_READ = (*OF_FILES, "likelihood", "threads", "memory")


class Data:
    """Rows for a fit or a prediction.

    Arrays of doubles are not copied, whatever their strides, unless a stride is negative; they must not change while the data are in use.
    Every function that takes ``X`` also takes a ``Data``, so that a table is converted only once.

    Parameters
    ----------
    X : array, memory map, data frame (pandas, polars), Arrow table, dict of columns, structured array or sequence of rows
        The inputs, one row each; a sequence of numbers is one input.
    y : array, optional
        The target.
    target : str or int, optional
        Without ``y``: the column that is the target, by its name, its number (from 1) or as ``"last"``. With ``y``: its name, which is that of
        the Series unless it is given.
    inputs : str or sequence, optional
        The columns that are inputs, as ``["a", "b"]`` or ``"a,b"`` (default: all others). The other columns may hold anything.
        Inputs of text, and categories of pandas, are categories: each level has its own curve.
    factors : str or sequence, optional
        Inputs that are categories although they hold numbers.
    weights, noise_variance : array, str or int, optional
        For each row, a weight (its noise variance is tau^2 / weight; with a likelihood other than the Gaussian, how often it counts) or a
        known noise variance that is added to tau^2; or the column.
    names : sequence of str, optional
        Names of the inputs (default: those of the data frame, else x1, x2, ...).
    trials, exposure : array, str or int, optional
        For each row, the number of trials in which the target counts the successes, or the factor of its expected value; or the column.
    likelihood : str, optional
        The likelihood of the fit, if the target has classes: with ``bernoulli-*`` and ``ordinal``, the target may hold texts, truth values
        or a category.
    classes : sequence, optional
        The classes of such a target in their order (default: that of an ordered category, else sorted).
    missing : {"error", "drop"}, default "error"
        What to do with rows that have a missing value (NaN, None, NA or a masked one) in a column that is used: they are refused, or left out
        with a warning that says how many.

    >>> data = Data([[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0])
    >>> len(data), data.inputs
    (2, ['x1', 'x2'])
    >>> Data({"x": [1.0, 2.0, 3.0], "group": ["b", "a", "b"]}).levels
    {'group': ['a', 'b']}
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        target: Optional[Union[int, str]] = None,
        inputs: Optional[Union[str, Sequence[Union[int, str]]]] = None,
        weights: Any = None,
        noise_variance: Any = None,
        names: Optional[Sequence[str]] = None,
        factors: Optional[Union[str, Sequence[Union[int, str]]]] = None,
        trials: Any = None,
        exposure: Any = None,
        likelihood: Optional[Union[str, Likelihood]] = None,
        classes: Optional[Sequence[Any]] = None,
        missing: Literal["error", "drop"] = "error",
    ) -> None:
        if isinstance(y, str):
            raise ValueError(f"y is the text '{y}'; the name of the target's column is given by target='{y}'")
        table = as_table(X) if names is None else _named(as_table(X), [str(name) for name in names])
        given = {"weights": weights, "noise_variance": noise_variance, "trials": trials, "exposure": exposure}
        others = table.others((target if y is None else None, *given.values()))
        categories = [table.find(name) for name in _listed(factors)]
        places = others if inputs is None else [table.find(name) for name in _listed(inputs)]
        places = [*places, *(place for place in categories if place not in places)]
        if not places and table.names:
            raise ValueError(f"no column is left for the inputs; there are {', '.join(table.names)}")
        table.refuse_target_among(places, y, target)
        kept = None
        if drops(missing):
            table, y, given, kept = table.complete(places, y, target, given)
        likelihood = likelihood.name if isinstance(likelihood, Likelihood) else likelihood
        try:
            chosen = table.take(places, factors=categories)
            self._x = as_doubles(chosen.values)
            self._y, levels = table.target(y, target, Classes.wanted(likelihood, classes))
            columns = {role: table.column(values, COLUMNS[role]) for role, values in given.items()}
            self._fill(chosen, table.name_target(y, target), levels, columns)
        except ValueError as error:
            raise error if kept is None else counted_from(0, error, kept) from None

    def _fill(self, chosen: Table, target: Optional[str], target_levels: List[str], columns: Mapping[str, Optional[Array]]) -> None:
        self.handle = Handle("data")
        with Call() as call:
            try:
                self._borrow(call, chosen.names, target)
            except ValueError as error:
                raise _with_names(error, chosen.names) from None
            for j, texts in chosen.levels.items():
                call("oatgp_data_set_levels", self.handle, j, len(texts), _encoded(texts))
            if target_levels:
                call("oatgp_data_set_target_levels", self.handle, len(target_levels), _encoded(target_levels))
            for role, values in columns.items():
                if values is not None:
                    call(f"oatgp_data_set_{role}", self.handle, address(values))

    def _borrow(self, call: Call, names: Optional[Sequence[str]], target: Optional[str]) -> None:
        (n, d), (row_step, input_step) = self._x.shape, (step // 8 for step in self._x.strides)
        view = abi.oatgp_view(n, d, address(self._x), address(self._y), row_step, input_step)
        call("oatgp_data_borrow", ctypes.byref(view), self.handle.out)
        if names is not None or target is not None:
            shown = names if names is not None else [f"x{j + 1}" for j in range(d)]
            call("oatgp_data_set_names", self.handle, _encoded(shown), target.encode() if target is not None else None)

    @classmethod
    def _of(cls, handle: Handle) -> "Data":
        data = cls.__new__(cls)
        data.handle = handle
        return data

    @classmethod
    def read(cls, path: Any, *, progress: ProgressLike = None, **settings: Unpack[Settings]) -> "Data":
        """Reads CSV or TSV, plain or gzip, or .npy, as the command does: ``target``, ``inputs``, ``factors``, ``weights``, ``noise_variance``,
        ``trials``, ``exposure``, ``likelihood``, ``header``, ``missing``, ``threads`` and ``memory`` are its options. The rows of an .npy file
        that need more than ``memory`` stay in the file, which must not change while they are used; ``'part-*.npy'`` are several files."""
        check_names("Data.read", settings, _OF_READ)
        handle, text, struct = Handle("data"), os.fspath(path), SettingsStruct("fit", plain(settings))
        with Call(threads=int(struct.struct.threads), progress=progress) as call:
            call("oatgp_data_read", os.fsencode(text), struct.by_reference, handle.out, path=text)
        return cls._of(handle)

    def __len__(self) -> int:
        return int(lib.oatgp_data_rows(self.handle))

    @property
    def inputs(self) -> List[str]:
        """Names of the inputs."""
        count = lib.oatgp_data_inputs(self.handle)
        return [decode(lib.oatgp_data_input_name(self.handle, j)) for j in range(count)]

    @property
    def levels(self) -> Mapping[str, List[str]]:
        """The levels of the inputs that are categories. Their columns of ``X`` hold codes: 0 for the first, and so on."""
        found = {}
        for j, name in enumerate(self.inputs):
            count = lib.oatgp_data_level_count(self.handle, j)
            if count > 0:
                found[name] = [decode(lib.oatgp_data_level(self.handle, j, i)) for i in range(count)]
        return found

    @property
    def classes(self) -> List[str]:
        """The classes of the target, whose values are codes: 0 for the first, and so on; empty if it holds numbers."""
        count = lib.oatgp_data_target_level_count(self.handle)
        return [decode(lib.oatgp_data_target_level(self.handle, i)) for i in range(count)]

    def _column(self, column: int) -> Array:
        values = np.empty(len(self))
        with Call() as call:
            call("oatgp_data_copy_column", self.handle, column, address(values))
        return values

    @property
    def X(self) -> Array:
        """A copy of the inputs, as rows."""
        return np.column_stack([self._column(j) for j in range(len(self.inputs))])

    @property
    def y(self) -> Optional[Array]:
        """A copy of the target, or None if there is none; of classes, their codes."""
        return self._of_role("target")

    def _of_role(self, role: str) -> Optional[Array]:
        """A copy of what is not an input: target, weights, noise variance, trials or exposure."""
        places = range(lib.oatgp_data_columns(self.handle))
        return next((self._column(j) for j in places if lib.oatgp_data_column_role(self.handle, j) == role.encode()), None)

    def __repr__(self) -> str:
        return f"<oatgp.Data: {len(self)} rows, inputs {', '.join(self.inputs)}>"


def drops(missing: str) -> bool:
    """Whether rows with missing values are left out."""
    if missing not in ("error", "drop"):
        raise ValueError(f"missing is {missing!r} but must be one of error, drop")
    return missing == "drop"


def _with_names(error: ValueError, names: Optional[Sequence[str]]) -> ValueError:
    """The error of a value, with the name of its column, and advice if it is missing."""
    sentence = str(error)
    if names is not None:
        sentence = re.sub(r"\binput (\d+) of row", lambda found: f"input '{names[int(found[1]) - 1]}' of row", sentence)
    missing = re.fullmatch(r"(.* of row \d+ is) -?nan; .*", sentence)
    return ValueError(sentence if missing is None else f"{missing[1]} nan; fill the value in, or leave such rows out by missing='drop'")


def _encoded(texts: Sequence[str]) -> Any:
    return (ctypes.c_char_p * len(texts))(*(text.encode() for text in texts))


def _listed(names: Optional[Union[str, Sequence[Union[int, str]]]]) -> Sequence[Union[int, str]]:
    """Of columns: a sequence, or a text with commas."""
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else [] if names is None else names


def _named(table: Table, names: List[str]) -> Table:
    if len(names) != table.width:
        raise ValueError(f"{len(names)} names for {table.width} inputs")
    return Table(table.values, names, table.levels)
