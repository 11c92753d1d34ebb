"""Fits and models: data of every kind, errors, interruption, threads and children."""

import copy
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import oatgp
from oatgp._data import ROWS_AT_A_TIME
from oatgp._library import Call, Progress

from conftest import BOSTON

FEW = {"knots": 6, "select": "simultaneous", "max_iter": 20}


# ---- data ---------------------------------------------------------------------------------------------------------


def orders(X):
    """The same numbers in other orders and types that need no rounding."""
    wide = np.zeros((2 * len(X), 3 * X.shape[1]))
    wide[::2, ::3] = X
    return {
        "Fortran": np.asfortranarray(X),
        "strided": wide[::2, ::3],
        "reversed twice": X[::-1].copy()[::-1],
        "big-endian": X.astype(">f8"),
        "list": X.tolist(),
        "read-only": np.frombuffer(X.tobytes()).reshape(X.shape),
    }


@pytest.mark.parametrize("place", [0, 1, 2])
def test_constant_columns_may_be_there_again(waves, place, tmp_path):
    """The array of the fit can be predicted, wherever its constant column is, and so can one without that column."""
    X, y = waves
    wide = np.insert(X, place, 3.0, axis=1)
    model = oatgp.fit(wide, y, **FEW)
    assert len(model.inputs) == 2
    expected = oatgp.fit(X, y, **FEW).predict(X).mean.tolist()
    for again in (model, model.copy(), pickle.loads(pickle.dumps(model)), model.refit(wide, y, max_iter=0)):
        assert again.predict(wide).mean.tolist() == again.predict(X).mean.tolist()
        with pytest.raises(ValueError, match="the rows have 4 columns, and the model has 2 inputs"):
            again.predict(np.column_stack([wide, y]))
    model.save(tmp_path / "model")
    loaded = oatgp.Model.load(tmp_path / "model")
    if place < 2:  # a file does not say whether there were constant columns after the last input
        assert loaded.predict(wide).mean.tolist() == expected
    else:
        with pytest.raises(ValueError, match="the rows have 3 columns, and the model has 2 inputs"):
            loaded.predict(wide)
    assert model.predict(wide).mean.tolist() == expected
    assert model.score(wide, y).n == model.loo(wide, y).scores.n == 120
    assert model.copy().update(wide[:5], y[:5]).n == 125
    with pytest.raises(ValueError, match="the rows have 3 columns"):
        oatgp.fit(X, y, **FEW).predict(wide)


def test_order_changes_no_bit(waves):
    X, y = waves
    expected = oatgp.fit(X, y, **FEW)
    for name, other in orders(X).items():
        model = oatgp.fit(other, y, **FEW)
        assert model.fingerprint == expected.fingerprint, name
        assert model.predict(other).sd.tolist() == expected.predict(X).sd.tolist(), name


def test_neighbours(waves):
    X, y = waves
    model = oatgp.fit(X, y, **FEW, approx="fitc", neighbours=4)
    assert (model.neighbours, model.predict_neighbours) == (4, 8)
    assert "6 knots, 4 neighbours" in repr(model)
    assert "and 4 neighbours of each row" in model._repr_html_()
    alone = oatgp.fit(X, y, **FEW, approx="fitc")
    assert (alone.neighbours, alone.predict_neighbours) == (0, 0)
    assert "neighbours" not in repr(alone)


def test_doubles_are_not_copied(waves):
    X, y = waves
    for array in (X, np.asfortranarray(X), X[::2], X[:, :1]):
        assert np.shares_memory(oatgp.Data(array, y[: len(array)])._x, array)
    assert np.shares_memory(oatgp.Data(X, y)._y, y)
    assert not np.shares_memory(oatgp.Data(X[::-1], y)._x, X)


def test_single_precision(waves):
    X, y = (part.astype(np.float32) for part in waves)
    assert oatgp.fit(X, y, **FEW).objective == oatgp.fit(X.astype(float), y.astype(float), **FEW).objective


def test_pandas(waves):
    pandas = pytest.importorskip("pandas")
    X, y = waves
    expect_frame(pandas.DataFrame, X, y)


def test_polars(waves):
    polars = pytest.importorskip("polars")
    X, y = waves
    expect_frame(polars.DataFrame, X, y)


def test_arrow(waves):
    pyarrow = pytest.importorskip("pyarrow")
    X, y = waves
    expect_frame(pyarrow.table, X, y)


def expect_frame(make, X, y):
    """Columns are found by name, and the others are not looked at; the model is that of the arrays."""
    w, nan = np.full(len(y), 2.0), np.full(len(y), np.nan)
    frame = make({"b": X[:, 1], "y": y, "a": X[:, 0], "w": w})
    more = make({"note": ["text"] * len(y), "b": X[:, 1], "y": y, "empty": nan, "a": X[:, 0], "w": w})
    unknown = make({"a": X[:, 0], "y": nan, "b": X[:, 1]})
    arrays = oatgp.fit(X, y, **FEW)
    expected = arrays.predict(X)
    for table in (frame, more):
        model = oatgp.fit(table, target="y", inputs=["a", "b"], **FEW)
        assert (model.inputs, model.target) == (["a", "b"], "y")
        assert model.score(table).rmse == arrays.score(X, y).rmse
        assert model.loo(table).mean.tolist() == arrays.loo(X, y).mean.tolist()
        for rows in (frame, more, unknown):
            assert model.predict(rows).mean.tolist() == expected.mean.tolist()
            assert model.predict_mean(rows).tolist() == arrays.predict_mean(X).tolist()
        assert model.covariance(unknown).tolist() == arrays.covariance(X).tolist()
        assert model.sample(unknown).tolist() == arrays.sample(X).tolist()
        assert model.update(more).n == 2 * len(y)
    weighted = oatgp.fit(frame, target="y", weights="w", **FEW)
    expected = oatgp.fit(X[:, ::-1], y, weights=w, **FEW)
    assert weighted.inputs == ["b", "a"]
    assert weighted.objective == expected.objective
    assert weighted.score(more, weights="w").mean_nlp == expected.score(X[:, ::-1], y, weights=w).mean_nlp
    expected.update(X[:, ::-1], y, weights=w)
    assert weighted.update(frame, y, weights="w").objective == expected.objective
    in_order = make({"c": X[:, 0], "v": w, "d": X[:, 1], "z": y})
    expected = oatgp.fit(X, y, weights=w, **FEW)
    assert expected.loo(in_order, target="z", weights="v").mean.tolist() == expected.loo(X, y, weights=w).mean.tolist()
    for target, inputs in ((2, "b,a"), ("2", ["b", "a"]), ("y", "1, 3")):
        model = oatgp.fit(frame, target=target, inputs=inputs, **FEW)
        assert (model.target, model.inputs) == ("y", ["b", "a"])
    last = oatgp.Data(frame, target="last", inputs="a")
    assert last.y.tolist() == w.tolist() and last.X.tolist() == X[:, :1].tolist()
    with pytest.raises(ValueError, match="there is no column 'z'; there are b, y, a, w"):
        oatgp.fit(frame, target="z")
    with pytest.raises(ValueError, match="there is no column '5'; there are b, y, a, w"):
        oatgp.fit(frame, target=5)


def dict_of_columns(columns):
    return {name: list(column) for name, column in columns.items()}


def structured(columns):
    """As numpy.genfromtxt(names=True) makes them."""
    made = np.zeros(len(next(iter(columns.values()))), dtype=[(name, np.float64) for name in columns])
    for name, column in columns.items():
        made[name] = column
    return made


