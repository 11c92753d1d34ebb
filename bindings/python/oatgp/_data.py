"""Tables of numbers on their way to the library: arrays, data frames, Arrow tables and files."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Sequence

import numpy as np

from . import _abi as abi
from ._library import Call, Handle, SettingsStruct, address, lib

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._library import Array
    from ._settings import Settings

#: A multiple of 512, so that rows predicted in parts have the bits of all rows at once.
ROWS_AT_A_TIME = 65536


def is_path(table: Any) -> bool:
    return isinstance(table, (str, os.PathLike))


def _arrow_columns(table: Any) -> Any:
    """An Arrow table column by column, each converted once."""
    values = np.empty((table.num_rows, table.num_columns), order="F")
    for j in range(table.num_columns):
        values[:, j] = table.column(j).to_numpy(zero_copy_only=False)
    return values


class Table(NamedTuple):
    """An array of two dimensions, not yet of doubles, and the names of its columns if it has some."""

    values: Any
    names: Optional[List[str]]


def as_table(table: Any) -> Table:
    if isinstance(table, Table):
        return table
    if hasattr(table, "column_names") and hasattr(table, "num_columns"):
        return Table(_arrow_columns(table), [str(name) for name in table.column_names])
    if hasattr(table, "columns") and hasattr(table, "to_numpy"):
        return Table(np.asarray(table.to_numpy()), [str(name) for name in table.columns])
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

    Arrays of doubles are not copied, in whatever order they lie; they must not change while the data are in use.
    Everything that takes ``X`` takes one of these, too, so that a table is looked at once.

    Parameters
    ----------
    X : array, memory map, data frame (pandas, polars), Arrow table or sequence of rows
        The inputs, one row each; a sequence of numbers is one input.
    y : array, optional
        The target.
    target : str, optional
        With a data frame and no ``y``: the column that is the target. With ``y``: its name.
    inputs : sequence of str, optional
        With a data frame: the columns that are inputs (default: all others).
    weights, noise_variance : array or str, optional
        For each row, a weight (its noise variance is tau^2 / weight) or a known noise variance that is added to tau^2; or, of a data
        frame, the column.
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
        target: Optional[str] = None,
        inputs: Optional[Sequence[str]] = None,
        weights: Any = None,
        noise_variance: Any = None,
        names: Optional[Sequence[str]] = None,
    ) -> None:
        values, found = as_table(X)
        names = list(names) if names is not None else found
        columns = {"target": target if y is None else None, "weights": weights, "noise_variance": noise_variance}
        by_name = {role: name for role, name in columns.items() if isinstance(name, str)}
        if by_name or inputs is not None:
            places = _places(names, [*by_name.values(), *(inputs or [])])
            taken = [places[name] for name in by_name.values()]
            pulled = {role: values[:, places[name]] for role, name in by_name.items()}
            kept = [places[name] for name in inputs] if inputs is not None else [j for j in range(values.shape[1]) if j not in taken]
            values = values[:, kept]
            names = [names[j] for j in kept] if names is not None else None
            y, weights, noise_variance = (
                pulled.get("target", y),
                pulled.get("weights", weights),
                pulled.get("noise_variance", noise_variance),
            )
        self._x = as_doubles(values)
        rows = self._x.shape[0]
        self._y = as_column(y, rows, "a target")
        self.handle = Handle("data")
        self._fill(as_column(weights, rows, "weights"), as_column(noise_variance, rows, "noise variances"), names, target)

    def _fill(self, weights: Optional[Array], noise: Optional[Array], names: Optional[Sequence[str]], target: Optional[str]) -> None:
        (n, d), (row_step, input_step) = self._x.shape, (step // 8 for step in self._x.strides)
        if names is not None and len(names) != d:
            raise ValueError(f"{len(names)} names for {d} inputs")
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
        return [lib.oatgp_data_input_name(self.handle, j).decode() for j in range(count)]

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


def _places(names: Optional[Sequence[str]], wanted: Sequence[str]) -> Dict[str, int]:
    if names is None:
        raise ValueError("columns can be chosen by name in data frames and files only; give arrays")
    missing = [name for name in wanted if name not in names]
    if missing:
        raise ValueError(f"there is no column '{missing[0]}'; there are {', '.join(names)}")
    return {name: list(names).index(name) for name in wanted}
