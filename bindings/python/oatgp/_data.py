"""Tables of numbers on their way to the library: arrays, data frames, Arrow tables and files."""

from __future__ import annotations

import ctypes
import os
import re
import warnings
from typing import TYPE_CHECKING, Any, Collection, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _abi as abi
from ._library import Call, Handle, OatgpWarning, SettingsStruct, address, decode, lib

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._library import Array
    from ._settings import Settings

#: A multiple of 512, so that rows predicted in parts have the bits of all rows at once.
ROWS_AT_A_TIME = 65536


def counted_from(first: int, error: ValueError) -> ValueError:
    """The error of a part of the rows, with the number that the row has among all."""
    return ValueError(re.sub(r"\brow (\d+)", lambda found: f"row {int(found[1]) + first}", str(error)))


def is_path(table: Any) -> bool:
    return isinstance(table, (str, os.PathLike))


def is_column(wanted: Any) -> bool:
    """Whether it is the name or the number of a column."""
    return isinstance(wanted, (str, int, np.integer))


def in_parts(rows: int, at_a_time: int) -> Iterator[slice]:
    """At least one, so that a table without rows is looked at, too."""
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


def _of_category(column: Any) -> Optional[Tuple[Array, List[str]]]:
    """Codes and levels of a column that is a category with an order of its own, in pandas or polars."""
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
    if len(codes) > 0 and codes.min() < 0:
        raise ValueError(f"{what}: the category of row {int(np.argmin(codes)) + 1} is missing; leave such rows out, or fill the values in")
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
    """Columns as an array of doubles, each converted once. Texts, and those of the columns that are named here, become codes of levels."""
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
        """Of the one column that has this name."""
        assert self.names is not None
        if self.names.count(name) > 1:
            raise ValueError(f"{self.names.count(name)} columns have the name '{name}'; rename them, or leave all but one out")
        return self.names.index(name)

    def find(self, typed: Union[int, str]) -> int:
        """The place of a column: by its name, else its number from 1, or 'last', as in the command."""
        text = str(typed)
        if self.names is not None and text in self.names:
            return self.place(text)
        number = self.width if text == "last" else int(text) if text.isdecimal() else 0
        if 1 <= number <= self.width:
            return number - 1
        numbers = f"columns can be chosen by name in data frames and files only, by number (1 to {self.width}) in arrays"
        raise ValueError(f"there is no column '{text}'; {numbers if self.names is None else 'there are ' + ', '.join(self.names)}")

    def others(self, used: Iterable[Any]) -> List[int]:
        """Every column but those that are named here."""
        taken = [self.find(column) for column in used if is_column(column)]
        return [j for j in range(self.width) if j not in taken]

    def find_inputs(self, wanted: Sequence[str], used: Iterable[Any] = ()) -> List[int]:
        """The columns of these inputs. Names decide where both sides have some; else all columns that are not used, in order."""
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
            raise ValueError(f"{inputs}, and {len(places)} columns could be inputs; {there}; give the inputs alone")
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
        if chosen_factors:
            return _beside([chosen[:, j] for j in range(len(places))], names, chosen_factors)
        return Table(chosen, names, {j: self.levels[place] for j, place in enumerate(places) if place in self.levels})

    def target(self, y: Any, name: Any, classes: "Optional[Classes]" = None) -> Tuple[Optional[Array], List[str]]:
        """The values of y, or without it those of the column of that name or number; of classes their codes, and the classes."""
        if isinstance(y, str):
            raise ValueError(f"y is the text '{y}'; the name of the target's column is given by target=")
        if y is None and name is None:
            return None, []
        values = self._as_it_is(self.find(name)) if y is None else y
        refuse_other_order(self.values, values, "a target")
        coded = None if classes is None else classes.of(values)
        if coded is None:
            return self.column(name, "a target") if y is None else self._given(y, "a target"), []
        return as_column(coded[0], self.rows, "a target"), coded[1]

    def _as_it_is(self, place: int) -> Any:
        """The column, not yet of doubles."""
        if _is_arrow(self.values):
            return _of_arrow(self.values.column(place))
        if isinstance(self.values, list):
            return self.values[place]
        return self.values.iloc[:, place] if hasattr(self.values, "iloc") else self.values[:, place]

    def column(self, wanted: Any, what: str) -> Optional[Array]:
        """One value for each row: those of an array, or those of the column of that name or number."""
        return as_column(self.take([self.find(wanted)]).values, self.rows, what) if is_column(wanted) else self._given(wanted, what)

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
    """How a target becomes codes of classes: by those that are known, or as the likelihood has it."""

    likelihood: str
    known: List[str]

    @classmethod
    def wanted(cls, likelihood: Optional[str], known: Optional[Sequence[Any]]) -> "Optional[Classes]":
        """None where a target can be numbers alone."""
        if known is None and likelihood not in _OF_CLASSES:
            return None
        return cls(likelihood or "", [] if known is None else [level(value) for value in known])

    def of(self, values: Any) -> Optional[Tuple[Array, List[str]]]:
        """Codes and classes; None for numbers that are no classes. Numbers may be codes of classes that are known."""
        values = as_array(values) if isinstance(values, (list, tuple)) else values
        refuse_masked(values, "a target")
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
        """Those of a category in their order, else sorted. Of two classes, those that occur if there are more."""
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
            raise ValueError(f"a target: the class of row {row + 1} is missing; leave such rows out")
        raise ValueError(f"a target: row {row + 1} is '{texts[row]}', which is none of the classes {_shown(levels)}")


