"""scikit-learn: the exact GP, where there are few enough rows. Its objective is the log evidence, held against oatgp's exact GP."""

import numpy as np
import scipy.optimize
import sklearn
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from peer import Interface, Recorder

MOST_ROWS = 2000  # the derivatives take rows^2 x parameters numbers: 17 s and 2 GiB for one evaluation at 5,000 rows


class Peer(Interface):
    def versions(self):
        return f"scikit-learn {sklearn.__version__}"

    def load(self, problem):
        if problem.rows > MOST_ROWS:
            raise NotImplementedError(
                f"too many rows for an exact GP with derivatives of rows^2 x parameters numbers; used up to {MOST_ROWS}"
            )
        kernel = ConstantKernel(problem.sigma**2) * RBF(problem.lengthscales) + WhiteKernel(problem.tau**2)
        self.x, self.y = problem.train()
        self.model = GaussianProcessRegressor(kernel, optimizer=None).fit(self.x, self.y)

    def value_and_gradient(self):
        value, _ = self.model.log_marginal_likelihood(self.model.kernel_.theta, eval_gradient=True)
        return float(value), None

    def fit(self, optimizer, seconds):
        recorder = Recorder(seconds)
        outcome = {}

        def optimise(objective, start, bounds):
            def recorded(theta):
                loss, gradient = objective(theta)
                recorder(-float(loss), theta.copy)
                return loss, gradient

            outcome.update(recorder.run(lambda: scipy.optimize.minimize(recorded, start, jac=True, method="L-BFGS-B", bounds=bounds)))
            return recorder.best_point, -recorder.best

        self.model.set_params(optimizer=optimise).fit(self.x, self.y)
        return outcome

    def predict(self, x):
        mean, sd = self.model.predict(x, return_std=True)
        return mean, np.square(sd)
