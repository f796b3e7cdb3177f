"""The communicator: how workers reduce what each has seen of the data."""

from rankinite.distributed.communicator import Communicator, Serial

__all__ = ["Communicator", "Serial"]
