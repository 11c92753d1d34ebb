"""Plain torch, compiled for any size by torch.compile."""

import torch

import peer_torch


class Peer(peer_torch.Peer):
    bound = staticmethod(torch.compile(peer_torch.bound, dynamic=True))
