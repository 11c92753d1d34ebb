"""Torch without a package: the collapsed bound with GPflow's algebra and as few large matrices as automatic differentiation allows. It is
about as fast as a package built on torch could be. Fitted by L-BFGS-B of SciPy."""

import math

import numpy as np
import scipy.optimize
import torch

from peer import JITTER, Interface, Recorder


def kernel(a, b, sigma, lengthscales):
    a, b = a / lengthscales, b / lengthscales
    squares = torch.addmm((a * a).sum(1)[:, None] + (b * b).sum(1), a, b.T, alpha=-2)
    return sigma**2 * torch.exp(-0.5 * squares)


def natural(logs):
    theta = torch.exp(logs)
    return theta[0], theta[1], theta[2:]


def factors(logs, z, x, y):
    """Factors LU of Kuu and LB of B = I + G, with V = Kfu LU^-T and G = V^T V / tau^2, and c = LB^-1 V^T y / tau^2."""
    sigma, tau, lengthscales = natural(logs)
    eye = torch.eye(z.shape[0], dtype=z.dtype)
    lu = torch.linalg.cholesky(kernel(z, z, sigma, lengthscales) + JITTER * eye)
    v = torch.linalg.solve_triangular(lu.T, kernel(x, z, sigma, lengthscales), upper=True, left=False)
    gram = v.T @ v / tau**2
    lb = torch.linalg.cholesky(eye + gram)
    c = torch.linalg.solve_triangular(lb, (y @ v)[:, None], upper=False)[:, 0] / tau**2
    return lu, gram, lb, c


def bound(logs, z, x, y):
    sigma, tau, _ = natural(logs)
    _, gram, lb, c = factors(logs, z, x, y)
    n = x.shape[0]
    value = -0.5 * n * math.log(2 * math.pi) - n * torch.log(tau) - torch.log(torch.diagonal(lb)).sum()
    value = value - 0.5 * (y @ y) / tau**2 + 0.5 * (c @ c)
    return value - 0.5 * (n * sigma**2 / tau**2 - torch.trace(gram))


class Peer(Interface):
    bound = staticmethod(bound)

    def __init__(self, threads):
        super().__init__(threads)
        torch.set_num_threads(threads)

    def versions(self):
        return f"torch {torch.__version__}"

    def load(self, problem):
        self.x, self.y = (torch.as_tensor(part) for part in problem.train())
        logs = np.log(np.concatenate(([problem.sigma, problem.tau], problem.lengthscales)))
        self.parameters = [torch.tensor(logs, requires_grad=True), torch.tensor(problem.z(), requires_grad=True)]

    def value_and_gradient(self):
        for parameter in self.parameters:
            parameter.grad = None
        elbo = self.bound(*self.parameters, self.x, self.y)
        elbo.backward()
        return elbo.item(), self.parameters[1].grad.numpy()

    def fit(self, optimizer, seconds):
        recorder = Recorder(seconds)
        start = np.concatenate([parameter.detach().numpy().ravel() for parameter in self.parameters])

        def loss(point):
            self._set(point)
            elbo, _ = self.value_and_gradient()
            recorder(elbo, point.copy)
            return -elbo, -np.concatenate([parameter.grad.numpy().ravel() for parameter in self.parameters])

        outcome = recorder.run(lambda: scipy.optimize.minimize(loss, start, jac=True, method="L-BFGS-B"))
        self._set(recorder.best_point)
        return outcome

    def predict(self, x):
        with torch.no_grad():
            logs, z = self.parameters
            sigma, tau, lengthscales = natural(logs)
            lu, _, lb, c = factors(logs, z, self.x, self.y)
            v = torch.linalg.solve_triangular(lu, kernel(z, torch.as_tensor(x), sigma, lengthscales), upper=False)
            u = torch.linalg.solve_triangular(lb, v, upper=False)
            variance = sigma**2 - (v * v).sum(0) + (u * u).sum(0) + tau**2
            return (u.T @ c).numpy(), variance.numpy()

    def _set(self, point):
        count = self.parameters[0].numel()
        with torch.no_grad():
            self.parameters[0].copy_(torch.as_tensor(point[:count]))
            self.parameters[1].copy_(torch.as_tensor(point[count:]).reshape(self.parameters[1].shape))
