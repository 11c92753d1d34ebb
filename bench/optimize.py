"""Bayesian optimisation by several packages, on functions whose smallest value is known.

    python bench/optimize.py run OUT.jsonl [--only oatgp,botorch,..] [--functions hartmann6,..] [--first 0] [--seeds 20] [--evaluations 50]
        [--initial 10]
    python bench/optimize.py table OUT.jsonl..

All methods begin with the same points, a Latin hypercube that depends on the seed alone, and work in one thread. Every run is a line of OUT: method,
function, seed, regret (the true value of the point that the method found, less the smallest value there is), and the seconds and the processor
seconds of all but the imports. A run that is there is not made again. A method whose package is missing is left out, with a line on standard error.
`table` has medians and worst cases of the regret, and sums of the seconds over all seeds.
"""

import argparse
import json
import math
import os
import sys
import time
import warnings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before numpy and torch are loaded

import numpy as np  # noqa: E402

# ---- functions -----------------------------------------------------------------------------------------------------------


def branin(x):
    a, b = x
    return (b - 5.1 / (4 * math.pi**2) * a**2 + 5 / math.pi * a - 6) ** 2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(a) + 10


HARTMANN = {
    3: ([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]],
        [[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]),
    6: ([[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]],
        [[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991], [2348, 1451, 3522, 2883, 3047, 6650],
         [4047, 8828, 8732, 5743, 1091, 381]]),
}  # fmt: skip


def hartmann(x):
    a, p = (np.array(part) for part in HARTMANN[len(x)])
    return -float(np.array([1, 1.2, 3, 3.2]) @ np.exp(-(a * (x - p / 10000) ** 2).sum(1)))


def ackley(x):
    return float(20 - 20 * np.exp(-0.2 * np.sqrt(np.mean(x**2))) + math.e - np.exp(np.mean(np.cos(2 * math.pi * x))))


def rosenbrock(x):
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())


def levy(x):
    w = 1 + (x - 1) / 4
    middle = ((w[:-1] - 1) ** 2 * (1 + 10 * np.sin(math.pi * w[:-1] + 1) ** 2)).sum()
    return float(np.sin(math.pi * w[0]) ** 2 + middle + (w[-1] - 1) ** 2 * (1 + np.sin(2 * math.pi * w[-1]) ** 2))


def six_hump(x):
    a, b = x
    return (4 - 2.1 * a**2 + a**4 / 3) * a**2 + a * b + 4 * (b**2 - 1) * b**2


# name: function, bounds, smallest value, standard deviation of the noise
FUNCTIONS = {
    "branin": (branin, [(-5, 10), (0, 15)], 0.39788735773, 0),
    "hartmann6": (hartmann, [(0, 1)] * 6, -3.32236801141, 0),
    "hartmann3": (hartmann, [(0, 1)] * 3, -3.86277978233, 0),
    "six_hump": (six_hump, [(-3, 3), (-2, 2)], -1.03162845349, 0),
    "ackley4": (ackley, [(-10, 15)] * 4, 0, 0),
    "rosenbrock4": (rosenbrock, [(-5, 10)] * 4, 0, 0),
    "levy5": (levy, [(-10, 10)] * 5, 0, 0),
    "branin_noisy": (branin, [(-5, 10), (0, 15)], 0.39788735773, 1.0),
    "hartmann6_noisy": (hartmann, [(0, 1)] * 6, -3.32236801141, 0.1),
}

# ---- methods: from a function of the unit cube, the points to begin with and a number of evaluations to the point that was found -------


def run_random(function, u, evaluations, seed, noise):
    u = np.vstack([u, np.random.default_rng([seed, 1]).random((evaluations - len(u), u.shape[1]))])
    return u[int(np.argmin([function(row) for row in u]))]


def run_oatgp(function, u, evaluations, seed, noise):
    import oatgp

    optimizer = oatgp.Optimizer([(0, 1)] * u.shape[1], initial=len(u), seed=seed, noise=noise)
    optimizer.tell(u, [function(row) for row in u])
    for _ in range(evaluations - len(u)):
        x = optimizer.ask()
        optimizer.tell(x, function(x))
    return optimizer.best.x


def run_skopt(function, u, evaluations, seed, noise):
    from skopt import gp_minimize

    values = [function(row) for row in u]
    found = gp_minimize(
        lambda x: function(np.array(x)),
        [(0.0, 1.0)] * u.shape[1],
        n_calls=evaluations - len(u),
        n_initial_points=0,
        x0=u.tolist(),
        y0=values,
        random_state=seed,
    )
    return np.array(found.x)


def run_sklearn(function, u, evaluations, seed, noise):
    """A loop as one writes it: Matern 5/2 with a lengthscale for each input, expected improvement climbed by L-BFGS-B from the best of 1000 points."""
    from scipy.optimize import minimize
    from scipy.stats import norm
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    rng, d = np.random.default_rng([seed, 1]), u.shape[1]
    y = np.array([function(row) for row in u])
    while len(y) < evaluations:
        kernel = ConstantKernel(1) * Matern(np.full(d, 0.5), (0.01, 100), 2.5) + WhiteKernel(1e-6 if not noise else 1e-2, (1e-8, 1))
        gp = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=2, random_state=seed).fit(u, y)
        best = (gp.predict(u) if noise else y).min()

        def lost(x):
            mean, sd = gp.predict(np.atleast_2d(x), return_std=True)
            z = (best - mean) / np.maximum(sd, 1e-12)
            return -(sd * (z * norm.cdf(z) + norm.pdf(z)))

        candidates = rng.random((1000, d))
        starts = candidates[np.argsort(lost(candidates))[:5]]
        ends = [minimize(lambda x: float(lost(x)[0]), start, bounds=[(0, 1)] * d, method="L-BFGS-B") for start in starts]
        u = np.vstack([u, min(ends, key=lambda end: end.fun).x])
        y = np.append(y, function(u[-1]))
    return u[int(np.argmin(gp.predict(u) if noise else y))]


