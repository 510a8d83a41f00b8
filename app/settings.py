"""What can be set from outside: variables ``MEMORY_GRAPH_*``, and CLI options of the same names."""

from ipaddress import ip_address
from typing import Any, Literal, Self

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

PREFIX = "MEMORY_GRAPH_"

LogLevel = Literal["CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG"]


class SettingsError(ValueError):
    """A setting cannot be used; the message names its variable, one a line."""


class Settings(BaseSettings):
    """Every default works on an empty folder. Construct with ``Settings.load`` for readable errors."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

    database_url: str = Field("sqlite:///memory-graph.db", min_length=1)
    """SQLAlchemy URL. A relative SQLite path is looked for in the working folder."""
    database_password: SecretStr | None = None
    """For a database URL without one, so that no character of it needs escaping."""
    database_entra: bool = False
    """Log in to Azure SQL by an Entra token of this process's identity, in place of user and password."""
    sqlserver_driver: str | None = Field(
        None, validation_alias=AliasChoices(f"{PREFIX}SQLSERVER_DRIVER", "SQLSERVER_DRIVER")
    )
    """Name or file of an ODBC driver, where the one of the extra ``sqlserver`` is not wanted."""
    history_retention_days: int | None = Field(None, ge=1, le=36_500)
    """How long history is kept; by default for ever. A snapshot of an earlier time is refused."""
    host: str = Field("127.0.0.1", min_length=1)
    port: int = Field(8000, ge=0, le=65_535)
    """0 lets the system choose a free one."""
    auth: Literal["open"] = "open"
    """``open``: callers name their tenant and fleet themselves, so only this machine may connect."""
    worker: Literal["embedded", "none"] | None = None
    """Whether the server drains the outbox itself. Default: ``embedded`` on SQLite; else ``none``, and
    ``memory-graph worker`` runs beside it."""
    worker_threads: int = Field(2, ge=1, le=64)
    """Fleets, or subscriptions, worked on at once by one process."""
    lease_seconds: float = Field(30, ge=1, le=3600)
    """For how long a worker that is no longer heard of keeps others from its events."""
    event_retention_days: int = Field(7, ge=1, le=3650)
    """How long handled events can be read again by ``GET /events``."""
    log_level: LogLevel = "INFO"
    max_body_bytes: int = Field(4 * 2**20, ge=1024)
    """Largest JSON body, in bytes as sent. Parsed it can take a hundred times as much memory."""
    max_import_bytes: int = Field(2**30, ge=1024)
    """Largest import body, in bytes as sent, so before a gzip body is unpacked."""

    @field_validator("log_level", mode="before")
    @classmethod
    def _any_case(cls, value: object) -> object:
        return value.upper() if isinstance(value, str) else value

    @model_validator(mode="after")
    def _open_means_this_machine(self) -> Self:
        if self.auth == "open" and not is_loopback(self.host):
            raise PydanticCustomError(
                "open_host",
                "{variable} must be a loopback address such as 127.0.0.1 while AUTH is open: "
                "anyone who can connect may read and change everything",
                {"variable": f"{PREFIX}HOST"},
            )
        return self

    @property
    def has_worker(self) -> bool:
        """Whether the server drains the outbox itself."""
        return self.worker == "embedded" or (self.worker is None and self.database_url.startswith("sqlite"))

    @classmethod
    def load(cls, **given: Any) -> Self:
        """Settings from the environment, ``given`` options first; ``SettingsError`` where one is unusable."""
        try:
            return cls(**{name: value for name, value in given.items() if value is not None})
        except ValidationError as error:
            raise SettingsError("\n".join(_explain(e["loc"], e["msg"]) for e in error.errors())) from error


def is_loopback(host: str) -> bool:
    """Whether only processes of this machine can connect to a server bound to ``host``."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _explain(loc: tuple[int | str, ...], message: str) -> str:
    return f"{PREFIX}{str(loc[0]).upper()}: {message}" if loc else message
