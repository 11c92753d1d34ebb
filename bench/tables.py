#!/usr/bin/env python3
"""Fits of real tables, and predictions of their other rows.

  Rscript bench/tables.R FOLDER LIBRARY...
  python3 bench/tables.py run OUT FOLDER [--command build/oatgp] [--rows 20,40,80,160] [--shuffle] [--fit NAME=OPTIONS]...
  python3 bench/tables.py table OUT [--worst 10] [--than NAME]

FOLDER has CSV files with a header and the target in the last column, such as the data frames of R packages. OUT collects
one JSON line for each table and number of rows; those that it has are passed over. Without --rows, four fifths of the
rows are fitted, at most MOST_ROWS. --shuffle shuffles the target, so that there is nothing to find. The fits are the
default, the exact GP (--approx full), and those of --fit. The table compares mean NLPs of up to 1000 other rows, where
every difference is cut off at CUT nats, so that single rows do not decide the mean. Below it are the problems on which
the default is most worse than NAME, which is the exact GP without --than.
"""
import argparse
import csv
import json
import math
import os
import random
import shlex
import subprocess
import tempfile
import zlib

import numpy as np

MOST_ROWS, MOST_TEST, LEAST_TEST = 600, 1000, 10
CUT = 3.0
ALLOWED = 0.02  # nats a row


def is_number(text):
    try:
        return np.isfinite(float(text))
    except ValueError:
        return False


def nlp(y, mean, sd):
    return float(np.mean(0.5 * np.log(2 * np.pi * sd**2) + 0.5 * ((y - mean) / sd) ** 2))


def design(columns, places):
    """A column of ones, the numbers, and an indicator for each text but the first; standardised over `places`."""
    parts = []
    for column in columns:
        if all(is_number(v) for v in column):
            parts.append(np.array(column, float)[:, None])
        else:
            levels = sorted(set(column))[1:]
            parts.append(np.array([[float(v == level) for level in levels] for v in column]).reshape(len(column), -1))
    x = np.hstack(parts)
    spread = x[places].std(axis=0)
    x = (x - x[places].mean(axis=0))[:, spread > 0] / spread[spread > 0]
    return np.hstack([np.ones((len(x), 1)), x])


def regression(x, y, x_test, y_test):
    inverse = np.linalg.inv(x.T @ x + 1e-6 * np.eye(x.shape[1]))
    slopes = inverse @ (x.T @ y)
    sd = max(np.sqrt(np.sum((y - x @ slopes) ** 2) / max(1, len(y) - x.shape[1])), 1e-10)
    return nlp(y_test, x_test @ slopes, sd * np.sqrt(1 + np.einsum("ij,jk,ik->i", x_test, inverse, x_test)))


