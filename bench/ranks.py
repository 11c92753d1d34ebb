#!/usr/bin/env python3
"""Weak and strong scaling of one evaluation over MPI ranks, one thread each.

    bench/ranks.py BUILD [MOST_RANKS] [ROWS_A_RANK] [ROUNDS]

BUILD is the folder with oatgp and liboatgp_mpi.so, and with bench/rows (OATGP_BUILD_BENCH). Prints the seconds of an evaluation with its gradient
for 1, 2, 4, .. ranks, with as many rows a rank (weak) and in all (strong), and the processor seconds of all ranks for a million rows: on a
machine that is busy with other work they say more than seconds. The time of an evaluation is the difference of commands with six
evaluations and with two, by four, so that reading and checking the file do not count."""
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

KNOTS = 128


def seconds(build, ranks, path, iterations):
    command = ["mpirun", "--bind-to", "core", "--map-by", "core", "--oversubscribe", "-n", str(ranks), build + "/oatgp", "fit", path]
    command += ["--target", "9", "--approx", "vfe", "--knots", "random:%d" % KNOTS, "--select", "simultaneous", "--threads", "1", "--quiet"]
    command += ["--device", "cpu", "--max-eval", str(iterations), "-o", path + ".oatgp"]
    if os.geteuid() == 0:
        command.insert(1, "--allow-run-as-root")
    began, before = time.monotonic(), processor()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began, processor() - before


def processor():
    """The processor seconds of the commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def evaluation(build, ranks, path, rounds):
    """The best of some differences of four evaluations: seconds, and processor seconds of all ranks."""
    pairs = [(seconds(build, ranks, path, 6), seconds(build, ranks, path, 2)) for _ in range(rounds)]
    return [min((six[i] - two[i]) / 4 for six, two in pairs) for i in range(2)]


def main(build, most=16, each=1000000, rounds=2):
    if shutil.which("mpirun") is None:
        sys.exit("bench/ranks.py: there is no mpirun here (Debian: openmpi-bin)")
    counts = [count for count in (1, 2, 4, 8, 16, 32, 64) if count <= most]
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/rows.npy"
        first = {}
        for kind in ("weak", "strong"):
            for count in counts:
                rows = each * count if kind == "weak" else each
                subprocess.run([build + "/bench/rows", str(rows), "8", "f8", path], check=True)
                taken, used = evaluation(build, count, path, rounds)
                first.setdefault(kind, taken)
                ideal = first[kind] if kind == "weak" else first[kind] / count
                line = (kind, count, rows, taken, ideal / taken, 1e6 * used / rows)
                print("%-7s%3d ranks %10d rows %9.3f s  efficiency %.3f %9.3f processor s a million rows" % line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *(int(text) for text in sys.argv[2:]))
