"""Ensembles that are declared: their members, the plan to train them, and what came out."""