def write(path, head, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([head, *rows])


def fit(command, folder, target, options):
    """Scores of the rows in test.csv; what the fit said, if it failed."""
    model = os.path.join(folder, "m.oatgp")
    paths = os.path.join(folder, "train.csv"), os.path.join(folder, "test.csv")
    done = subprocess.run([command, "fit", paths[0], "--target", target, "-o", model, "--json", *options], capture_output=True, text=True)
    if done.returncode != 0:
        return {"failed": done.stderr[-300:]}
    made = json.loads(done.stdout)
    scored = subprocess.run([command, "score", model, paths[1], "--json", "--quiet"], capture_output=True, text=True)
    if scored.returncode != 0:
        return {"failed": scored.stderr[-300:]}
    scores = json.loads(scored.stdout)
    return {"nlp": scores["mean_nlp"], "coverage": scores["coverage95"], "objective": made["objective"], "model": made["model"],
            "seconds": made["seconds"], "draws": len(made.get("average") or []), "said": done.stderr}


def run_one(args, name, count, fits):
    with open(os.path.join(args.folder, name + ".csv"), newline="") as file:
        head, *rows = csv.reader(file)
    chance = random.Random(zlib.crc32(f"{name} {count}".encode()))
    chance.shuffle(rows)
    if args.shuffle:
        targets = [row[-1] for row in rows]
        chance.shuffle(targets)
        rows = [[*row[:-1], target] for row, target in zip(rows, targets)]
    count = count or min(len(rows) - len(rows) // 5, MOST_ROWS)
    rows = rows[: count + MOST_TEST]
    y = np.array([float(row[-1]) for row in rows])
    if len(rows) - count < LEAST_TEST or y[:count].std() == 0:
        return None
    x = design(list(zip(*(row[:-1] for row in rows))), slice(count))
    result = {"constant": {"nlp": nlp(y[count:], y[:count].mean(), y[:count].std(ddof=1))},
              "regression": {"nlp": regression(x[:count], y[:count], x[count:], y[count:])}}
    with tempfile.TemporaryDirectory() as folder:
        write(os.path.join(folder, "train.csv"), head, rows[:count])
        write(os.path.join(folder, "test.csv"), head, rows[count:])
        for fitted, options in fits.items():
            result[fitted] = fit(args.command, folder, head[-1], options)
    return {"name": name, "n": count, "inputs": len(head) - 1, "fits": result}


def run(args):
    fits = {"default": [], "exact": ["--approx", "full"]}
    fits.update((name, shlex.split(options)) for name, options in (text.split("=", 1) for text in args.fit))
    done = set()
    if os.path.exists(args.out):
        with open(args.out) as file:
            done = {(r["name"], r["wanted"]) for r in map(json.loads, file)}
    names = sorted(name[:-4] for name in os.listdir(args.folder) if name.endswith(".csv"))
    for name in names:
        for count in [int(n) for n in args.rows.split(",")] if args.rows else [0]:
            result = None if (name, count) in done else run_one(args, name, count, fits)
            if result is not None:
                with open(args.out, "a") as file:
                    file.write(json.dumps({"wanted": count, **result}) + "\n")


def apart(result, fitted, other):
    return float(np.clip(result["fits"][fitted]["nlp"] - result["fits"][other]["nlp"], -CUT, CUT))


def table(args):
    with open(args.out) as file:
        results = [json.loads(line) for line in file]
    failed = [r for r in results if any("failed" in f for f in r["fits"].values())]
    whole = [r for r in results if r not in failed]
    print(f"{len(results)} problems, {len(failed)} of which could not be fitted\n")
    print("| fit | mean NLP, relative to a constant | worse than the default | better | worse than the constant | 95 % intervals "
          "| averaged | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for name in whole[0]["fits"]:
        to_default = [apart(r, name, "default") for r in whole]
        to_constant = [apart(r, name, "constant") for r in whole]
        inside = [r["fits"][name]["coverage"] for r in whole if "coverage" in r["fits"][name]]
        seconds = [r["fits"][name]["seconds"] for r in whole if "seconds" in r["fits"][name]]
        averaged = sum(r["fits"][name].get("draws", 0) > 0 for r in whole)
        print(f"| {name} | {np.mean(to_constant):+.3f} | {sum(d > ALLOWED for d in to_default)} | {sum(d < -ALLOWED for d in to_default)} "
              f"| {sum(d > ALLOWED for d in to_constant)} | {f'{100 * np.mean(inside):.1f}' if inside else ''} "
              f"| {averaged} | {f'{np.mean(seconds):.3f}' if seconds else ''} |")
    print(f"\nThe default fit is furthest above {args.than} on (allowed: {ALLOWED}):")
    for r in sorted(whole, key=lambda r: -apart(r, "default", args.than))[: args.worst]:
        ours, other = r["fits"]["default"], r["fits"][args.than]
        print(f"  {r['name']}, {r['n']} rows, {r['inputs']} inputs: {ours['nlp']:.4g} and {other['nlp']:.4g}, "
              f"objective {ours['objective']:.6g} and {other.get('objective', math.nan):.6g}")
    for r in failed:
        print(f"failed: {r['name']}: {next(f['failed'] for f in r['fits'].values() if 'failed' in f).strip().splitlines()[-1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("out")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--command", default="build/oatgp")
    parser.add_argument("--rows", default="")
    parser.add_argument("--shuffle", action="store_true")
    parser.add_argument("--fit", action="append", default=[])
    parser.add_argument("--worst", type=int, default=10)
    parser.add_argument("--than", default="exact")
    args = parser.parse_args()
    run(args) if args.what == "run" else table(args)


if __name__ == "__main__":
    main()