def run_botorch(function, u, evaluations, seed, noise, device="cpu"):
    """Its defaults: SingleTaskGP, LogExpectedImprovement (with noise: qLogNoisyExpectedImprovement), 10 restarts from 512 points."""
    import torch
    from botorch.acquisition import LogExpectedImprovement, qLogNoisyExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Standardize
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.manual_seed(seed)
    cube = torch.stack([torch.zeros(u.shape[1]), torch.ones(u.shape[1])]).to(dtype=torch.double, device=device)

    def evaluate(rows):
        return torch.tensor([-function(row) for row in rows.cpu().numpy()], dtype=torch.double, device=device)

    u = torch.tensor(u, dtype=torch.double, device=device)
    y = evaluate(u)
    while True:
        model = SingleTaskGP(u, y[:, None], outcome_transform=Standardize(1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        if len(y) == evaluations:
            break
        rule = qLogNoisyExpectedImprovement(model, u) if noise else LogExpectedImprovement(model, best_f=y.max())
        found, _ = optimize_acqf(rule, bounds=cube, q=1, num_restarts=10, raw_samples=512)
        u, y = torch.cat([u, found]), torch.cat([y, evaluate(found)])
    score = model.posterior(u).mean.squeeze(-1) if noise else y
    return u[int(score.argmax())].cpu().numpy()


def run_botorch_cuda(*arguments):
    return run_botorch(*arguments, device="cuda")


METHODS = {
    "random": run_random,
    "oatgp": run_oatgp,
    "skopt": run_skopt,
    "sklearn": run_sklearn,
    "botorch": run_botorch,
    "botorch-cuda": run_botorch_cuda,
}

# ---- one run, all runs, the table ----------------------------------------------------------------------------------------------


def latin(d, count, seed):
    rng = np.random.default_rng(seed)
    return (np.argsort(rng.random((d, count)), axis=1).T + rng.random((count, d))) / count


def measure(method, name, seed, evaluations, initial):
    function, bounds, lowest, noise = FUNCTIONS[name]
    low, high = np.array(bounds, dtype=float).T
    rng = np.random.default_rng([seed, 7])

    def true(u):
        return function(low + np.asarray(u, dtype=float) * (high - low))

    wall, processor = time.perf_counter(), time.process_time()
    u = METHODS[method](
        lambda u: true(u) + noise * rng.standard_normal() if noise else true(u),
        latin(len(bounds), initial, seed),
        evaluations,
        seed,
        noise > 0,
    )
    seconds = {"seconds": time.perf_counter() - wall, "processor_seconds": time.process_time() - processor}
    return {"method": method, "function": name, "seed": seed, "evaluations": evaluations, "regret": true(u) - lowest, **seconds}


def load(path):
    return [json.loads(line) for line in open(path)] if os.path.exists(path) else []


def run(arguments):
    there = {(run["method"], run["function"], run["seed"], run["evaluations"]) for run in load(arguments.out[0])}
    warnings.simplefilter("ignore")
    with open(arguments.out[0], "a") as out:
        for method in arguments.only.split(","):
            try:
                measure(method, "branin", 0, arguments.initial + 1, arguments.initial)  # imports what it needs
            except ImportError as error:
                print(f"{method} is left out: {error}", file=sys.stderr)
                continue
            for seed in range(arguments.first, arguments.seeds):
                for name in arguments.functions.split(","):
                    if (method, name, seed, arguments.evaluations) not in there:
                        print(json.dumps(measure(method, name, seed, arguments.evaluations, arguments.initial)), file=out, flush=True)


def table(arguments):
    runs = [run for path in arguments.out for run in load(path)]
    print("| function | method | runs | median regret | worst | seconds | processor seconds |\n|---|---|---|---|---|---|---|")
    for name in FUNCTIONS:
        for method in METHODS:
            of = [run for run in runs if run["function"] == name and run["method"] == method]
            if of:
                regret = [run["regret"] for run in of]
                wall, processor = (sum(run[key] for run in of) for key in ("seconds", "processor_seconds"))
                print(f"| {name} | {method} | {len(of)} | {np.median(regret):.2g} | {max(regret):.2g} | {wall:.3g} | {processor:.3g} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("out", nargs="+")
    parser.add_argument("--only", default="oatgp,skopt,sklearn,botorch", help="methods: " + ", ".join(METHODS))
    parser.add_argument("--functions", default="branin,hartmann6", help=", ".join(FUNCTIONS))
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=20, help="the last seed is one less")
    parser.add_argument("--evaluations", type=int, default=50)
    parser.add_argument("--initial", type=int, default=10)
    arguments = parser.parse_args()
    {"run": run, "table": table}[arguments.what](arguments)


if __name__ == "__main__":
    main()
