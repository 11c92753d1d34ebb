#!/usr/bin/env python3
"""Reading a table: oatgp against the C reader of pandas, polars and pyarrow, and against `wc -l`, which only counts lines.

usage: reading.py LIBRARY [--megabytes M] [--rounds R] [--threads T,T..] [--keep]

LIBRARY is liboatgp.so. Makes two files of 8 inputs and a target, with 17 and with 6 digits, in a folder of its own under $TMPDIR; makes a
virtual environment in build/reading-venv with the packages that can be installed there, and lists the others with the reason. The readers
take turns, each in a process of its own, and the medians of R rounds are shown; every reader ends with all columns as doubles in memory.
A first round that is not counted brings the files into the page cache. Needs about 3 M megabytes on the disk and in memory.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, "build", "reading-venv")
PACKAGES = ["numpy", "pandas", "pyarrow", "polars"]

# Each reader: what it is called, the packages it needs, whether it uses threads, and a program that sets `run(path, threads)`, which
# returns something that holds the columns.
READERS = [
    ("oatgp", [], True, """
import ctypes
library = ctypes.CDLL(sys.argv[4])
library.oatgp_context_create.restype = ctypes.c_void_p
library.oatgp_last_error.restype = ctypes.c_char_p
context = ctypes.c_void_p(library.oatgp_context_create())
settings = ctypes.create_string_buffer(1 << 16)  # more than the struct has
library.oatgp_settings_default(settings)
def run(path, threads):
    data = ctypes.c_void_p()
    library.oatgp_context_set_threads(context, threads)
    if library.oatgp_data_read(context, path.encode(), settings, ctypes.byref(data)) != 0:
        raise SystemExit(library.oatgp_last_error(context).decode())
    return data
"""),
    ("pandas (C)", ["pandas"], False, """
import pandas
def run(path, threads):
    return pandas.read_csv(path, engine="c")
"""),
    ("pandas (C, exact)", ["pandas"], False, """
import pandas
def run(path, threads):
    return pandas.read_csv(path, engine="c", float_precision="round_trip")
"""),
    ("polars", ["polars"], True, """
import os
os.environ["POLARS_MAX_THREADS"] = sys.argv[3]
import polars
def run(path, threads):
    return polars.read_csv(path)
"""),
    ("pyarrow", ["pyarrow"], True, """
import pyarrow, pyarrow.csv
def run(path, threads):
    pyarrow.set_cpu_count(threads)
    pyarrow.set_io_thread_count(1)
    return pyarrow.csv.read_csv(path, pyarrow.csv.ReadOptions(use_threads=threads > 1))
"""),
    ("wc -l", [], False, """
import subprocess
def run(path, threads):
    return subprocess.run(["wc", "-l", path], check=True, capture_output=True)
"""),
]

PROGRAM = """
import sys, time
{setup}
begin = time.perf_counter()
result = run(sys.argv[2], int(sys.argv[3]))
print(time.perf_counter() - begin)
"""


def make_environment():
    """The available packages, and why the others are missing."""
    python = os.path.join(VENV, "bin", "python")
    there, absent = set(), {}
    if not os.path.exists(python):
        made = subprocess.run([sys.executable, "-m", "venv", VENV], capture_output=True, text=True)
        if made.returncode != 0:
            return sys.executable, there, {name: "no virtual environment: " + last_line(made) for name in PACKAGES}
    for name in PACKAGES:
        if subprocess.run([python, "-c", "import " + name], capture_output=True).returncode != 0:
            got = subprocess.run([python, "-m", "pip", "install", "--quiet", "--prefer-binary", name], capture_output=True, text=True)
            if got.returncode != 0:
                absent[name] = last_line(got)
                continue
        there.add(name)
    return python, there, absent


def last_line(finished):
    lines = (finished.stderr or finished.stdout).strip().splitlines()
    return lines[-1] if lines else "exit code %d" % finished.returncode


def write_table(path, digits, megabytes):
    """Standard normal inputs, every third ten times as wide; enough rows to fill so many megabytes."""
    import random
    rng = random.Random(7)
    cell = "%%.%dg" % digits
    with open(path, "w") as file:
        file.write("x1,x2,x3,x4,x5,x6,x7,x8,y\n")
        # Rows are made once for a twentieth of the file and written twenty times: Python is slow, and no reader remembers rows.
        lines, size = [], 0
        while size < megabytes * 1e6 / 20:
            line = ",".join(cell % (rng.gauss(0, 1) * (10 if j % 3 == 1 else 1)) for j in range(9)) + "\n"
            lines.append(line)
            size += len(line)
        text = "".join(lines)
        for _ in range(20):
            file.write(text)
    return 20 * len(lines)


def measure(python, reader, path, threads, library):
    name, _, _, setup = reader
    done = subprocess.run([python, "-c", PROGRAM.format(setup=setup), name, path, str(threads), library], capture_output=True, text=True)
    if done.returncode != 0:
        return None, last_line(done)
    return float(done.stdout), None


def compare(python, readers, path, options):
    """Seconds of each (reader, threads), round by round."""
    subjects = [(reader, threads) for reader in readers for threads in (options.threads if reader[2] else [1])]
    seconds, failed = {(r[0], t): [] for r, t in subjects}, {}
    for number in range(options.rounds + 1):
        for reader, threads in subjects:
            key = (reader[0], threads)
            if key in failed:
                continue
            took, why = measure(python, reader, path, threads, options.library)
            if why is not None:
                failed[key] = why
            elif number > 0:
                seconds[key].append(took)
    return seconds, failed


def show(title, path, rows, seconds, failed):
    size = os.path.getsize(path) / 1e6
    print("\n%s: %.0f MB, %d rows of 9 numbers" % (title, size, rows))
    print("%-20s %8s %10s %10s %10s" % ("reader", "threads", "s", "MB/s", "range, s"))
    for (name, threads), times in seconds.items():
        if (name, threads) in failed:
            print("%-20s %8d  failed: %s" % (name, threads, failed[name, threads]))
            continue
        middle = statistics.median(times)
        print("%-20s %8d %10.3f %10.0f %5.3f-%.3f" % (name, threads, middle, size / middle, min(times), max(times)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", metavar="LIBRARY")
    parser.add_argument("--megabytes", type=float, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=lambda text: [int(t) for t in text.split(",")], default=[1, 2])
    parser.add_argument("--keep", action="store_true", help="leave the files and say where they are")
    options = parser.parse_args()
    options.library = os.path.abspath(options.library)
    python, there, absent = make_environment()
    readers = [reader for reader in READERS if all(name in there for name in reader[1])]
    folder = tempfile.mkdtemp(prefix="oatgp-reading-")
    try:
        for digits in (17, 6):
            path = os.path.join(folder, "digits%d.csv" % digits)
            rows = write_table(path, digits, options.megabytes)
            show("%d digits" % digits, path, rows, *compare(python, readers, path, options))
    finally:
        if options.keep:
            print("\nfiles: " + folder)
        else:
            shutil.rmtree(folder)
    for name, why in absent.items():
        print("\nnot installed: %s: %s" % (name, why))


if __name__ == "__main__":
    main()
