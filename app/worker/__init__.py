"""Background work: threads that drain the outbox."""

from app.worker.worker import Worker

__all__ = ["Worker"]
