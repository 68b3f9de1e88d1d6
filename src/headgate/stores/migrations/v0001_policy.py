"""What does the first schema hold? The batches and the starting points."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "batches",
        sa.Column("version", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("time", sa.Text, nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("changes", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
    )
    op.create_table(
        "starting_points",
        sa.Column("version", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("stream", sa.Text, primary_key=True),
        sa.Column("offset", sa.BigInteger, nullable=False),
    )
    op.create_index("starting_points_by_stream", "starting_points", ["stream", "version"])
