"""Tables of numbers on their way to the library: arrays, data frames, Arrow tables and files."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _abi as abi
from ._library import Call, Handle, SettingsStruct, address, decode, lib

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._library import Array
    from ._settings import Settings

#: A multiple of 512, so that rows predicted in parts have the bits of all rows at once.
ROWS_AT_A_TIME = 65536


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


def _arrow_columns(columns: List[Any]) -> Any:
    """Columns of an Arrow table, each converted once."""
    values = np.empty((len(columns[0]) if columns else 0, len(columns)), order="F")
    for j, column in enumerate(columns):
        values[:, j] = column.to_numpy(zero_copy_only=False)
    return values


class Table(NamedTuple):
    """An array of two dimensions, not yet of doubles, or a data frame, and the names of its columns if it has some.

    A frame becomes an array when columns are taken, so that the others may hold anything.
    """

    values: Any
    names: Optional[List[str]]

    @property
    def width(self) -> int:
        return len(self.names) if self.names is not None else int(self.values.shape[1])

    def find(self, typed: Union[int, str]) -> int:
        """The place of a column: by its name, else its number from 1, or 'last', as in the command."""
        text = str(typed)
        if self.names is not None and text in self.names:
            return self.names.index(text)
        number = self.width if text == "last" else int(text) if text.isdecimal() else 0
        if 1 <= number <= self.width:
            return number - 1
        numbers = f"columns can be chosen by name in data frames and files only, by number (1 to {self.width}) in arrays"
        raise ValueError(f"there is no column '{text}'; {numbers if self.names is None else 'there are ' + ', '.join(self.names)}")

    def others(self, used: Iterable[Any]) -> List[int]:
        """Every column but those that are named here."""
        taken = [self.find(column) for column in used if is_column(column)]
        return [j for j in range(self.width) if j not in taken]

    def find_inputs(self, names: Sequence[str], used: Iterable[Any]) -> List[int]:
        """The columns of these names; if one is missing, all that are not used, for the library to take them in order or to refuse them."""
        if self.names is None or not set(names) <= set(self.names):
            return self.others(used)
        return [self.names.index(name) for name in names]

    def take(self, places: List[int], rows: slice = slice(None)) -> "Table":
        """These columns, as an array; not copied if it is one already and all columns are wanted."""
        names = None if self.names is None else [self.names[j] for j in places]
        if _is_arrow(self.values):
            return Table(_arrow_columns([self.values.column(j)[rows] for j in places]), names)
        table = self.values.iloc if hasattr(self.values, "iloc") else self.values
        chosen = table[rows] if places == list(range(self.width)) else table[rows, places]
        return Table(chosen if isinstance(chosen, np.ndarray) else chosen.to_numpy(), names)

    def target(self, y: Any, name: Any) -> Optional[Array]:
        return as_column(y, len(self.values), "a target") if y is not None else self.column(name, "a target")

    def column(self, wanted: Any, what: str) -> Optional[Array]:
        """One value for each row: those of an array, or those of the column of that name or number."""
        values = self.take([self.find(wanted)]).values if is_column(wanted) else wanted
        return as_column(values, len(self.values), what)


def as_table(table: Any) -> Table:
    if isinstance(table, Table):
        return table
    if _is_arrow(table):
        return Table(table, [str(name) for name in table.column_names])
    if hasattr(table, "columns") and hasattr(table, "to_numpy"):
        return Table(table, [str(name) for name in table.columns])
    values = table if isinstance(table, np.ndarray) else np.asarray(table)
    if values.ndim == 1:
        values = values.reshape(-1, 1)
    if values.ndim != 2:
        raise ValueError(f"the inputs have {values.ndim} dimensions; they must have 2: rows and inputs")
    return Table(values, None)


def as_doubles(values: Any) -> Array:
    """The same array if it is one of doubles that lie at whole steps forwards, else a copy."""
    if np.iscomplexobj(values):
        raise ValueError("Complex data not supported: the numbers must be real")
    array = np.asarray(values, dtype=np.float64)
    usable = array.flags.aligned and all(step >= 0 and step % 8 == 0 for step in array.strides)
    return array if usable else np.ascontiguousarray(array)


def as_column(values: Any, rows: int, what: str) -> Optional[Array]:
    if values is None:
        return None
    column = np.ascontiguousarray(as_doubles(np.asarray(values)))
    if column.ndim == 2 and column.shape[1] == 1:
        column = column.ravel()
    if column.shape != (rows,):
        raise ValueError(f"{what} of shape {column.shape} for {rows} rows: one value for each row is needed")
    return column


class Data:
    """Rows for a fit or a prediction.

    Arrays of doubles are not copied, whatever their order and steps, but for backward ones; they must not change while the data are in use.
    Everything that takes ``X`` takes one of these, too, so that a table is looked at once.

    Parameters
    ----------
    X : array, memory map, data frame (pandas, polars), Arrow table or sequence of rows
        The inputs, one row each; a sequence of numbers is one input.
    y : array, optional
        The target.
    target : str or int, optional
        Without ``y``: the column that is the target, by its name, its number (from 1) or as ``"last"``. With ``y``: its name.
    inputs : str or sequence, optional
        The columns that are inputs, as ``["a", "b"]`` or ``"a,b"`` (default: all others). The other columns may hold anything.
    weights, noise_variance : array, str or int, optional
        For each row, a weight (its noise variance is tau^2 / weight) or a known noise variance that is added to tau^2; or the column.
    names : sequence of str, optional
        Names of the inputs (default: those of the data frame, else x1, x2, ...).

    >>> data = Data([[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0])
    >>> len(data), data.inputs
    (2, ['x1', 'x2'])
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
    ) -> None:
        table = as_table(X) if names is None else _named(as_table(X), list(names))
        if isinstance(inputs, str):
            inputs = [name.strip() for name in inputs.split(",")]
        others = table.others((target if y is None else None, weights, noise_variance))
        chosen = table.take(others if inputs is None else [table.find(name) for name in inputs])
        self._x = as_doubles(chosen.values)
        self._y = table.target(y, target)
        if y is None and target is not None:
            target = None if table.names is None else table.names[table.find(target)]
        self.handle = Handle("data")
        noise = table.column(weights, "weights"), table.column(noise_variance, "noise variances")
        self._fill(*noise, chosen.names, None if target is None else str(target))

    def _fill(self, weights: Optional[Array], noise: Optional[Array], names: Optional[Sequence[str]], target: Optional[str]) -> None:
        (n, d), (row_step, input_step) = self._x.shape, (step // 8 for step in self._x.strides)
        view = abi.oatgp_view(n, d, address(self._x), address(self._y), row_step, input_step)
        with Call() as call:
            call("oatgp_data_borrow", ctypes.byref(view), self.handle.out)
            if names is not None or target is not None:
                shown = names if names is not None else [f"x{j + 1}" for j in range(d)]
                encoded = (ctypes.c_char_p * d)(*(name.encode() for name in shown))
                call("oatgp_data_set_names", self.handle, encoded, target.encode() if target is not None else None)
            if weights is not None:
                call("oatgp_data_set_weights", self.handle, address(weights))
            if noise is not None:
                call("oatgp_data_set_noise_variance", self.handle, address(noise))

    @classmethod
    def _of(cls, handle: Handle) -> "Data":
        data = cls.__new__(cls)
        data.handle = handle
        return data

    @classmethod
    def read(cls, path: Any, **settings: Unpack[Settings]) -> "Data":
        """Reads CSV or TSV, plain or gzip, or .npy, as the command does: ``target``, ``inputs``, ``weights``, ``noise_variance``,
        ``header``, ``missing`` and ``threads`` are its options."""
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
        """A copy of the target, or None if there is none."""
        count = lib.oatgp_data_inputs(self.handle)
        return self._column(count) if lib.oatgp_data_column_role(self.handle, count) == b"target" else None

    def __repr__(self) -> str:
        return f"<oatgp.Data: {len(self)} rows, inputs {', '.join(self.inputs)}>"


def _named(table: Table, names: List[str]) -> Table:
    if len(names) != table.width:
        raise ValueError(f"{len(names)} names for {table.width} inputs")
    return Table(table.values, names)
