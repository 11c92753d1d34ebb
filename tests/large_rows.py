#!/usr/bin/env python3
"""Writes the .npy files of test_large.sh and test_ranks.sh: large_rows.py ROWS FOLDER.

a.npy has 4 inputs and a target in float64; f.npy the same in Fortran's order; s.npy as float32 and s8.npy the same numbers as float64;
part-0.npy to part-2.npy the rows of a.npy; c.npy a target of 0 and 1; w.npy has weights in column 6; b.npy is a.npy in the other order of bytes;
k.npy has 12 knots; bad.npy a missing value in the middle."""
import array
import math
import random
import struct
import sys


def header(kind, fortran, rows, columns):
    text = "{'descr': '%s', 'fortran_order': %s, 'shape': (%d, %d), }" % (kind, fortran, rows, columns)
    text += " " * ((64 - (10 + len(text) + 1) % 64) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def save(path, rows, code="d", fortran=False, order="<"):
    values = array.array(code, (value for line in (zip(*rows) if fortran else rows) for value in line))
    if (order == "<") != (sys.byteorder == "little"):
        values.byteswap()
    with open(path, "wb") as file:
        file.write(header(order + ("f8" if code == "d" else "f4"), fortran, len(rows), len(rows[0])))
        file.write(values.tobytes())


def main(count, folder):
    random.seed(1)
    numbers, classes = [], []
    for _ in range(count):
        x = [random.uniform(-2, 2) for _ in range(4)]
        f = math.sin(2 * x[0]) + 0.5 * x[1] + math.cos(x[2] * x[3])
        numbers.append(x + [f + 0.2 * random.gauss(0, 1)])
        classes.append(x + [float(random.random() < 1 / (1 + math.exp(-2 * f)))])
    save(folder + "/a.npy", numbers)
    save(folder + "/f.npy", numbers, fortran=True)
    save(folder + "/s.npy", numbers, "f")
    save(folder + "/s8.npy", [list(array.array("f", row)) for row in numbers])
    save(folder + "/c.npy", classes)
    save(folder + "/w.npy", [row + [0.5 + i % 7] for i, row in enumerate(numbers)])
    save(folder + "/b.npy", numbers, order=">")
    save(folder + "/k.npy", [row[:4] for row in numbers[:12]])
    for part in range(3):
        save(folder + "/part-%d.npy" % part, numbers[part * count // 3 : (part + 1) * count // 3], fortran=part == 1)
    numbers[count // 2][2] = math.nan
    save(folder + "/bad.npy", numbers)


main(int(sys.argv[1]), sys.argv[2])
