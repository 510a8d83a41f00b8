"""The rules of memory staleness. Standard library only; no clock and no I/O: time is an argument."""
