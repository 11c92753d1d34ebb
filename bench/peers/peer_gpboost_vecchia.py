"""GPBoost's Vecchia approximation without knots."""

import peer_gpboost_full


class Peer(peer_gpboost_full.Peer):
    approximation = "vecchia"