def frame_makers():
    """Whatever makes a table with named columns here."""
    makers = [dict_of_columns, structured]
    for package, make in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")):
        try:
            makers.append(getattr(__import__(package), make))
        except ModuleNotFoundError:
            pass
    return makers


def test_dict_of_columns(waves):
    expect_frame(dict_of_columns, *waves)
    with pytest.raises(ValueError, match=r"column 'b' has the shape \(2,\), the first \(3,\); columns have one value for each row"):
        oatgp.Data({"a": [1, 2, 3], "b": [1, 2]})
    with pytest.raises(ValueError, match="column 'b': row 1 is 'u'; every value must be a number; .astype.str. makes a category of the column"):
        oatgp.Data({"a": [1, 2], "b": np.array(["u", 1.5], dtype=object)})


@pytest.mark.parametrize("make", frame_makers(), ids=lambda make: make.__module__ + "." + make.__name__)
def test_names_decide(waves, tmp_path, make):
    """A frame without an input is not read by place: its target would become an input, and an update would spoil the model."""
    X, y = waves
    a, b = X.T
    model = oatgp.fit(make({"a": a, "b": b, "y": y}), target="y", **FEW)
    expected, content = model.predict(X), model._to_bytes()
    swapped, wrong = make({"y": y, "b": b, "a": a, "more": y}), make({"b": b, "y": y})
    uses = {
        "predict": model.predict,
        "predict_mean": model.predict_mean,
        "covariance": model.covariance,
        "sample": model.sample,
        "score": model.score,
        "loo": model.loo,
        "certify": model.certify,
        "update": model.update,
        "refit": model.refit,
        "report": lambda rows: model.report(tmp_path / "report.html", rows),
        "svg": lambda rows: model.svg("knots", rows),
        "plot": lambda rows: model.plot("knots", rows),
        "partial": lambda rows: model.plot("partial", rows),
    }
    for name, use in uses.items():
        with pytest.raises(ValueError, match="there is no column 'a'; there are b, y; give the columns the names .* in this order: a, b"):
            use(wrong)
            pytest.fail(name)
    with pytest.raises(ValueError, match="the data have no input 'a', which the model needs; they have 'b', 'y'"):
        model.predict(oatgp.Data(wrong))
    with pytest.raises(ValueError, match="there is no column 'a'; there are b, c"):
        model.plot("knots", oatgp.Data(make({"b": b, "c": y})))
    with pytest.raises(ValueError, match="there are no columns 'a', 'b'; there are u, v"):
        model.predict(make({"u": a, "v": b}))
    with pytest.raises(ValueError, match="there is no column 'y', the target; there are a, b; give y, or its column by target="):
        model.score(make({"a": a, "b": b}))
    assert model._to_bytes() == content
    assert model.predict(swapped).mean.tolist() == expected.mean.tolist()
    assert model.predict(oatgp.Data(swapped)).mean.tolist() == expected.mean.tolist()
    assert model.update(swapped).n == 240


@pytest.mark.parametrize("make", frame_makers(), ids=lambda make: make.__module__ + "." + make.__name__)
def test_inputs_without_names_go_by_place(waves, make):
    X, y = waves
    a, b = X.T
    frame = make({"u": a, "v": b})
    by_name, by_place = oatgp.fit(frame, y, **FEW), oatgp.fit(X, y, **FEW)
    for model in (by_name, by_place):
        for rows in (X, frame, oatgp.Data(X), oatgp.Data(frame)):
            assert model.predict(rows).mean.tolist() == by_place.predict(X).mean.tolist()
    # names that look automatic but are not: an array has no x1, only a first input
    crossed = oatgp.fit(make({"x2": a, "x1": b}), y, **FEW)
    assert crossed.inputs == ["x2", "x1"]
    for rows in (X, oatgp.Data(X), make({"x1": b, "x2": a})):
        assert crossed.predict(rows).mean.tolist() == by_place.predict(X).mean.tolist()
    for rows in (X[:, :1], np.column_stack([X, y]), oatgp.Data(np.column_stack([X, y]))):
        with pytest.raises(ValueError, match="the data have . inputs, none of them 'u'; the model has 2|the rows have . columns?, and the model has 2 inputs: u, v"):
            by_name.predict(rows)
        for figure in ("knots", "partial"):
            with pytest.raises(ValueError, match="the rows have . columns?, and the model has 2 inputs: u, v"):
                by_name.plot(figure, rows)
    with pytest.raises(ValueError, match="its 2 are taken in order, and 3 columns could be inputs; there are u, v, y; give only the inputs"):
        by_place.predict(make({"u": a, "v": b, "y": y}))
    assert by_place.score(make({"u": a, "y": y, "v": b}), target="y").rmse == by_place.score(X, y).rmse
    with pytest.raises(ValueError, match="there is no column 'x2'; there are x1, v"):
        by_place.predict(make({"x1": a, "v": b}))


def test_the_target_of_a_model_is_a_name_not_a_number(waves):
    pandas = pytest.importorskip("pandas")
    X, y = waves
    model = oatgp.fit(pandas.DataFrame(np.column_stack([y, X])), target=0, **FEW)
    assert (model.inputs, model.target) == (["1", "2"], "0")
    model = oatgp.fit(pandas.DataFrame(np.column_stack([X, y])), target="2", **FEW)
    with pytest.raises(ValueError, match="there is no column '2', the target; there are 0, 1, 3"):
        model.score(pandas.DataFrame({"0": X[:, 0], "1": X[:, 1], "3": y}))
    with pytest.raises(ValueError, match="no target"):
        model.score(X)


@pytest.mark.parametrize("make", frame_makers(), ids=lambda make: make.__module__ + "." + make.__name__)
def test_knots_are_found_by_name(waves, make):
    X, y = waves
    places = X[:7]
    frame, fixed = make({"a": X[:, 0], "b": X[:, 1]}), {"select": "fixed", "max_iter": 0}
    model = oatgp.fit(frame, y, knots=make({"b": places[:, 1], "more": places[:, 0], "a": places[:, 0]}), **fixed)
    np.testing.assert_allclose(model.knots, places, rtol=1e-12)
    np.testing.assert_allclose(oatgp.fit(frame, y, knots=places, **fixed).knots, places, rtol=1e-12)
    with pytest.raises(ValueError, match="there is no column 'a'; there are b, c"):
        oatgp.fit(frame, y, knots=make({"b": places[:, 1], "c": places[:, 0]}), **fixed)
    with pytest.raises(ValueError, match="the knots have 1 inputs and the data 2"):
        oatgp.fit(frame, y, knots=places[:, :1], **fixed)


def test_columns_of_one_name(waves):
    pandas = pytest.importorskip("pandas")
    X, y = waves
    model = oatgp.fit(pandas.DataFrame(X, columns=["a", "b"]), y, **FEW)
    twice = pandas.DataFrame(np.column_stack([X, y]), columns=["a", "b", "a"])
    with pytest.raises(ValueError, match="2 columns have the name 'a'; rename them, or leave all but one out"):
        model.predict(twice)
    with pytest.raises(ValueError, match="2 columns have the name 'a'"):
        oatgp.fit(twice, target="a")
    with pytest.raises(ValueError, match="the name 'a' is given twice"):
        oatgp.fit(twice, y)


# ---- odd tables -----------------------------------------------------------------------------------------------------


