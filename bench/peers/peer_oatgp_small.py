"""oatgp with 64 MiB for its caches: rows go through in blocks, and nothing of size rows x knots is kept."""

import peer_oatgp


class Peer(peer_oatgp.Peer):
    memory = 64 << 20
