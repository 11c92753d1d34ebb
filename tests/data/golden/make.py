#!/usr/bin/env python3
"""Makes the golden files of this folder by dense formulas that share no code with oatgp. Needs numpy.

  python3 make.py           writes all of them again
  python3 make.py --check   writes none; says how far each file is from what would be written; fails if one is too far

README.md says what is in each file. The record of Airfoil in optima.json stays as it is, for its data are not part of
the project; with --airfoil FOLDER it is made again, too, from FOLDER/data/airfoil.csv and
FOLDER/reference/splits/airfoil/run1/train_rows.csv.
"""
import argparse
import json
import math
import os
import sys

import numpy as np

FOLDER = os.path.dirname(os.path.abspath(__file__))
BOSTON = os.path.join(FOLDER, "..", "..", "..", "data", "boston.csv")


def table(path):
    return np.loadtxt(os.path.join(FOLDER, path), delimiter=",", skiprows=1, ndmin=2)


X, Z, TEST, Y = table("X.csv"), table("Xu.csv"), table("Xtest.csv"), table("y.csv")[:, 0]
N, INPUTS = X.shape
RESIDUAL = Y - Y.mean()


# ---- dense formulas, for real and complex parameters ---------------------------------------------------------------


def correlation(kind, a, b, lengthscale):
    """k(a_i, b_j) / sigma^2"""
    s = (((a[:, None, :] - b[None, :, :]) / lengthscale) ** 2).sum(-1)
    if kind == "se":
        return np.exp(-s / 2)
    if kind == "matern32":
        r = np.sqrt(3 * s)
        return (1 + r) * np.exp(-r)
    r = np.sqrt(5 * s)
    return (1 + r + r * r / 3) * np.exp(-r)


def log_normal(residual, covariance):
    """log N(residual; 0, covariance)"""
    sign, size = np.linalg.slogdet(covariance)
    angle = 1j * np.angle(sign) if np.iscomplexobj(covariance) else 0
    quadratic = residual @ np.linalg.solve(covariance, residual)
    return -(len(residual) * math.log(2 * math.pi) + size + angle + quadratic) / 2


def complex_step(function, at):
    """Derivatives without cancellation."""
    return np.array([function(at + 1e-30j * unit).imag / 1e-30 for unit in np.eye(len(at))])


def five_points(function, at, h=1e-5):
    def slope(unit):
        near, far = [function(at + t * h * unit) - function(at - t * h * unit) for t in (1, 2)]
        return (8 * near - far) / (12 * h)

    return np.array([slope(unit) for unit in np.eye(len(at))])


# ---- oatgp.json: oatgp's own definitions ---------------------------------------------------------------------------


class Sparse:
    """A model at log sigma, log tau, log lengthscales and knots. The jitter is relative to sigma^2, and on Kuu."""

    def __init__(self, point, kind, scales, jitter, approx, alpha):
        self.sigma2, self.tau2 = np.exp(2 * point[:2])
        lengthscale, knots = np.exp(point[2 : 2 + scales]), point[2 + scales :].reshape(Z.shape)
        self.k = lambda a, b: self.sigma2 * correlation(kind, a, b, lengthscale)
        self.approx, self.knots, self.penalty = approx, knots, 0
        if approx == "full":
            self.covariance = self.k(X, X) + self.tau2 * np.eye(N)
            return
        self.kuu = self.k(knots, knots) + jitter * self.sigma2 * np.eye(len(knots))
        self.kuf = self.k(knots, X)
        q = self.kuf.T @ np.linalg.solve(self.kuu, self.kuf)
        rest = self.sigma2 - np.diag(q)
        self.covariance = q + np.diag(self.tau2 + alpha * rest)
        if approx == "vfe":
            self.penalty = -rest.sum() / (2 * self.tau2)
        elif approx == "pep":
            self.penalty = -(1 - alpha) / (2 * alpha) * np.log(1 + alpha * rest / self.tau2).sum()

    def objective(self):
        return log_normal(RESIDUAL, self.covariance) + self.penalty

    def predict(self):
        """Mean and variance of f at the test points; dic has the prior of the knots alone."""
        prior = self.sigma2
        if self.approx == "full":
            cross = self.k(TEST, X)
        else:
            ktu = self.k(TEST, self.knots)
            solved = np.linalg.solve(self.kuu, ktu.T).T
            cross = solved @ self.kuf
            prior = (solved * ktu).sum(1) if self.approx == "dic" else prior
        taken = (cross * np.linalg.solve(self.covariance, cross.T).T).sum(1)
        return Y.mean() + cross @ np.linalg.solve(self.covariance, RESIDUAL), prior - taken