def test_frames_of_odd_types(waves):
    """Numbers of any type are numbers; what is none is refused, and its column named."""
    pandas = pytest.importorskip("pandas")
    X, y = waves
    frame, expected = pandas.DataFrame(X, columns=["a", "b, b"]), oatgp.fit(X, y, **FEW)
    same = {
        "object": frame.astype(object),
        "nullable": frame.astype("Float64"),
        "sparse": frame.astype(pandas.SparseDtype("float")),
        "another index": frame.set_axis(range(7, 127)),
    }
    for name, table in same.items():
        model = oatgp.fit(table, pandas.DataFrame({"y": y}), **FEW)
        assert (model.objective, model.inputs) == (expected.objective, ["a", "b, b"]), name
    flags = oatgp.Data(frame.assign(c=X[:, 0] > 0, d=pandas.array(range(120), dtype="Int64")))
    assert flags.X[:, 2].tolist() == (X[:, 0] > 0).tolist() and flags.X[:, 3].tolist() == list(range(120))
    days = pandas.Series(pandas.date_range("2020", periods=120))
    gaps = pandas.Series(pandas.array([1, None] * 60, dtype="Int64"))
    refused = {
        "column 'c': row 2 is 'u'; every value must be a number; .astype.str. makes a category": {"X": frame.assign(c=[1, "u"] * 60)},
        "column 'c': dates and times are not numbers; .* since the first: .column - column.min": {"X": frame.assign(c=days)},
        "the target: row 1 is 'u'; every value must be a number; classes need likelihood=": {"y": pandas.Series(["u", "v"] * 60)},
        "column 'days': dates and times are not numbers": {"X": days.to_frame("days")},
        "the inputs: dates and times are not numbers": {"X": np.arange(120).astype("m8[s]")},
        "the target: dates and times are not numbers": {"y": days},
        "column 'c': int too large to convert to float": {"X": frame.assign(c=pandas.Series([10**400] * 120, dtype=object))},
        "input 'c' of row 2 is nan; fill the value in, or leave such rows out by missing='drop'": {"X": frame.assign(c=gaps)},
        "the target of row 2 is nan; fill the value in, or leave": {"y": gaps},
        "y is the text 'a'; the name of the target's column is given by target=": {"y": "a"},
        "the inputs are of the type NoneType; an array, a data frame": {"X": None},
    }
    for sentence, part in refused.items():
        with pytest.raises(ValueError, match=sentence):
            oatgp.fit(**{"X": frame, "y": y, **part}, **FEW)


def test_an_index_in_another_order_is_refused(waves):
    """Labels say that the rows do not belong together; labels that are others say nothing."""
    pandas = pytest.importorskip("pandas")
    X, y = waves
    frame, shuffled = pandas.DataFrame(X), pandas.Series(y)[::-1]
    model = oatgp.fit(frame, pandas.Series(y), **FEW)
    for use in (oatgp.fit, model.score, model.update):
        with pytest.raises(ValueError, match="the target: the index is that of the inputs in another order"):
            use(frame, shuffled)
        with pytest.raises(ValueError, match="weights: the index is that of the inputs in another order"):
            use(frame, y, weights=abs(shuffled) + 1)
    assert oatgp.fit(frame, shuffled.loc[frame.index], **FEW).objective == model.objective
    assert oatgp.fit(frame, pandas.Series(y, index=range(500, 620)), **FEW).objective == model.objective


def test_whole_numbers_that_are_rounded(waves):
    X, y = waves
    X = np.column_stack([2**60 + np.arange(120), np.arange(120)])
    with pytest.warns(oatgp.OatgpWarning, match="the inputs: whole numbers beyond 2.53 are rounded, and those that differ may become the same"):
        oatgp.fit(X, y, **FEW)
    with pytest.warns(oatgp.OatgpWarning, match="column 'a': whole numbers beyond 2.53 are rounded"):
        oatgp.fit({"a": X[:, 0], "b": X[:, 1]}, y, **FEW)
    pandas = pytest.importorskip("pandas")
    with pytest.warns(oatgp.OatgpWarning, match="column 'a': whole numbers beyond 2.53 are rounded"):
        oatgp.fit(pandas.DataFrame({"a": X[:, 0], "b": X[:, 1] / 3}), y, **FEW)


def test_rows_of_later_parts_have_their_numbers(waves):
    model = oatgp.fit(*waves, **FEW)
    X, y = np.zeros((ROWS_AT_A_TIME + 10, 2)), np.zeros(ROWS_AT_A_TIME + 10)
    y[ROWS_AT_A_TIME + 2] = np.nan
    with pytest.raises(ValueError, match=f"the target of row {ROWS_AT_A_TIME + 3} is nan"):
        model.update(X, y)
    X[ROWS_AT_A_TIME + 1, 1] = np.nan
    with pytest.raises(ValueError, match=f"input 'x2' of row {ROWS_AT_A_TIME + 2} is nan"):
        model.predict(X)


# ---- missing values -------------------------------------------------------------------------------------------------


def masked(values, *place):
    """The value at one place is masked, and is a number all the same."""
    made = np.ma.array(values, copy=True)
    made[place] = np.ma.masked
    return made


def test_masked_values_are_refused_as_nan_is(waves, tmp_path):
    X, y = waves
    ones, hidden = np.ones(120), masked(X, 4, 1)
    model = oatgp.fit(X, y, **FEW)
    content = model._to_bytes()
    sentence = "the inputs: 1 value is masked, in row 5, column 2; fill the values in, or leave such rows out by missing='drop'"
    for use in (model.predict, model.predict_mean, model.covariance, model.sample, oatgp.Data, lambda rows: model.svg("knots", rows)):
        with pytest.raises(ValueError, match=sentence):
            use(hidden)
    for use in (oatgp.fit, oatgp.cv, oatgp.objective, model.score, model.loo, model.update, model.certify, model.refit):
        with pytest.raises(ValueError, match=sentence):
            use(hidden, y)
        with pytest.raises(ValueError, match="the target: 1 value is masked, in row 8;"):
            use(X, masked(y, 7))
        for role in ("weights", "noise_variance"):
            with pytest.raises(ValueError, match=f"{role.replace('_v', ' v')}s?: 1 value is masked, in row 3;"):
                use(X, y, **{role: masked(ones, 2)})
    with pytest.raises(ValueError, match="1 value is masked"):
        oatgp.fit(X, y, knots=masked(X[:5], 0, 0), select="fixed")
    with pytest.raises(ValueError, match="the inputs: 1 value is masked, in row 2, column 1"):
        model.predict([X[0], masked(X[1], 0)])
    with pytest.raises(ValueError, match="column 'a': 1 value is masked, in row 1"):
        oatgp.Data({"a": masked(ones, 0)})
    rows = np.ma.array(np.zeros((ROWS_AT_A_TIME + 10, 2)))
    rows[ROWS_AT_A_TIME + 3, 0] = np.ma.masked
    with pytest.raises(ValueError, match=f"1 value is masked, in row {ROWS_AT_A_TIME + 4}, column 1"):
        model.predict(rows)
    assert model._to_bytes() == content
    unmasked = np.ma.array(X), np.ma.array(y, mask=np.zeros(120, bool))
    assert oatgp.fit(*unmasked, **FEW).objective == model.objective
    used = masked(np.column_stack([X, y]), 3, 2)  # in a column that nobody uses
    assert len(oatgp.Data(used, inputs="1,2")) == 120


def test_columns_of_arrays_have_numbers(waves):
    X, y = waves
    table, expected = np.column_stack([X, y]), oatgp.fit(X, y, **FEW)
    for settings in ({"target": 3}, {"target": "last"}, {"target": "3", "inputs": "1,2"}, {"target": np.int64(3), "inputs": [1, 2]}):
        model = oatgp.fit(table, **settings, **FEW)
        assert (model.objective, model.inputs, model.target) == (expected.objective, ["x1", "x2"], "")
    assert oatgp.fit(X, y, target="height", **FEW).target == "height"
    assert oatgp.fit(X, y, target=3, **FEW).target == "3"


