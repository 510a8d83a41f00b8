"""Alembic's entry: runs on the connection it is handed."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
