"""The outbox gets leases; revalidation, reviews and webhooks get tables."""

from app.store.scripts import run_script

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_script("0002_revalidation")


def downgrade() -> None:
    run_script("0002_revalidation_down")
