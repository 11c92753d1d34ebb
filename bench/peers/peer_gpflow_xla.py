"""GPflow compiled by XLA."""

import peer_gpflow


class Peer(peer_gpflow.Peer):
    xla = True
