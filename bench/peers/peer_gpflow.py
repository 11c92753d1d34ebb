"""GPflow: SGPR in a tf.function; with XLA where the name says so. Fitted by L-BFGS-B of SciPy, as its documentation does."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import gpflow
import tensorflow as tf

from peer import JITTER, Interface, Recorder


class RecordingScipy(gpflow.optimizers.Scipy):
    """Scipy's optimiser, followed by a recorder."""

    def __init__(self, recorder):
        super().__init__()
        self.recorder = recorder

    def eval_func(self, *args, **kwargs):
        evaluate = super().eval_func(*args, **kwargs)

        def recorded(x):
            loss, gradient = evaluate(x)
            self.recorder(-float(loss), x.copy)
            return loss, gradient

        return recorded


class Peer(Interface):
    xla = False
    compiled = True  # by TensorFlow, when it is fitted

    def __init__(self, threads):
        super().__init__(threads)
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        gpflow.config.set_default_float("float64")
        gpflow.config.set_default_jitter(JITTER)

    def versions(self):
        return f"GPflow {gpflow.__version__}, TensorFlow {tf.__version__}"

    def load(self, problem):
        x, y = problem.train()
        kernel = gpflow.kernels.SquaredExponential(variance=problem.sigma**2, lengthscales=problem.lengthscales)
        self.model = gpflow.models.SGPR((x, y[:, None]), kernel, problem.z(), noise_variance=problem.tau**2)
        variables = self.model.trainable_variables
        knots = self.model.inducing_variable.Z.unconstrained_variable

        @tf.function(jit_compile=self.xla)
        def evaluate():
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(variables)
                loss = self.model.training_loss()
            return loss, tape.gradient(loss, variables)

        self.evaluate, self.knot_place = evaluate, next(i for i, v in enumerate(variables) if v is knots)

    def value_and_gradient(self):
        loss, gradient = self.evaluate()
        return -float(loss), -gradient[self.knot_place].numpy()

    def fit(self, optimizer, seconds):
        recorder, variables = Recorder(seconds), self.model.trainable_variables
        scipy = RecordingScipy(recorder)
        outcome = recorder.run(lambda: scipy.minimize(self.model.training_loss, variables, compile=self.compiled))
        scipy.assign_tensors(variables, scipy.unpack_tensors(variables, tf.convert_to_tensor(recorder.best_point)))
        return outcome

    def predict(self, x):
        mean, variance = self.model.predict_y(x)
        return mean.numpy().ravel(), variance.numpy().ravel()
