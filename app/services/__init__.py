"""Use cases: one a module. What writes takes a unit of work; ``once`` commits it."""
