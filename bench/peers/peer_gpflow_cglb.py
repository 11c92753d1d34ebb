"""GPflow's CGLB: a tighter bound than SGPR's, by conjugate gradients over all rows."""

import gpflow

import peer_gpflow


class Peer(peer_gpflow.Peer):
    compiled = False  # TensorFlow cannot compile its loop of conjugate gradients

    def load(self, problem):
        x, y = problem.train()
        kernel = gpflow.kernels.SquaredExponential(variance=problem.sigma**2, lengthscales=problem.lengthscales)
        self.model = gpflow.models.CGLB((x, y[:, None]), kernel, problem.z(), noise_variance=problem.tau**2)