def test_parts_have_the_bits_of_the_whole(waves):
    model = oatgp.fit(*waves, **FEW)
    X = np.random.default_rng(1).uniform(-2, 2, (ROWS_AT_A_TIME + 1000, 2))
    whole = model.predict(oatgp.Data(X))
    for parts in (model.predict(X), model.predict(X.astype(">f8"))):
        assert all(a.tobytes() == b.tobytes() for a, b in zip(parts, whole))
    assert model.predict_mean(X).tobytes() == model.predict_mean(oatgp.Data(X)).tobytes()


def test_a_map_larger_than_the_memory(python, tmp_path):
    """128 MB of rows with 100 MB of memory to spare."""
    script = """
import resource, sys
import numpy as np, oatgp
rng = np.random.default_rng(1)
X = rng.uniform(-1, 1, (200, 4))
model = oatgp.fit(X, X.sum(1), knots=5, max_iter=5, select="simultaneous")
rows = np.lib.format.open_memmap(sys.argv[1], "w+", np.float64, (4_000_000, 4))  # zeros that take no space
rows[-1] = 0.5
del rows
rows = np.load(sys.argv[1], mmap_mode="r")
with open("/proc/self/status") as status:
    used = next(int(line.split()[1]) for line in status if line.startswith("VmData")) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (used + 100_000_000,) * 2)
try:
    np.array(rows)
    print("a copy fits")
except MemoryError:
    pass
mean = model.predict_mean(rows)
assert len(mean) == len(rows) and len(set(mean[:-1:1000])) == 1
before = model.n
model.update(rows[:200_000], mean[:200_000])
print(mean[0] < mean[-1], model.n - before)
"""
    assert python(script, tmp_path / "rows.npy").split() == ["True", "200000"]


# ---- models ---------------------------------------------------------------------------------------------------------


def test_models_travel(waves):
    X, y = waves
    model = oatgp.fit(X, y, **FEW)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert other.predict(X).sd.tobytes() == model.predict(X).sd.tobytes()
        assert other.trace == model.trace


def test_a_model_says_what_it_is(waves):
    X, y = waves
    model = oatgp.fit(X, y, mean="linear", fix=["tau"], tau=0.1, lengthscale=[1.0, 2.0], **FEW)
    assert model.tau == pytest.approx(0.1, rel=1e-12)
    assert (model.n, model.n_knots, model.knots.shape) == (120, 6, (6, 2))
    assert model.slopes.shape == (2,)
    assert model.history.shape[1] == 3
    assert model.settings["lengthscale"] == "1.0,2.0"
    assert model.bounds == (pytest.approx(model.objective - model.log_prior), float("inf"))
    assert model.loo_scores["rmse"] == pytest.approx(model.loo(X, y).scores.rmse, rel=1e-12)
    assert "120 rows" in repr(model)
    assert "<th style='text-align:left'>leave-one-out</th>" in model._repr_html_()
    certificate = model.certify(X, y, exact=True)
    assert certificate.lower <= certificate.exact <= certificate.upper
    assert model.bounds == (certificate.lower, certificate.upper)
    assert "log evidence" in model._repr_html_()


def test_given_knots(waves):
    X, y = waves
    places = X[:7]
    model = oatgp.fit(X, y, knots=places, select="fixed", max_iter=5)
    np.testing.assert_allclose(model.knots, places, rtol=1e-12)
    evaluation = oatgp.objective(X, y, knots=places, gradient=True)
    assert evaluation.gradient["knots"].shape == (7, 2)
    full = oatgp.fit(X, y, approx="full", max_iter=5)
    with pytest.raises(ValueError, match="the full GP has no knots"):
        full.knots
    assert full.bounds == (pytest.approx(full.objective - full.log_prior),) * 2


def test_joint_predictions(waves):
    X, y = waves
    model = oatgp.fit(X, y, **FEW)
    covariance = model.covariance(X[:5])
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), model.predict(X[:5]).sd_latent, rtol=1e-6)
    draws = model.sample(X[:5], 4000, seed=3)
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=6e-2 * covariance.max())
    assert draws.tolist() == model.sample(X[:5], 4000, seed=3).tolist()


def test_update_and_refit(waves):
    X, y = waves
    model = oatgp.fit(X[:80], y[:80], **FEW)
    before = model.predict(X).mean
    with pytest.raises(ValueError, match="the target of row 1 is nan"):
        model.update(X[80:], np.full(40, np.nan))
    assert model.predict(X).mean.tolist() == before.tolist()
    model.update(X[80:100], y[80:100], noise_variance=None).update(X[100:], y[100:])
    assert model.n == 120
    refitted = model.refit(X, y, max_iter=50)
    assert refitted.objective >= model.objective


def test_against_another_model(waves):
    X, y = waves
    model, full = oatgp.fit(X, y, **FEW), oatgp.fit(X, y, approx="full")
    assert model.score(X, y, against=full).aukl_latent > 0
    assert np.isnan(model.score(X, y).aukl_latent)


# ---- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind, sentence, settings",
    [
        (ValueError, "kernel is 'spline' but must be one of", {"kernel": "spline"}),
        (ValueError, "tau is -1 but must be from 0", {"tau": -1}),
        (ValueError, "max_iter is '2.5' but must be a whole number", {"max_iter": 2.5}),
        (TypeError, "fit has no setting 'kernl'; the nearest name is 'kernel'", {"kernl": "se"}),
        (TypeError, "fit has no setting 'folds'", {"folds": 3}),
        (TypeError, "a setting must be a number, .* not of the type dict", {"kernel": {}}),
        (TypeError, "header is a setting of files", {"header": "yes"}),
        (ValueError, "missing is 'fill' but must be one of error, drop", {"missing": "fill"}),
        (ValueError, "weights of shape .* for 120 rows", {"weights": [1.0]}),
        (ValueError, "the weight of row 1 is 0", {"weights": np.zeros(120)}),
        (FileNotFoundError, "no-such-file.csv", {"knots": "./no-such-file.csv"}),
        (ValueError, "the full GP of 120 rows needs .* raise memory or .* such as approx=\"vfe\"", {"approx": "full", "memory": 1000}),
    ],
)
def test_settings_are_refused(waves, kind, sentence, settings):
    with pytest.raises(kind, match=sentence):
        oatgp.fit(*waves, **settings)