def _of_arrow(column: Any) -> Any:
    """Levels of a dictionary stay what they are; all else becomes an array."""
    return column if str(column.type).startswith("dictionary") else column.to_numpy(zero_copy_only=False)


def _frame_values(frame: Any, names: Optional[List[str]], factors: Collection[int] = ()) -> Table:
    """Of pandas or polars: as they are if they are numbers of one type, else column by column, for one that is odd to be named."""
    values = frame.to_numpy() if len(set(map(str, frame.dtypes))) == 1 and not factors else None
    if values is not None and values.dtype.kind in "fiub":
        return Table(values, names)
    columns = [frame.iloc[:, j] if hasattr(frame, "iloc") else frame[:, j] for j in range(frame.shape[1])]
    return _beside(columns, names, factors)


def as_table(table: Any) -> Table:
    if isinstance(table, Table):
        return table
    if _is_arrow(table):
        return Table(table, [str(name) for name in table.column_names])
    if hasattr(table, "columns") and hasattr(table, "to_numpy"):
        return Table(table, [str(name) for name in table.columns])
    if isinstance(table, Mapping):
        return _of_columns(table)
    values = table if isinstance(table, np.ndarray) else as_array(table)
    if values.dtype.names is not None:
        return _of_columns({name: values[name] for name in values.dtype.names})
    if values.ndim == 0:
        kind = "a sparse matrix: make it dense by .toarray()" if hasattr(table, "toarray") else f"of the type {type(table).__name__}"
        raise ValueError(f"the inputs are {kind}; an array, a data frame, a dict of columns or a sequence of rows is needed")
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


def as_array(values: Any) -> Any:
    """A masked array stays one, as do rows that are masked arrays. The missing values of pandas' own types become NaN."""
    parts = values if isinstance(values, (list, tuple)) else [values]
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        return np.ma.asarray(values)
    array = np.asarray(values)
    if array.dtype != object or not hasattr(values, "iloc") or values.ndim != 1:
        return array
    try:
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError, OverflowError):  # no numbers; who needs them says so
        return array


def refuse_other_order(table: Any, column: Any, what: str) -> None:
    """Rows of pandas have labels: the same ones in another order are rows in another order."""
    if not (hasattr(table, "iloc") and hasattr(column, "iloc")) or table.index.equals(column.index):
        return
    mine, its = table.index, column.index
    if len(mine) == len(its) and mine.is_unique and its.is_unique and mine.isin(its).all():
        raise ValueError(
            f"{what}: the index is that of the inputs in another order; put the values into theirs by .loc[X.index], or give them as "
            ".to_numpy() if rows belong together as they are"
        )


def refuse_masked(values: Any, what: str) -> None:
    """Masked values are missing ones, and are refused as NaN is."""
    if not isinstance(values, np.ma.MaskedArray) or not np.ma.is_masked(values):
        return
    mask = np.ma.getmaskarray(values)
    first = np.argwhere(mask)[0] + 1
    place = f"row {first[0]}" + (f", column {first[1]}" if len(first) > 1 else "")
    raise ValueError(f"{what}: {mask.sum()} values are masked, the first in {place}; leave such rows out, or fill the values in")


def as_doubles(values: Any, what: str = "the inputs") -> Array:
    """The same array if it is one of doubles that lie at whole steps forwards, else a copy."""
    values = as_array(values)
    refuse_masked(values, what)
    if np.iscomplexobj(values):
        raise ValueError("Complex data not supported: the numbers must be real")
    if values.dtype.kind in "mM":
        raise ValueError(f"{what}: dates and times are no numbers; make numbers of them, such as days since the first")
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{what}: {error}; every value must be a number") from error
    if values.dtype.kind in "iu" and values.size > 0 and max(int(values.max()), -int(values.min())) > 2**53:
        sentence = "whole numbers beyond 2^53 are rounded, and those that differ may become the same; subtract the smallest one before"
        warnings.warn(f"{what}: {sentence}", OatgpWarning, stacklevel=2)
    usable = array.flags.aligned and all(step >= 0 and step % 8 == 0 for step in array.strides)
    return array if usable else np.ascontiguousarray(array)


