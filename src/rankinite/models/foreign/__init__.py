"""Models of other libraries as base models: how they score, and how they are kept in a model file.

Those that can be written as ours are (`rankinite.models.imported`); the others are scored by their
library: an object that was passed in this process, what is read from a file in one of its own. No
library is imported to recognise its models: the modules of an object's class say whose it is.
"""

from rankinite.models.foreign.recognise import as_foreign_scorer, is_foreign

__all__ = ["as_foreign_scorer", "is_foreign"]
