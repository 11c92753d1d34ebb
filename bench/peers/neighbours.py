"""Knots and neighbours: oatgp's fits beside GPBoost's full_scale_vecchia and vecchia, on one set.

usage: PYTHON neighbours.py TRAIN.csv TEST.csv [--threads 2] [--knots 200] [--neighbours 30] [--command build/oatgp]

PYTHON has GPBoost (requirements-gpboost.txt). The tables have a header, and the target is their last column. All have the same
threads, the squared exponential kernel with a lengthscale for each input, and inputs in standard units. Each way is one fit in a
process of its own, one after the other. Prints a row of a table for each: seconds and processor seconds of the fit, mean negative
log density of the test rows in the target's unit, and their root mean squared error."""

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    options = _options()
    if options.way:
        print(json.dumps(_gpboost(options)))
        return
    print(f"| | seconds of the fit, {options.threads} threads | of the processor | mean NLP | RMSE |\n|---|---|---|---|---|", flush=True)
    _show("oatgp, automatic", _oatgp(options))
    same = ["--approx", "fitc", "--knots", f"random:{options.knots}", "--neighbours", str(options.neighbours), "--select", "fixed"]
    _show("oatgp, as many knots and neighbours", _oatgp(options, same))
    for way in ("full_scale_vecchia", "vecchia"):
        done = subprocess.run([sys.executable, __file__, *sys.argv[1:], "--way", way], capture_output=True, text=True)
        _show(f"GPBoost, {way}", json.loads(done.stdout) if done.returncode == 0 else (done.stderr.strip() or "failed").splitlines()[-1])


def _options():
    parser = argparse.ArgumentParser()
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--knots", type=int, default=200)
    parser.add_argument("--neighbours", type=int, default=30)
    parser.add_argument("--command", default=str(ROOT / "build" / "oatgp"))
    parser.add_argument("--way", help=argparse.SUPPRESS)
    return parser.parse_args()


def _show(name, found):
    cells = f"{found['seconds']:.1f} | {found['work']:.1f} | {found['nlp']:.4f} | {found['rmse']:.4g}" if isinstance(found, dict) else f"{found} | | |"
    print(f"| {name} | {cells} |", flush=True)


def _oatgp(options, words=()):
    with tempfile.TemporaryDirectory() as folder:
        model, threads = f"{folder}/model.oatgp", ["--threads", str(options.threads), "--json", "--quiet"]
        began, before = time.perf_counter(), _work_of_children()
        subprocess.run([options.command, "fit", options.train, "--target", "last", "-o", model, *words, *threads], check=True, capture_output=True)
        seconds, work = time.perf_counter() - began, _work_of_children() - before
        done = subprocess.run([options.command, "score", model, options.test, *threads], check=True, capture_output=True, text=True)
    scores = json.loads(done.stdout)
    return dict(seconds=seconds, work=work, nlp=scores["mean_nlp"], rmse=scores["rmse"])


def _work_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _gpboost(options):
    import gpboost

    train, test = (np.loadtxt(path, delimiter=",", skiprows=1) for path in (options.train, options.test))
    centre, scale = train.mean(axis=0), train.std(axis=0)
    scale[scale == 0] = 1
    train, test = (train - centre) / scale, (test - centre) / scale
    x, y, other = (np.ascontiguousarray(part) for part in (train[:, :-1], train[:, -1], test[:, :-1]))  # GPBoost reads past strides
    knots = {} if options.way == "vecchia" else dict(num_ind_points=options.knots)
    began, before = time.perf_counter(), time.process_time()
    model = gpboost.GPModel(gp_coords=x, cov_function="gaussian_ard", gp_approx=options.way, num_neighbors=options.neighbours,
                            num_parallel_threads=options.threads, seed=1, **knots)
    model.fit(y=y)
    seconds, work = time.perf_counter() - began, time.process_time() - before
    model.set_prediction_data(num_neighbors_pred=2 * options.neighbours)
    found = model.predict(gp_coords_pred=other, predict_var=True, predict_response=True)
    error = test[:, -1] - found["mu"]
    nlp = np.mean(0.5 * np.log(2 * np.pi * found["var"]) + 0.5 * error**2 / found["var"]) + np.log(scale[-1])
    return dict(seconds=seconds, work=work, nlp=float(nlp), rmse=float(np.sqrt(np.mean(error**2)) * scale[-1]))


if __name__ == "__main__":
    main()
