"""GPBoost's Vecchia approximation of what knots leave, with its own choice of knots and neighbours."""

import time

import gpboost

import peer_gpboost


class Peer(peer_gpboost.Peer):
    approximation = "full_scale_vecchia"

    def fit(self, optimizer, seconds):
        began = time.perf_counter()
        self.model = gpboost.GPModel(
            gp_coords=self.x, cov_function="gaussian_ard", gp_approx=self.approximation, num_parallel_threads=self.threads, seed=1
        )
        self.model.fit(y=self.y)
        return dict(seconds=time.perf_counter() - began, stop="converged")
