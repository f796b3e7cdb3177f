"""The communicator: how workers reduce what each has seen of the data."""

from rankinite.distributed.communicator import Communicator, Serial, total

__all__ = ["Communicator", "Serial", "total"]