def test_data_are_refused(waves, tmp_path):
    X, y = waves
    for bad, sentence in ((np.zeros((2, 2, 2)), "3 dimensions"), ([["a"]], "the inputs: row 1, column 1, is 'a'; .*; texts are categories in a data frame"), (X * 1j, "complex numbers"), (X[:0], "0 rows")):
        with pytest.raises(ValueError, match=sentence):
            oatgp.Data(bad)
    with pytest.raises(ValueError, match="the target of shape"):
        oatgp.fit(X, y[:3])
    for use in (oatgp.fit, oatgp.cv, oatgp.objective, oatgp.fit(X, y, **FEW).score):
        with pytest.raises(ValueError, match="there is no target: give y, or name its column by target="):
            use(X)
    with pytest.raises(ValueError, match="columns can be chosen by name in data frames"):
        oatgp.fit(X, target="y")
    with pytest.raises(ValueError, match="give its name by target="):
        oatgp.fit("data.csv", y)
    with pytest.raises(ValueError, match="3 names for 2 inputs"):
        oatgp.Data(X, names="abc")
    model = oatgp.fit(X, y, **FEW)
    with pytest.raises(ValueError, match="the rows have 1 column, and the model has 2 inputs: x1, x2"):
        model.predict(X[:, :1])
    for interval in (2, 1, 0, -0.5, float("nan")):
        with pytest.raises(ValueError, match=f"interval is {interval} but must be a number above 0 and below 1"):
            model.predict(X, interval=interval)
    for name, short in (("the target", [y[:-1]]), ("weights", [y, y[1:]]), ("noise variances", [y, None, y[1:]])):
        with pytest.raises(ValueError, match=f"{name} of shape .119,. for 120 rows"):
            model.update(X, **dict(zip(("y", "weights", "noise_variance"), short)))
    assert model.n == 120
    with pytest.raises(TypeError, match="the method has no argument 'weight' .the nearest name is 'weights'."):
        model.score(X, y, weight=y)
    with pytest.raises(TypeError, match="the method has no argument 'weights'"):
        model.predict(X, weights=y)
    for refused in (model.predict, lambda *_, **rows: model.score(X, y, **rows)):
        with pytest.raises(TypeError, match="header is a setting of files"):
            refused(X, header="yes")
    with pytest.raises(ValueError, match="give its name by target="):
        model.score("data.csv", y)
    with pytest.raises(FileNotFoundError, match="no-such-file"):
        model.predict(tmp_path / "no-such-file.csv")
    with pytest.raises(FileNotFoundError, match="no-such-file"):
        oatgp.Model.load(tmp_path / "no-such-file")
    with pytest.raises(OSError, match="no-such-folder"):
        model.save(tmp_path / "no-such-folder" / "model")
    (tmp_path / "text").write_text("no model")
    with pytest.raises(ValueError, match="text"):
        oatgp.Model.load(tmp_path / "text")
    with pytest.raises(TypeError, match="oatgp.fit or oatgp.Model.load"):
        oatgp.Model()


@pytest.mark.parametrize("more", [{"y": np.ones(120)}, {"weights": np.ones(120)}, {"noise_variance": np.ones(120)}, {"target": "y"}])
def test_a_data_has_all_of_its_own(waves, tmp_path, more):
    data = oatgp.Data(*waves)
    model = oatgp.fit(data, **FEW)

    def report(data, **rows):
        model.report(tmp_path / "report.html", data, **rows)

    for call in (oatgp.fit, oatgp.cv, oatgp.objective, model.score, model.loo, model.update, model.certify, model.refit, report):
        with pytest.raises(ValueError, match="y, .* weights, .* are given when a Data is made, not with it"):
            call(data, **more)
    assert model.n == 120


def test_files_are_read_as_they_are_said_to_be(waves, tmp_path):
    """After the fit, too: no header, missing values, a column of weights."""
    X, y = waves
    w, path, knots, named = np.linspace(1, 2, 120), tmp_path / "rows.csv", tmp_path / "knots.csv", tmp_path / "named.csv"
    lines = [",".join(map(repr, row)) for row in np.column_stack([X, y, w]).tolist()]
    path.write_text("\n".join([*lines, "1,,3,4"]) + "\n")
    named.write_text("\n".join(["a,b,y,w", *lines]) + "\n")
    knots.write_text("\n".join(",".join(map(repr, row)) for row in [[1, None], *X[:6].tolist()]).replace("None", "NA") + "\n")
    reading = {"header": "no", "missing": "drop"}
    fixed = {"select": "fixed", "max_iter": 10}
    model = oatgp.fit(path, target=3, weights=4, knots=knots, **reading, **fixed)
    expected = oatgp.fit(X, y, weights=w, knots=X[:6], **fixed)
    assert (model.objective, model.n_knots) == (expected.objective, 6)
    assert model.predict(path, **reading).mean.tolist() == expected.predict(X).mean.tolist()
    assert model.covariance(path, **reading).shape == (120, 120) and model.sample(path, **reading).shape == (1, 120)
    assert model.score(path, **reading).mean_nlp == expected.score(X, y, weights=w).mean_nlp
    assert model.loo(path, **reading).nlp.tolist() == expected.loo(X, y, weights=w).nlp.tolist()
    assert model.certify(path, **reading).upper == expected.certify(X, y, weights=w).upper
    assert model.refit(path, max_iter=5, **reading).n == 120
    model.report(tmp_path / "report.html", path, **reading)
    assert model.update(path, **reading).n == 240
    with pytest.raises(ValueError, match="the value is missing"):
        model.score(path)

    # a target that is not known yet
    blank = tmp_path / "blank.csv"
    blank.write_text("a,b,y\n" + "".join(f"{a!r},{b!r},\n" for a, b in X.tolist()))
    model = oatgp.fit(named, target="y", inputs=["a", "b"], knots=X[:6], **fixed)
    assert model.predict(blank).mean.tolist() == model.predict(X).mean.tolist()

    # weights that the model, which comes from arrays, has no column for
    model = oatgp.fit(oatgp.Data(X, y, target="y", weights=w, names=["a", "b"]), knots=X[:6], **fixed)
    assert model.score(named, weights="w").mean_nlp == expected.score(X, y, weights=w).mean_nlp
    assert model.loo(named, weights="w").nlp.tolist() == expected.loo(X, y, weights=w).nlp.tolist()
    model.report(tmp_path / "report.html", named, weights="w")
    assert model.update(named, weights="w").objective == expected.update(X, y, weights=w).objective
    with pytest.raises(ValueError, match="no column 'v'"):
        model.score(named, weights="v")


