"""Models of other libraries as base models: how they score, and how they are kept in a model file.

No library is imported to recognise its models: the modules of an object's class say whose it is.
"""

from rankinite.models.foreign.loading import is_model_file, load_base_model
from rankinite.models.foreign.recognise import as_foreign_scorer, is_foreign

__all__ = ["as_foreign_scorer", "is_foreign", "is_model_file", "load_base_model"]
