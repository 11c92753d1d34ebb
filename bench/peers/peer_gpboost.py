"""GPBoost: its FITC. It has no variational objective and knots that it chooses itself and does not move, so that it is compared by the
quality and the time of whole fits."""

import time

import gpboost

from peer import Interface


class Peer(Interface):
    def versions(self):
        return f"GPBoost {gpboost.__version__}"

    def load(self, problem):
        self.x, self.y = problem.train()
        self.knots = problem.knots

    def value_and_gradient(self):
        raise NotImplementedError("no variational objective (its inducing-point model is FITC), and no given or moving knots")

    def fit(self, optimizer, seconds):
        began = time.perf_counter()
        self.model = gpboost.GPModel(
            gp_coords=self.x,
            cov_function="gaussian_ard",
            gp_approx="fitc",
            num_ind_points=self.knots,
            num_parallel_threads=self.threads,
            matrix_inversion_method="cholesky",
        )
        self.model.fit(y=self.y, params=dict(optimizer_cov="lbfgs"))
        return dict(trace=[], first=None, evaluations=None, seconds=time.perf_counter() - began, stop="converged", elbo=None)

    def predict(self, x):
        prediction = self.model.predict(gp_coords_pred=x, predict_var=True, predict_response=True)
        return prediction["mu"], prediction["var"]
