"""Data and helpers that several tests use."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROJECT = Path(__file__).parents[3]
os.environ.setdefault("SCIPY_ARRAY_API", "1")  # scikit-learn leaves out a check without it, and looks before it is imported
signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored where a script runs in the background
BOSTON = PROJECT / "data" / "boston.csv"


@pytest.fixture(scope="session")
def boston():
    """Inputs and target of the data set that comes with the project."""
    table = np.genfromtxt(BOSTON, delimiter=",", names=True)
    names = [name for name in table.dtype.names if name != "medv"]
    return np.column_stack([table[name] for name in names]), table["medv"]


@pytest.fixture
def waves():
    """A function of two inputs with noise, small enough for a fit in milliseconds."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-2, 2, (120, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(120)


@pytest.fixture
def command():
    """Runs the command; its path is in $OATGP."""
    path = os.environ.get("OATGP")
    if not path:
        pytest.skip("the command's path is not in $OATGP")

    def run(*arguments):
        return subprocess.run([path, *map(str, arguments)], check=True, capture_output=True, text=True).stdout

    return run


@pytest.fixture
def python():
    """Runs a script in a process of its own; returns what it prints."""

    def run(script, *arguments):
        done = subprocess.run([sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def parts():
    """The texts and arrays of a model file."""

    def read(path):
        content = Path(path).read_bytes()
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + length])
        texts = header.pop("__metadata__")
        body = content[8 + length :]
        return texts, {name: np.frombuffer(body[slice(*part["data_offsets"])]) for name, part in header.items()}

    return read