def test_words_that_are_not_utf8(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(b"h\xf6he,y\n" + b"".join(b"%d,%d\n" % (i, i % 7) for i in range(30)))
    model = oatgp.fit(path, target="y", **FEW)
    assert model.inputs == oatgp.Data.read(path, target="y").inputs == ["h\u00f6he"]
    assert len(model.predict(path).mean) == 30
    path.write_bytes(b"x,y\n1,2\n2,caf\xe9\n")
    with pytest.raises(ValueError, match="'caf\u00e9' is not a number"):
        oatgp.fit(path, target="y")


def test_no_memory_is_a_memory_error(python):
    script = """
import resource
import numpy as np, oatgp
X = np.zeros((2_000_000, 4))
X[::2] = 1
data = oatgp.Data(X, X[:, 0])
with open("/proc/self/status") as status:
    used = next(int(line.split()[1]) for line in status if line.startswith("VmData")) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (used + 20_000_000,) * 2)
try:
    oatgp.fit(data)
except MemoryError as error:
    print(error)
"""
    assert "too little of it is left" in python(script)


def test_options_are_keywords(waves):
    counts = waves[0], np.floor(np.abs(waves[1]))
    full = oatgp.fit(*counts, approx="full", likelihood="poisson", max_iter=2)
    with pytest.raises(ValueError, match=r"fit it again to all rows \(Model.refit\(\)\)"):
        full.update(*counts)
    with pytest.raises(ValueError, match="the model holds no bounds of the exact log evidence"):
        oatgp.fit(*waves, approx="fitc", **FEW).svg("evidence")
    rng = np.random.default_rng(1)
    with pytest.warns(oatgp.OatgpWarning, match=r"\(guard=False fits anyway\)"):
        oatgp.fit(rng.uniform(size=(60, 2)), rng.standard_normal(60))


def test_advice_is_a_warning_in_every_order(waves):
    X, y = waves
    X[7, 1] = 1e6
    for other in orders(X).values():
        with pytest.warns(oatgp.OatgpWarning, match="input 'x2': 1 of 120 numbers is .* such as 1e.06 in row 8"):
            oatgp.fit(other, y, **FEW)


def test_warnings_are_warnings(waves):
    X, y = waves
    with pytest.warns(oatgp.OatgpWarning):
        oatgp.fit(X, y, **FEW).certify(X + 1e-3, y)


# ---- while a fit runs -------------------------------------------------------------------------------------------------

LONG = {"knots": 40, "select": "simultaneous", "restarts": 100000}


def test_listeners_hear_and_end(waves):
    heard = []

    def listen(event):
        heard.append(event)
        return event["iteration"] == 3

    model = oatgp.fit(*waves, progress=listen, **LONG)
    assert (heard[0]["event"], heard[-1]["event"], heard[-1]["stop"]) == ("start", "end", "user")
    assert (model.stop, model.trace) == ("user", heard)


def test_an_error_of_a_listener_comes_out(waves):
    heard = []

    def listen(event):
        heard.append(event)
        raise RuntimeError(f"error {len(heard)}")

    with pytest.raises(RuntimeError, match="error 1"):
        oatgp.fit(*waves, progress=listen, **LONG)
    assert len(heard) == 1


def test_an_error_in_any_callback_ends_the_fit(waves, monkeypatch):
    """Progress by rows cannot say that it is to end, the next event can; the listener does not hear of it."""
    heard, run = [], Call.__call__

    def rows(*_):
        raise OSError("nobody reads this")

    def progress_first(call, name, *arguments, **more):
        if name == "oatgp_fit":
            call._on_rows(None, b"reading", 1, 2)
        run(call, name, *arguments, **more)

    monkeypatch.setattr(Progress, "rows", rows)
    monkeypatch.setattr(Call, "__call__", progress_first)
    with pytest.raises(OSError, match="nobody reads this"):
        oatgp.fit(*waves, progress=heard.append, time_limit=60, **LONG)
    assert not heard


def test_a_listener_that_ends_all_is_no_ctrl_c(waves):
    with pytest.raises(RuntimeError, match="stopped before the first fold"):
        oatgp.cv(*waves, progress=lambda event: True, **LONG)


def test_progress_is_shown(waves, capfd, monkeypatch):
    monkeypatch.setattr("oatgp._library.FIRST_LINE_AFTER", 0)
    monkeypatch.setattr("oatgp._library.NEXT_LINE_AFTER", 0)
    oatgp.fit(*waves, progress=True, **FEW)
    shown = capfd.readouterr().err
    assert "6 knots, iteration" in shown and shown.startswith("\r") and shown.endswith("\n")


def test_progress_has_units_and_a_pace(capfd, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("oatgp._library.time.monotonic", lambda: now[0])
    shown = oatgp._library.Progress(True)
    for seconds, what, done, total in ((1, "reading", 0, 7_200_000_000), (3, "reading", 720_000_000, 7_200_000_000), (4, "value", 50, 400)):
        now[0] = float(seconds)
        shown.rows(what, done, total)
    lines = capfd.readouterr().err.split("\r")
    assert [line.strip() for line in lines[1:]] == [
        "reading: 0 % of 7.2G bytes, 1.0 s",
        "reading: 10 % of 7.2G bytes, 360M bytes/s, 3.0 s",
        "value: 12 % of 400 rows, 4.0 s",
    ]


def test_rows_stay_in_a_file(tmp_path):
    generator, path = np.random.default_rng(1), str(tmp_path / "rows.npy")
    x = generator.uniform(-2, 2, (70000, 2))
    np.save(path, np.column_stack([x, np.sin(2 * x[:, 0]) + x[:, 1] + 0.1 * generator.normal(size=70000)]))
    few = dict(target="3", approx="vfe", knots=5, select="simultaneous", max_iter=2)
    in_file, in_memory = oatgp.fit(path, memory="100K", **few), oatgp.fit(path, **few)
    assert in_file.objective == in_memory.objective
    assert np.array_equal(in_file.knots, in_memory.knots)
    data = oatgp.Data.read(path, target="3", memory="100K")
    with open(path, "ab") as file:
        file.write(b"more")
    with pytest.raises(Exception, match="changed while it was in use"):
        oatgp.fit(data, **{name: value for name, value in few.items() if name != "target"})


def test_ctrl_c_ends_with_the_best_so_far(waves, tmp_path):
    def press(event):
        if event["iteration"] == 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(oatgp.OatgpWarning, match="interrupted; the result is the best model so far"):
        model = oatgp.fit(*waves, progress=press, time_limit=60, on_interrupt="return", **LONG)
    with pytest.raises(KeyboardInterrupt, match="interrupted; the attribute 'result' of this exception is the best model so far; on_interrupt") as raised:
        oatgp.fit(*waves, progress=press, time_limit=60, checkpoint=tmp_path / "checkpoint", **LONG)
    assert isinstance(raised.value, oatgp.Interrupted) and (tmp_path / "checkpoint").exists()
    for found in (model, raised.value.result, pickle.loads(pickle.dumps(raised.value)).result):
        assert found.stop == "user"
        assert found.objective > found.trace[0]["objective"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(ValueError, match="on_interrupt is 'go' but must be 'raise' or 'return'"):
        oatgp.fit(*waves, on_interrupt="go")


@pytest.mark.parametrize("on_interrupt", ["raise", "return"])
def test_ctrl_c_ends_everything_that_is_long(waves, on_interrupt, monkeypatch):
    """Refits, bounds and cross-validations, each with what there is by then."""
    X, y = waves
    model, folds = oatgp.fit(X, y, knots=3, max_iter=2, select="simultaneous"), []

    def press(event):
        folds.extend([event] if event["event"] == "end" else [])
        if len(folds) == 2 or event["event"] == "step":
            signal.raise_signal(signal.SIGINT)

    def press_at_the_end(event):
        folds.extend([event] if event["event"] == "end" else [])
        if len(folds) == 2:
            signal.raise_signal(signal.SIGINT)

    def pressed(*_):
        signal.raise_signal(signal.SIGINT)

    def run(work):
        folds.clear()
        if on_interrupt == "return":
            with pytest.warns(oatgp.OatgpWarning, match="interrupted; the result is the"):
                return work()
        with pytest.raises(oatgp.Interrupted) as raised:
            work()
        return raised.value.result

    assert run(lambda: model.refit(X, y, progress=press, on_interrupt=on_interrupt)).stop == "user"
    monkeypatch.setattr(Progress, "bracket", pressed)
    bounds = run(lambda: model.certify(X, y, on_interrupt=on_interrupt))
    assert model.bounds == (bounds.lower, bounds.upper)
    done = run(lambda: oatgp.fit(X, y, certify=True, on_interrupt=on_interrupt, **FEW))
    assert done.stop != "user" and done.bounds[1] < np.inf
    found = run(lambda: oatgp.cv(X, y, folds=4, progress=press_at_the_end, on_interrupt=on_interrupt, **FEW))
    assert 30 <= found.scores.n < 120


def test_ctrl_c_ends_a_long_prediction(waves, monkeypatch):
    """Pressed during the second of five parts, which is still done, as the library cannot be left."""
    model, run, done = oatgp.fit(*waves, **FEW), Call.__call__, []

    def press(call, name, *arguments, **more):
        if name == "oatgp_predict_interval" and len(done) == 1:
            signal.raise_signal(signal.SIGINT)
        run(call, name, *arguments, **more)
        if name == "oatgp_predict_interval":
            done.append(name)

    monkeypatch.setattr(Call, "__call__", press)
    with pytest.raises(KeyboardInterrupt):
        model.predict(np.zeros((5 * ROWS_AT_A_TIME, 2)))
    assert len(done) == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_go_on(waves):
    """The interpreter's lock is free during a call: this thread counts while the other one is in it."""
    model, data = oatgp.fit(*waves, knots=60, select="fixed", max_iter=1), oatgp.Data(np.zeros((2_000_000, 2)))
    count, seen = 0, []

    def work():
        seen.append(count)
        model.predict_mean(data)
        seen.append(count)

    worker = threading.Thread(target=work)
    worker.start()
    while worker.is_alive():
        time.sleep(0.001)
        count += 1
    assert seen[1] - seen[0] > 10


def test_threads_share_a_model(waves):
    X, y = waves
    model = oatgp.fit(X, y, **FEW)
    expected = model.predict(X).sd.tobytes()
    wrong = []

    def work():
        for _ in range(50):
            if model.predict(X).sd.tobytes() != expected:
                wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


@pytest.mark.parametrize(
    "approx, before, threads",
    [("vfe", "a fit", 1), ("vfe", "nothing", 1), ("full", "nothing", 1), ("full", "a fit", 2)],  # 2: OpenBLAS begins its own anew, idle
)
def test_a_forked_child_works_in_one_thread(python, approx, before, threads):
    script = """
import os, sys
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # what it begins with
import numpy as np, oatgp
X = np.random.default_rng(1).uniform(-1, 1, (900, 2))
y = X.sum(1)
settings = dict(approx=sys.argv[1], knots=20, max_iter=2, threads=2, select="simultaneous")
if sys.argv[2] == "a fit":
    oatgp.fit(X, y, **settings)
child = os.fork()
if child == 0:
    print(oatgp.fit(X, y, **settings).objective, len(os.listdir("/proc/self/task")), flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(oatgp.fit(X, y, **settings).objective)
"""
    found, count, expected = (float(part) for part in python(script, approx, before).split())
    assert count <= threads
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("said, expected", [(None, 1), ("3", 3)])
def test_children_of_multiprocessing_share_the_cores(tmp_path, said, expected):
    """One core each, unless OMP_NUM_THREADS says more; who is alone has all."""
    script = tmp_path / "cores.py"
    script.write_text(
        """
import multiprocessing
def cores(_):
    import oatgp
    return oatgp._library.lib.oatgp_cores()
if __name__ == "__main__":
    print(cores(0))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(*pool.map(cores, [0]))
"""
    )
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    environment.update({} if said is None else {"OMP_NUM_THREADS": said})
    found = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, env=environment)
    own, child = (int(number) for number in found.stdout.split())
    assert child == expected
    assert own == 3 if said else 1 <= own <= len(os.sched_getaffinity(0))


def test_nothing_else_is_needed():
    """Importing the package imports neither scikit-learn nor pandas nor matplotlib."""
    script = "import sys, oatgp; print(sorted({'sklearn', 'pandas', 'matplotlib', 'scipy'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_the_preset_goes_first(waves):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = oatgp.fit(*waves, max_knots=6, preset="paper", kernel="matern32", max_iter=20)
    assert (model.kernel, model.settings["optimizer"], model.settings["max_knots"]) == ("matern32", "adadelta", "6")


def test_files_become_arrays(boston):
    data = oatgp.Data.read(BOSTON, target="medv")
    assert data.X.tolist() == boston[0].tolist() and data.y.tolist() == boston[1].tolist()
    assert oatgp.Data(boston[0]).y is None
    assert repr(data) == "<oatgp.Data: 490 rows, inputs lstat, rm, ptratio>"


def test_a_model_is_updated_while_others_use_it(waves):
    """No update is lost when two threads do it."""
    X, y = waves
    model = oatgp.fit(X, y, **FEW)
    stop, wrong = threading.Event(), []

    def update():
        for _ in range(50):
            model.update(X[:5], y[:5])

    def work():
        while not stop.is_set():
            if not (np.isfinite(model.predict(X).sd).all() and len(model.lengthscales) == 2 and model.knots.shape == (6, 2)):
                wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(2)]
    updaters = [threading.Thread(target=update) for _ in range(2)]
    for thread in workers + updaters:
        thread.start()
    for updater in updaters:
        updater.join()
    stop.set()
    for worker in workers:
        worker.join()
    assert not wrong and model.n == 620


def test_bounds_are_of_the_rows_that_they_are_for(waves, monkeypatch):
    """A model that is updated while it is certified does not get the bounds of the old one."""
    X, y = waves
    model, run = oatgp.fit(X, y, **FEW), Call.__call__

    def then_update(call, name, *arguments, **more):
        run(call, name, *arguments, **more)
        if name == "oatgp_certify":
            model.update(X[:5], y[:5])

    monkeypatch.setattr(Call, "__call__", then_update)
    assert model.certify(X, y).upper < np.inf
    assert (model.n, model.bounds) == (125, (pytest.approx(model.objective - model.log_prior), np.inf))


def test_damaged_bytes_are_refused(waves):
    make, (content, trace, _) = oatgp.fit(*waves, **FEW).__reduce__()
    with pytest.raises(ValueError, match="cut short"):
        make(content[:-8], trace)


# ---- averages over draws of the parameters --------------------------------------------------------------------------


def test_few_rows_are_averaged(waves, caplog):
    X, y = waves[0][:30], waves[1][:30]
    with caplog.at_level("INFO", "oatgp"):
        model = oatgp.fit(X, y)
    assert model.average == 8 and "average=0 uses the best parameters alone" in caplog.text
    assert ", 8 draws, " in repr(model) and "over 8 draws" in model._repr_html_()
    best = oatgp.fit(X, y, average=0)
    assert best.average == 0 and "draws" not in repr(best)
    assert oatgp.fit(X, y, average="auto").predict_mean(X).tobytes() == model.predict_mean(X).tobytes()
    for average, words in ((-1, "average is -1 but must be from 0 to 64"), ("few", "average is 'few' but must be a whole number, or 'auto'")):
        with pytest.raises(ValueError, match=words):
            oatgp.fit(X, y, average=average)


def test_cross_validation_averages_like_the_fits(waves):
    X, y = waves[0][:30], waves[1][:30]
    chosen, asked, best = (oatgp.cv(X, y, folds=3, **average) for average in ({}, {"average": 8}, {"average": 0}))
    assert chosen.mean.tobytes() == asked.mean.tobytes() != best.mean.tobytes()


def test_the_noise_of_averages(waves):
    model = oatgp.fit(waves[0][:20], waves[1][:20])
    found = model.predict(waves[0])
    np.testing.assert_allclose(found.sd**2 - found.sd_latent**2, model._noise_variance, rtol=1e-9)
    assert model._noise_variance != pytest.approx(model.tau**2, rel=1e-3)


# ---- kernels that are expressions -----------------------------------------------------------------------------------

SUM = "se(x1) + linear(x2) * matern52(x1)"
NAMES = ["se(x1).sigma", "se(x1).lengthscale", "(linear(x2) * matern52(x1)).sigma", "matern52(x1).lengthscale"]


def test_a_kernel_that_the_fit_chose(waves):
    X, y = waves
    model = oatgp.fit(X, y, kernel="auto", approx="full", subset_rows=20)
    assert list(model.kernel_candidates)[:3] == ["se-ard", "matern52-ard", "matern32-ard"]
    assert all(np.isfinite(score) for score in model.kernel_candidates.values())
    assert oatgp.fit(X, y, **FEW).kernel_candidates == {}


def test_an_expression_names_its_parameters(waves, tmp_path):
    X, y = waves
    given = {"se(x1).lengthscale": 0.7, "tau": 0.2}
    model = oatgp.fit(X, y, kernel=SUM, parameters=given, fix=["se(x1).lengthscale", "tau"], **FEW)
    assert model.kernel == SUM
    assert list(model.parameters) == NAMES
    assert (model.parameters["se(x1).lengthscale"], model.tau) == pytest.approx((0.7, 0.2), rel=1e-14)
    assert np.isnan(model.sigma) and model.lengthscales.size == 0
    model.save(tmp_path / "model")
    again = oatgp.Model.load(tmp_path / "model")
    assert again.parameters == model.parameters
    assert again.predict(X).mean.tobytes() == model.predict(X).mean.tobytes()
    assert "matern52(x1).lengthscale" in model._repr_html_()
    assert oatgp.fit(X, y, **FEW).parameters == {}


def test_the_objective_of_an_expression(waves):
    X, y = waves
    values = [1.3, 0.8, 0.7, 1.4]
    found = oatgp.objective(X, y, kernel=SUM, parameters=values, tau=0.3, approx="full", gradient=True)
    assert list(found.parameters.values()) == pytest.approx(values, rel=1e-14)
    for i in range(4):
        ahead, behind = (
            oatgp.objective(X, y, kernel=SUM, tau=0.3, approx="full", parameters=[v * np.exp(h * (i == j)) for j, v in enumerate(values)])
            for h in (1e-4, -1e-4)
        )
        assert found.gradient["parameters"][i] == pytest.approx((ahead.objective - behind.objective) / 2e-4, rel=1e-5, abs=1e-5)


def test_events_of_an_expression_have_the_keys_of_the_trace(waves):
    events = []
    oatgp.fit(*waves, kernel=SUM, progress=events.append, **FEW)
    assert all(list(event["parameters"]) == NAMES and "sigma" not in event and "lengthscales" not in event for event in events)


def test_effects_are_the_command_s(command, tmp_path):
    pandas = pytest.importorskip("pandas")
    model = oatgp.fit(BOSTON, target="medv", kernel="se(lstat) + linear(rm) + se(ptratio, rm)", knots=10, max_iter=10)
    model.save(tmp_path / "model")
    frame = pandas.read_csv(BOSTON)
    found, few = model.effects(BOSTON), model.effects(frame[:7], over=frame)
    written = json.loads(command("predict", tmp_path / "model", BOSTON, "--parts", "--json"))
    names = ["se(lstat)", "linear(rm)", "se(ptratio, rm)"]
    assert list(found.mean) == list(found.sd) == list(found.centre) == list(found.share) == list(written["parts"]) == names
    for name in names:
        assert found.mean[name].tolist() == written[f"mean_{name}"] and found.sd[name].tolist() == written[f"sd_{name}"]
        assert {"centre": found.centre[name], "share": found.share[name]} == written["parts"][name]
        np.testing.assert_allclose(few.mean[name], found.mean[name][:7], atol=1e-10)
        np.testing.assert_allclose(few.sd[name], found.sd[name][:7], rtol=1e-6)
        assert abs(found.mean[name].mean()) < 1e-12
    assert abs(sum(found.share.values()) - 1) < 1e-12
    table = pandas.DataFrame(found.mean)
    level = model.predict_mean(frame) - table.sum(axis=1).to_numpy()
    np.testing.assert_allclose(level, level[0], rtol=1e-12)
    near = oatgp.fit(frame, target="medv", kernel="se(lstat) + se(rm)", approx="fitc", neighbours=5, knots=5, max_iter=2)
    with pytest.raises(ValueError, match="effects need a model without neighbours"):
        near.effects(frame)


def test_a_wrong_expression_has_a_caret(waves):
    with pytest.raises(ValueError, match="there is no input 'x3'") as found:
        oatgp.fit(*waves, kernel="se(x1) + linear(x3)")
    assert str(found.value).endswith("\n  se(x1) + linear(x3)\n                  ^")


# ---- categories ----------------------------------------------------------------------------------------------------------


def grouped(rows=90):
    """Three groups, each with a curve of its own."""
    rng = np.random.default_rng(4)
    x, group = rng.uniform(-2, 2, rows), np.arange(rows) % 3
    y = np.sin(2 * x) + 2 * (group == 1) - x * (group == 2) + 0.05 * rng.standard_normal(rows)
    return {"x": x, "group": np.array(["red", "green", "blue"])[group], "code": group * 10.0}, y


@pytest.mark.parametrize("kind", ["dict", "pandas", "category", "string"])
def test_texts_are_categories(kind):
    pandas = pytest.importorskip("pandas")
    columns, y = grouped()
    del columns["code"]
    table = columns if kind == "dict" else pandas.DataFrame(columns)
    if kind in ("category", "string"):
        table["group"] = table["group"].astype(kind)
    model = oatgp.fit(table, y)
    assert model.kernel == "se() * categorical(group)"
    assert model.levels == {"group": ["blue", "green", "red"]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mean = model.predict({"group": ["green", "red", "blue", "green"], "x": [0.5] * 4}).mean
    np.testing.assert_allclose(mean, [np.sin(1) + 2, np.sin(1), np.sin(1) - 0.5, np.sin(1) + 2], atol=0.1)
    one = model.predict({"group": ["green"], "x": [0.5]}).mean
    np.testing.assert_allclose(one, mean[:1], rtol=1e-9)


def test_knots_of_categories_go_by_their_texts():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": np.arange(30.0), "g": ["b", "a", "c"] * 10})
    frame["y"] = np.sin(frame["x"] / 5) + np.arange(30) % 3
    knots = frame[["x", "g"]][2:6]
    expected = oatgp.fit(frame, target="y", knots=knots, select="fixed", max_iter=5).predict(frame).mean
    turned = knots[["g", "x"]].assign(g=pandas.Categorical(knots["g"], ["c", "b", "a"]))
    some = frame.assign(g=pandas.Categorical(frame["g"], ["c", "a", "b"]))
    for data, places in ((frame, turned), (some, knots), (frame, knots.to_dict("list"))):
        found = oatgp.fit(data, target="y", knots=places, select="fixed", max_iter=5).predict(frame).mean
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    with pytest.raises(ValueError, match="the inputs are a list of dicts; pandas.DataFrame.rows. makes a table of them"):
        oatgp.fit(frame.to_dict("records"), target="y")


def test_new_levels_are_told_of():
    columns, y = grouped()
    model = oatgp.fit({"x": columns["x"], "group": columns["group"]}, y)
    with pytest.warns(oatgp.OatgpWarning, match="has the level 'pink' in 2 rows; the model has not seen"):
        prediction = model.predict({"group": ["pink", "red", "pink"], "x": [0.5] * 3})
    assert prediction.mean[0] == prediction.mean[2] and prediction.sd[0] > 2 * prediction.sd[1]


def test_numbers_may_be_categories():
    columns, y = grouped()
    table = {"x": columns["x"], "code": columns["code"]}
    model = oatgp.fit(table, y, factors="code")
    assert model.levels == {"code": ["0", "10", "20"]}
    assert model.predict({"x": [0.5, 0.5], "code": [10, 20]}).mean[0] == pytest.approx(np.sin(1) + 2, abs=0.1)
    array = np.column_stack([columns["x"], columns["code"]])
    again = oatgp.fit(array, y, factors=[2])
    np.testing.assert_allclose(again.predict(array).mean, model.predict(table).mean, rtol=1e-6)


def test_empty_texts_are_refused():
    with pytest.raises(ValueError, match="column 'g': the category of row 2 is an empty text; give it a name, such as 'none', or make it missing"):
        oatgp.Data({"g": ["a", "", "b"]})


def test_missing_categories_are_refused():
    columns, y = grouped(6)
    table = {"x": columns["x"], "group": np.array(["a", None, "b", "a", "b", "a"], dtype=object)}
    with pytest.raises(ValueError, match="column 'group': the category of row 2 is missing"):
        oatgp.fit(table, y)
