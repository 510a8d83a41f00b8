"""The benchmark: ``python -m bench`` measures the service next to networkx and to raw SQLite, in one run."""
