"""GPflow's SVGP with minibatches of 256 rows and Adam, as its documentation does, until the time is over."""

import time

import gpflow
import numpy as np
import tensorflow as tf

import peer_gpflow

BATCH, RATE = 256, 0.01


class Peer(peer_gpflow.Peer):
    def load(self, problem):
        self.x, self.y = problem.train()
        kernel = gpflow.kernels.SquaredExponential(variance=problem.sigma**2, lengthscales=problem.lengthscales)
        likelihood = gpflow.likelihoods.Gaussian(problem.tau**2)
        self.model = gpflow.models.SVGP(kernel, likelihood, problem.z(), num_data=len(self.y))

    def fit(self, optimizer, seconds):
        began, variables, adam = time.perf_counter(), self.model.trainable_variables, tf.optimizers.Adam(RATE)
        order = np.random.default_rng(1)

        @tf.function
        def step(x, y):
            with tf.GradientTape() as tape:
                loss = self.model.training_loss((x, y))
            adam.apply_gradients(zip(tape.gradient(loss, variables), variables))

        while time.perf_counter() - began < seconds:
            rows = order.choice(len(self.y), min(BATCH, len(self.y)), replace=False)
            step(tf.constant(self.x[rows]), tf.constant(self.y[rows, None]))
        return dict(seconds=time.perf_counter() - began, stop="time limit")
