"""Memory Graph: a service that keeps memories as a dependency graph and finds out what has become stale."""
