#!/usr/bin/env python3
"""tvfe beside vfe with the same numbers of knots, and with the knots that oat-gain keeps, on the first split of bench/splits.py.

    python3 bench/tvfe.py run OUT.jsonl [--command build/oatgp] [--data ../shared/data] [--sets A,B] [--knots 25,50,100,200,400]
    python3 bench/tvfe.py table OUT.jsonl

The knots come from k-means and move together with the parameters for 300 iterations; oat-gain keeps a knot that gains one nat, up to 300. Each result
is a line of OUT, and one that is there is not made again. A set with fewer rows than knots is passed over."""
import argparse
import json
import pathlib

from splits import fit_and_score, read_set

SETS = ["boston", "mcycle", "yacht", "energy", "concrete", "airfoil", "ccpp"]


def ways(rows, knots):
    """Names and options."""
    for k in knots:
        if k < rows:
            yield str(k), ["--knots", str(k), "--select", "simultaneous", "--max-iter", "300"]
    yield "oat-gain", ["--select", "oat-gain", "--tol-knot", "1", "--max-knots", "300"]


def run(args):
    out = pathlib.Path(args.out)
    known = {(d["set"], d["way"], d["approx"]) for d in map(json.loads, out.read_text().splitlines())} if out.exists() else set()
    for name in args.sets.split(","):
        lines, where = read_set(pathlib.Path(args.data), name)
        for way, options in ways(sum(place != 0 for place in where), [int(k) for k in args.knots.split(",")]):
            for approx in ("vfe", "tvfe"):
                if (name, way, approx) not in known:
                    found = fit_and_score(args.command, lines, where, 0, [*options, "--approx", approx])
                    with open(out, "a") as file:
                        file.write(json.dumps({"set": name, "way": way, "approx": approx, **found}) + "\n")


def table(args):
    found = {}
    with open(args.out) as file:
        for d in map(json.loads, file):
            found[d["set"], d["way"], d["approx"]] = d
    for name, way, approx in found:
        if approx == "tvfe" and (name, way, "vfe") in found:
            a, b = found[name, way, "vfe"], found[name, way, "tvfe"]
            print(
                f"{name:10} {way:8} {a['knots']:4} {b['knots']:4} knots, mean NLP {a['nlp']:.3f} {b['nlp']:.3f}, "
                f"objective {b['objective'] - a['objective']:+.1f}, {a['seconds']:.1f} {b['seconds']:.1f} s"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["run", "table"])
    parser.add_argument("out")
    parser.add_argument("--command", default="build/oatgp")
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--knots", default="25,50,100,200,400")
    args = parser.parse_args()
    {"run": run, "table": table}[args.action](args)


if __name__ == "__main__":
    main()
