"""The first schema."""

from app.store.scripts import run_script

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_script("0001_initial")


def downgrade() -> None:
    run_script("0001_initial_down")