def as_column(values: Any, rows: int, what: str) -> Optional[Array]:
    if values is None:
        return None
    column = np.ascontiguousarray(as_doubles(values, what))
    if column.ndim == 2 and column.shape[1] == 1:
        column = column.ravel()
    if column.shape != (rows,):
        raise ValueError(f"{what} of shape {column.shape} for {rows} rows: one value for each row is needed")
    return column


#: What rows can have beside inputs and target, in the words of sentences.
COLUMNS = {"weights": "weights", "noise_variance": "noise variances", "trials": "trials", "exposure": "exposures"}


class Data:
    """Rows for a fit or a prediction.

    Arrays of doubles are not copied, whatever their order and steps, but for backward ones; they must not change while the data are in use.
    Everything that takes ``X`` takes one of these, too, so that a table is looked at once.

    Parameters
    ----------
    X : array, memory map, data frame (pandas, polars), Arrow table, dict of columns, structured array or sequence of rows
        The inputs, one row each; a sequence of numbers is one input.
    y : array, optional
        The target.
    target : str or int, optional
        Without ``y``: the column that is the target, by its name, its number (from 1) or as ``"last"``. With ``y``: its name.
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
        For each row, how many trials the target counts the successes of, or what its expected value is multiplied by; or the column.
    likelihood : str, optional
        That of the fit, if the target has classes: with ``bernoulli-*`` and ``ordinal`` it may be of texts, truth values or a category.
    classes : sequence, optional
        The classes of such a target in their order (default: that of an ordered category, else sorted).

    Missing values are refused: NaN, None and masked ones.

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
        likelihood: Optional[str] = None,
        classes: Optional[Sequence[Any]] = None,
    ) -> None:
        table = as_table(X) if names is None else _named(as_table(X), list(names))
        others = table.others((target if y is None else None, weights, noise_variance, trials, exposure))
        categories = [table.find(name) for name in _listed(factors)]
        places = others if inputs is None else [table.find(name) for name in _listed(inputs)]
        chosen = table.take([*places, *(place for place in categories if place not in places)], factors=categories)
        self._x = as_doubles(chosen.values)
        self._y, target_levels = table.target(y, target, Classes.wanted(likelihood, classes))
        if y is None and target is not None:
            target = None if table.names is None else table.names[table.find(target)]
        self.handle = Handle("data")
        self._fill(chosen.names, None if target is None else str(target))
        given = {"weights": weights, "noise_variance": noise_variance, "trials": trials, "exposure": exposure}
        self._set_columns({role: table.column(values, COLUMNS[role]) for role, values in given.items()})
        self._set_levels(chosen.levels, target_levels)

    def _fill(self, names: Optional[Sequence[str]], target: Optional[str]) -> None:
        (n, d), (row_step, input_step) = self._x.shape, (step // 8 for step in self._x.strides)
        view = abi.oatgp_view(n, d, address(self._x), address(self._y), row_step, input_step)
        with Call() as call:
            call("oatgp_data_borrow", ctypes.byref(view), self.handle.out)
            if names is not None or target is not None:
                shown = names if names is not None else [f"x{j + 1}" for j in range(d)]
                call("oatgp_data_set_names", self.handle, _encoded(shown), target.encode() if target is not None else None)

    def _set_columns(self, columns: Mapping[str, Optional[Array]]) -> None:
        with Call() as call:
            for role, values in columns.items():
                if values is not None:
                    call(f"oatgp_data_set_{role}", self.handle, address(values))

    def _set_levels(self, levels: Mapping[int, List[str]], of_target: List[str]) -> None:
        with Call() as call:
            for j, texts in levels.items():
                call("oatgp_data_set_levels", self.handle, j, len(texts), _encoded(texts))
            if of_target:
                call("oatgp_data_set_target_levels", self.handle, len(of_target), _encoded(of_target))

    @classmethod
    def _of(cls, handle: Handle) -> "Data":
        data = cls.__new__(cls)
        data.handle = handle
        return data

    @classmethod
    def read(cls, path: Any, **settings: Unpack[Settings]) -> "Data":
        """Reads CSV or TSV, plain or gzip, or .npy, as the command does: ``target``, ``inputs``, ``factors``, ``weights``, ``noise_variance``,
        ``trials``, ``exposure``, ``likelihood``, ``header``, ``missing`` and ``threads`` are its options."""
        handle, text, struct = Handle("data"), os.fspath(path), SettingsStruct("convert", settings)
        with Call(threads=int(struct.struct.threads)) as call:
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


def _encoded(texts: Sequence[str]) -> Any:
    return (ctypes.c_char_p * len(texts))(*(text.encode() for text in texts))


def _listed(names: Optional[Union[str, Sequence[Union[int, str]]]]) -> Sequence[Union[int, str]]:
    """Of columns: a sequence, or a text with commas."""
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else [] if names is None else names


def _named(table: Table, names: List[str]) -> Table:
    if len(names) != table.width:
        raise ValueError(f"{len(names)} names for {table.width} inputs")
    return Table(table.values, names, table.levels)
