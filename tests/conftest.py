"""Options and profiles that every kind of test shares."""

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("dev", max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require-sqlserver",
        action="store_true",
        help="fail, rather than skip, the contract tests that have no SQL Server to run on",
    )
