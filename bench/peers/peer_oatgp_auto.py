"""oatgp as it is: `oatgp fit` without options, the whole command, with reading and writing."""

import time

import peer_oatgp


class Peer(peer_oatgp.Peer):
    def fit(self, optimizer, seconds):
        began = time.perf_counter()
        peer_oatgp.run("fit", str(self.problem.train_file), "--target", "last", "--threads", str(self.threads), "-o", str(self.model))
        return dict(seconds=time.perf_counter() - began, stop="converged")