def golden_record(kind, lengthscales, jitter, approx, alpha):
    point = np.concatenate([np.log([1.3, 0.25]), np.log(lengthscales), Z.ravel()])
    scales, ard = len(lengthscales), len(lengthscales) > 1

    def model(at):
        return Sparse(at, kind, scales, jitter, approx, alpha)

    mean, variance = model(point).predict()
    slope = (complex_step if kind == "se" else five_points)(lambda at: model(at).objective(), point)
    gradient = {"log_sigma": slope[0], "log_tau": slope[1], "log_lengthscales": list(slope[2 : 2 + scales])}
    if approx != "full":
        gradient["knots"] = slope[2 + scales :].reshape(Z.shape).tolist()
    return {
        "kernel": kind + ("-ard" if ard else ""),
        "approx": approx,
        "alpha": alpha,
        "jitter": jitter,
        "sigma": 1.3,
        "tau": 0.25,
        "lengthscales": lengthscales,
        "mean": Y.mean(),
        "objective": model(point).objective(),
        "predict_mean": list(mean),
        "predict_latent_variance": list(variance),
        "gradient": gradient,
        "gradient_accuracy": 1e-9 if kind == "se" else 1e-6,
    }


def golden_records():
    models = [("full", 0), ("dic", 0), ("dtc", 0), ("vfe", 0), ("fic", 1), ("pep", 0.5)]
    return [
        golden_record(kind, lengthscales, jitter, *model)
        for kind in ("se", "matern32", "matern52")
        for lengthscales in ([0.9], [0.8, 1.4])
        for jitter in (1e-6, 1e-3)
        for model in models
    ]


# ---- the definitions of the paper's R package: delta is absolute, and the noise has it, too ------------------------

DELTA = 1e-3


def package_bound(sigma, lengthscale, tau, knots):
    kuu = sigma**2 * correlation("se", knots, knots, lengthscale) + DELTA * np.eye(len(knots))
    kuf = sigma**2 * correlation("se", knots, X, lengthscale)
    q = kuf.T @ np.linalg.solve(kuu, kuf)
    rest = (sigma**2 + DELTA - np.diag(q)).sum()
    return log_normal(RESIDUAL, q + (tau**2 + DELTA) * np.eye(N)) - rest / (2 * tau**2)


def package_full(sigma, lengthscale, tau):
    return log_normal(RESIDUAL, sigma**2 * correlation("se", X, X, lengthscale) + (tau**2 + DELTA) * np.eye(N))


def adadelta(objective, decay=0.95, epsilon=1e-4, eta=1e3, iterations=30):
    """Rows of iteration, objective, sigma, l, tau. Steps are on logarithms, and shorter where a slope changes sign."""
    spread = math.sqrt(Y.var(ddof=1) / 2)
    x = np.log([spread, 1.0, spread])
    squares, steps, changes = np.zeros(3), np.zeros(3), np.zeros(3)

    def value(at):
        return objective(*np.exp(at))

    slope, rows = complex_step(value, x), []
    for iteration in range(1, iterations + 1):
        rows.append([iteration, value(x), *np.exp(x)])
        squares = decay * squares + (1 - decay) * slope**2
        step = eta**-changes * np.sqrt(steps + epsilon) / np.sqrt(squares + epsilon) * slope
        steps = decay * steps + (1 - decay) * step**2
        x = x + step
        before, slope = slope, complex_step(value, x)
        changes = decay * changes + (1 - decay) * np.abs(np.sign(slope) - np.sign(before)) / 2
    return np.array(rows)


def surrogate_rows():
    """A proposal of OAT-BO: a GP, exponential in the L1 distance, of bounds with one of five rows as eighth knot."""
    bounds = np.array([package_bound(1.3, 0.9, 0.25, np.vstack([Z, row])) for row in X])
    known = np.array([3, 11, 17, 26, 38]) - 1
    distance = np.abs(X[:, None, :] - X[None, :, :]).sum(-1)
    residual, rows = bounds[known] - bounds[known[0]], []
    for sigma, lengthscale in ((3, 1), (25, 2)):
        k = sigma**2 * np.exp(-distance / lengthscale)
        inner = k[np.ix_(known, known)]
        nll = -log_normal(residual, inner + DELTA * np.eye(5)) - 2.5 * math.log(2 * math.pi)
        solved = np.linalg.solve(inner + DELTA / 1000 * np.eye(5), k[known])
        mean, variance = bounds[known[0]] + residual @ solved, sigma**2 - (k[known] * solved).sum(0)
        sd = np.sqrt(variance)
        z = (mean - bounds[known].max()) / sd
        below = np.array([math.erfc(-value / math.sqrt(2)) / 2 for value in z])
        gain = sd * (z * below + np.exp(-z * z / 2) / math.sqrt(2 * math.pi))
        for i in range(N):
            rows.append([sigma, lengthscale, i + 1, bounds[i], mean[i], variance[i], gain[i], nll])
    return np.array(rows)


# ---- optima.json: the exact GP on the paper's training rows --------------------------------------------------------


