"""A process that runs trials for another one, which sends tasks and reads what came out."""

from __future__ import annotations

import json
import os
import pickle
import queue
import sys
import threading
from pathlib import Path

from rankinite.sweeping.crew import as_told
from rankinite.sweeping.trial import Look, Task


def work() -> None:
    """Run tasks from standard input until it ends; the job is in the file of the first argument."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # What anybody prints is no answer.
    os.dup2(2, 1)
    tasks: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=(tasks,), daemon=True).start()
    try:
        with Path(sys.argv[1]).open("rb") as file:
            objective = pickle.load(file)
    except (AttributeError, ImportError) as error:
        # What stands in a script or a notebook is known to its process alone.
        told = f"jobs needs a ranker and a measure that another process can import ({error})"
        print(json.dumps({"refused": f"{told}: use jobs=1"}), file=answers, flush=True)
        return
    while True:
        told = json.loads(tasks.get())
        rivals = [[Look(*look) for look in curve] for curve in told["rivals"]]
        trial = objective.run(Task(told["number"], told["params"], rivals))
        print(as_told(trial), file=answers, flush=True)


def _listen(tasks: queue.Queue[str]) -> None:
    """Pass on lines; when there are no more, nobody waits for what is being done."""
    for line in sys.stdin:
        tasks.put(line)
    os._exit(0)
