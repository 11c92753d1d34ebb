"""The package as it is installed: its types, its wheel, and, with script/python --all, its sdist and auditwheel's judgement."""

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import oatgp

from conftest import PROJECT

ONE_LINE = "import numpy as np, oatgp; x = np.linspace(0, 6, 50); print(oatgp.fit(x, np.sin(x)).predict([1.0]).mean)"

slow = pytest.mark.skipif("OATGP_TEST_ALL" not in os.environ, reason="only with script/python --all")


@pytest.fixture
def wheel():
    path = os.environ.get("OATGP_WHEEL")
    if not path:
        pytest.skip("the wheel's path is not in $OATGP_WHEEL")
    return Path(path)


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_types():
    pytest.importorskip("mypy")
    run(sys.executable, "-m", "mypy", "--config-file", PROJECT / "pyproject.toml", "--cache-dir", os.devnull, "-p", "oatgp", cwd="/")


def test_users_types_are_checked(tmp_path):
    """A wrong name or choice of a setting is found before the program runs."""
    pytest.importorskip("mypy")
    lines = [
        "import oatgp",
        'oatgp.fit([1.0], [1.0], approx="spline")',
        'oatgp.fit([1.0], [1.0], kernl="se")',
        "oatgp.OATGPRegressor(knots=5)",
        'oatgp.fit([1.0], [1.0], jitter="auto")',
        "oatgp.OATGPRegressor(jitter=1e-8)",
        'oatgp.fit([1.0], [1.0], jitter="much")',
        'oatgp.cv([1.0], [1.0], average="auto")',
        "oatgp.OATGPRegressor(average=0)",
        'oatgp.fit([1.0], [1.0], average="always")',
    ]
    (tmp_path / "user.py").write_text("\n".join(lines))
    command = [sys.executable, "-m", "mypy", "--cache-dir", os.devnull, "user.py"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout
    assert re.findall(r"user.py:(\d+): error", found) == ["2", "3", "7", "10"], found


def test_version():
    text = (PROJECT / "CMakeLists.txt").read_text()
    assert f"project(oatgp VERSION {oatgp.__version__} " in text


def test_one_wheel_for_all(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "oatgp/py.typed" in names and "oatgp/_settings.py" in names
    assert not [name for name in names if name.endswith((".h", ".a", ".def")) or name.startswith("oatgp/tests")]
    tags = email.message_from_bytes(zipfile.ZipFile(wheel).read(next(name for name in names if name.endswith("/WHEEL")))).get_all("Tag")
    assert all(tag.startswith("py3-none-") for tag in tags)
    assert wheel.stat().st_size < 12_000_000


def test_nothing_but_libc_is_needed(wheel, tmp_path):
    """What is not libc's is inside the library or beside it."""
    zipfile.ZipFile(wheel).extractall(tmp_path)
    for line in run("ldd", tmp_path / "oatgp" / "liboatgp.so").splitlines():
        name = line.split()[0]
        assert re.match(r"linux-vdso|/lib.*ld-|lib(c|m|dl|rt|pthread)\.so", name) or str(tmp_path) in line, line


def test_the_kernels_of_the_blas_are_put_right(tmp_path):
    """Those of the OpenBLAS inside, where it begins too low, as on a processor that it does not know."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    script = f"""
import ctypes
library = ctypes.CDLL({str(Path(oatgp.__file__).with_name("liboatgp.so"))!r})
library.oatgp_feature.argtypes = [ctypes.c_size_t, ctypes.POINTER(ctypes.c_char_p)]
for index in range(2):
    value = ctypes.c_char_p()
    library.oatgp_feature(index, ctypes.byref(value))
    print(value.value.decode())
"""
    run("cc", "-shared", "-fPIC", PROJECT / "tests" / "low_kernels.c", "-o", tmp_path / "low.so")
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    blas, processor = run(sys.executable, "-c", script, env={**environment, "LD_PRELOAD": str(tmp_path / "low.so")}).splitlines()
    if not blas.startswith("OpenBLAS") or processor not in ("AVX2", "AVX-512"):
        pytest.skip("the BLAS is not OpenBLAS, or the processor has no AVX2")
    assert re.match(r"OpenBLAS [0-9.]+, kernels for (Zen|Haswell|SkylakeX) \(it had chosen Prescott\)$", blas), blas


@slow
def test_auditwheel_repairs_to_manylinux(tmp_path):
    """The wheel of script/package: script/python has let auditwheel make it."""
    repaired = Path(os.environ["OATGP_MANYLINUX"])
    assert re.search(r"py3-none-manylinux_2_\d+_", repaired.name), repaired.name
    for_every_python(tmp_path, repaired)


def for_every_python(folder, package):
    """A fresh environment for each Python that is here: a line to install, a line to fit."""
    for minor in range(9, 15):
        there = (
            subprocess.run([f"python3.{minor}", "-c", "import venv, ensurepip"], capture_output=True) if which(f"python3.{minor}") else None
        )
        if there is not None and there.returncode == 0:
            home = folder / f"venv{minor}"
            run(f"python3.{minor}", "-m", "venv", home)
            run(home / "bin" / "pip", "install", "-q", package)
            assert float(run(home / "bin" / "python", "-c", ONE_LINE, cwd=folder).strip(" []\n")) == pytest.approx(0.84, abs=0.01)
            print(f"python3.{minor}: ok")


def which(name):
    from shutil import which as find

    return find(name)


@slow
def test_sdist_builds(tmp_path):
    """From the sdist, with the build environment that pip makes, as on a machine that has nothing but the C libraries."""
    run(sys.executable, "-m", "build", "--sdist", "-o", tmp_path, PROJECT)
    (sdist,) = tmp_path.glob("*.tar.gz")
    names = tarfile.open(sdist).getnames()
    assert not [name for name in names if "/build/" in name or "/results/" in name]
    home = tmp_path / "venv"
    run(sys.executable, "-m", "venv", home)
    run(home / "bin" / "pip", "install", "-q", sdist)
    assert "0.8" in run(home / "bin" / "python", "-c", ONE_LINE, cwd=tmp_path)
