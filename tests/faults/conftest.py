"""What these tests look at on the disk is SQLite's files; PostgreSQL looks after its own."""

import os

collect_ignore = (
    ["test_places.py", "test_power.py"] if os.environ.get("EUVYRA_TEST_POSTGRES") else []
)
