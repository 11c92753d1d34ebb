"""CatBoost: gradient boosting that predicts a mean and a variance. A tenth of the rows decides when it has enough trees."""

import time

import catboost
import numpy as np

from peer import Interface


class Peer(Interface):
    def versions(self):
        return f"CatBoost {catboost.__version__}"

    def load(self, problem):
        self.x, self.y = problem.train()

    def fit(self, optimizer, seconds):
        began = time.perf_counter()
        held = np.random.default_rng(1).permutation(len(self.y)) < len(self.y) // 10
        self.model = catboost.CatBoostRegressor(
            loss_function="RMSEWithUncertainty", iterations=5000, thread_count=self.threads, random_seed=1, allow_writing_files=False
        )
        self.model.fit(
            self.x[~held], self.y[~held], eval_set=(self.x[held], self.y[held]), early_stopping_rounds=100, use_best_model=True, verbose=False
        )
        return dict(seconds=time.perf_counter() - began, stop="converged")

    def predict(self, x):
        found = self.model.predict(x, prediction_type="RMSEWithUncertainty")
        return found[:, 0], found[:, 1]
