import numpy as np

from rankinite.distributed import Communicator, Serial


def test_one_process_has_already_reduced_everything():
    alone: Communicator = Serial()
    assert (alone.rank, alone.size) == (0, 1)
    array = np.array([3, -1, 2**62])
    for reduce in (alone.sum, alone.max):
        assert reduce(array) is array
    assert array.tolist() == [3, -1, 2**62]


def test_serial_has_every_verb_of_the_protocol():
    verbs = {name for name in vars(Communicator) if not name.startswith("_")}
    assert verbs and all(hasattr(Serial, verb) for verb in verbs)