def evidence(log_theta, distance2, r):
    """Log evidence of the isotropic se kernel and its gradient in log sigma, log l, log tau."""
    sigma2, l2, tau2 = np.exp(2 * log_theta)
    k = sigma2 * np.exp(-distance2 / (2 * l2))
    inverse = np.linalg.inv(k + tau2 * np.eye(len(r)))
    pull = inverse @ r
    outer = np.outer(pull, pull) - inverse
    slopes = [(outer * k).sum(), (outer * k * distance2).sum() / (2 * l2), tau2 * np.trace(outer)]
    return log_normal(r, k + tau2 * np.eye(len(r))), np.array(slopes)


def maximise(x, y):
    """Newton steps from a fixed start, halved while they do not gain; the Hessian is by differences of the gradient."""
    x = (x - x.mean(0)) / x.std(0, ddof=1)
    distance2 = ((x[:, None, :] - x[None, :, :]) ** 2).sum(-1)
    r = y - y.mean()
    at = np.log([y.std(), 1.5, y.std() / 3])
    value, slope = evidence(at, distance2, r)
    while np.abs(slope).max() > 1e-6:
        shifted = [evidence(at + t * 1e-4 * e, distance2, r)[1] for e in np.eye(3) for t in (1, -1)]
        hessian = np.array([(shifted[2 * i] - shifted[2 * i + 1]) / 2e-4 for i in range(3)])
        size, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
        step = vectors @ (vectors.T @ slope / np.abs(size))  # uphill where the evidence is not concave, too
        step *= min(1, 0.5 / np.abs(step).max())
        while evidence(at + step, distance2, r)[0] < value - 1e-9:
            step /= 2
        at = at + step
        value, slope = evidence(at, distance2, r)
    return value, np.exp(at)


def optimum(name, run, data, rows):
    data = data[rows.astype(int) - 1]
    value, (sigma, lengthscale, tau) = maximise(data[:, :-1], data[:, -1])
    found = {"set": name, "run": run, "rows": len(data), "log_evidence": value}
    return {**found, "sigma": sigma, "lengthscale": lengthscale, "tau": tau}


def optima(airfoil=None):
    rows = table("boston_rows.csv")
    found = [optimum("boston", run + 1, table(BOSTON), rows[:, run]) for run in range(rows.shape[1])]
    if airfoil is None:
        return found + [record for record in read_json("optima.json") if record["set"] == "airfoil"]
    rows = table(os.path.join(airfoil, "reference", "splits", "airfoil", "run1", "train_rows.csv"))[:, 0]
    return found + [optimum("airfoil", 1, table(os.path.join(airfoil, "data", "airfoil.csv")), rows)]


# ---- files ---------------------------------------------------------------------------------------------------------


def read_json(name):
    with open(os.path.join(FOLDER, name), encoding="ascii") as file:
        return json.load(file)


def numbers(value):
    """All numbers in what a JSON file holds."""
    if isinstance(value, dict):
        return [x for key in sorted(value) for x in numbers(value[key])]
    if isinstance(value, list):
        return [x for item in value for x in numbers(item)]
    return [value] if isinstance(value, (int, float)) else []


FILES = {  # what makes each, its columns, and how far it may be from the file, relative to a number or to 1
    "oatgp.json": (golden_records, None, 1e-7),  # five-point differences have no more
    "optima.json": (optima, None, 1e-7),
    "adadelta_vfe_theta_only.csv": (lambda: adadelta(lambda *p: package_bound(*p, Z)), "iter,obj,sigma,l,tau", 1e-10),
    "adadelta_full_centred.csv": (lambda: adadelta(package_full), "iter,obj,sigma,l,tau", 1e-10),
    "ei_golden.csv": (surrogate_rows, "sigma,l,row,elbo_with_point,pred_mean,pred_var,EI,meta_nll", 1e-9),
}


def check(name, made, most):
    if name.endswith(".json"):
        old, new = np.array(numbers(read_json(name))), np.array(numbers(made))
    else:
        old, new = table(name).ravel(), made.ravel()
    apart = np.max(np.abs(new - old) / np.maximum(1, np.abs(old))) if old.shape == new.shape else math.inf
    print(f"{name}: {len(old)} numbers, within {apart:.1e}, {'good' if apart <= most else 'NOT within'} {most:g}")
    return apart <= most


def write(name, made, columns):
    path = os.path.join(FOLDER, name)
    if name.endswith(".json"):
        with open(path, "w", encoding="ascii") as file:
            json.dump(made, file, indent=1)
    else:
        np.savetxt(path, made, delimiter=",", header=columns, comments="", fmt="%.17g")


def main():
    parser = argparse.ArgumentParser(description="Makes the golden files of this folder.")
    parser.add_argument("--check", action="store_true", help="write nothing: compare with the files")
    parser.add_argument("--airfoil", metavar="FOLDER", type=os.path.abspath, help="make the optimum of Airfoil, too")
    options = parser.parse_args()
    good = True
    for name, (make, columns, most) in FILES.items():
        made = optima(options.airfoil) if make is optima else make()
        if options.check:
            good = check(name, made, most) and good
        else:
            write(name, made, columns)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
