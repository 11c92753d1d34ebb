"""GPyTorch: InducingPointKernel in an ExactGP with the exact marginal likelihood, as in its SGPR example. Fitted by Adam, as there, and by
torch's L-BFGS."""

import gpytorch
import torch

from peer import JITTER, Interface, Recorder

ADAM_RATE = 0.1  # of 0.01, 0.05, 0.1 and 0.2 the fastest on ccpp
ADAM_PATIENCE = 200  # Adam has no end of its own: it stops when so many steps have gained less than ADAM_GAIN
ADAM_GAIN = 0.01


class KernelWithJitter(gpytorch.kernels.InducingPointKernel):
    """GPyTorch adds jitter only after a failed factorisation; the others always do, and the objective has to be the same."""

    @property
    def _inducing_mat(self):
        matrix = super()._inducing_mat
        return matrix + JITTER * torch.eye(len(matrix))


class Model(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood, problem):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ZeroMean()
        base = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=problem.inputs))
        base.outputscale = problem.sigma**2
        base.base_kernel.lengthscale = torch.as_tensor(problem.lengthscales)
        self.covar_module = KernelWithJitter(base, inducing_points=torch.as_tensor(problem.z()), likelihood=likelihood)

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


class Peer(Interface):
    def __init__(self, threads):
        super().__init__(threads)
        torch.set_num_threads(threads)
        torch.set_default_dtype(torch.float64)
        torch.optim.SGD([torch.zeros(1)])  # the first optimiser of a process loads torch's compiler, for seconds: not in a fit's time

    def versions(self):
        return f"GPyTorch {gpytorch.__version__}, torch {torch.__version__}"

    def load(self, problem):
        self.x, self.y = (torch.as_tensor(part) for part in problem.train())
        self.likelihood = gpytorch.likelihoods.GaussianLikelihood()
        self.model = Model(self.x, self.y, self.likelihood, problem).double()
        self.likelihood.noise = problem.tau**2
        self.likelihood.double()
        self.model.train()
        self.likelihood.train()
        self.evidence = gpytorch.mlls.ExactMarginalLogLikelihood(self.likelihood, self.model)

    def value_and_gradient(self):
        loss = self._loss()
        return -loss.item(), -self.model.covar_module.inducing_points.grad.numpy()

    def fit(self, optimizer, seconds):
        recorder = Recorder(seconds)
        steps = self._adam if optimizer == "Adam" else self._lbfgs
        outcome = recorder.run(lambda: steps(recorder))
        self.model.load_state_dict(recorder.best_point)
        return outcome

    def predict(self, x):
        self.model.eval()
        self.likelihood.eval()
        with torch.no_grad(), gpytorch.settings.fast_pred_var():
            prediction = self.likelihood(self.model(torch.as_tensor(x)))
            return prediction.mean.numpy(), prediction.variance.numpy()

    def _loss(self):
        """GPyTorch's likelihood is the mean over the rows."""
        self.model.zero_grad()
        loss = -self.evidence(self.model(self.x), self.y) * len(self.y)
        loss.backward()
        return loss

    def _recorded_loss(self, recorder):
        loss = self._loss()
        recorder(-loss.item(), lambda: {name: value.clone() for name, value in self.model.state_dict().items()})
        return loss

    def _adam(self, recorder):
        optimizer = torch.optim.Adam(self.model.parameters(), lr=ADAM_RATE)
        earlier = -float("inf")
        while True:
            for _ in range(ADAM_PATIENCE):
                self._recorded_loss(recorder)
                optimizer.step()
            if recorder.best - earlier < ADAM_GAIN:
                return
            earlier = recorder.best

    def _lbfgs(self, recorder):
        optimizer = torch.optim.LBFGS(self.model.parameters(), max_iter=100_000, line_search_fn="strong_wolfe")
        optimizer.step(lambda: self._recorded_loss(recorder))
