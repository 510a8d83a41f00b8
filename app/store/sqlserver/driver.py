"""Finds Microsoft's ODBC driver, which comes as a wheel and needs no installation of its own."""

import platform
from pathlib import Path

from app.domain.errors import Busy

_LINUX_FAMILIES = {"debian_ubuntu": ("debian", "ubuntu"), "rhel": ("rhel", "fedora", "centos"), "suse": ("suse",)}
_OTHER_SYSTEMS = {"Darwin": "macos", "Windows": "windows"}


def find_driver() -> str:
    """The driver's file, for ``Driver=`` of an ODBC connection string.

    Raises ``Busy``, with what to do, where the extra is not installed or has no driver for this system.
    """
    try:
        from mssql_python_odbc import get_libs_dir  # noqa: PLC0415 - only who uses SQL Server needs it
    except ImportError as error:
        raise Busy(
            "SQL Server needs the extra of that name: pip install 'memory-graph[sqlserver]'. "
            "A driver of your own is named by MEMORY_GRAPH_SQLSERVER_DRIVER."
        ) from error
    folder = Path(get_libs_dir()) / _system_folder() / _architecture()
    found = sorted(folder.glob("**/libmsodbcsql*18*")) or sorted(folder.glob("**/msodbcsql18.dll"))
    if not found:
        raise Busy(
            f"There is no ODBC driver for this system in {folder}. Install Microsoft's ODBC Driver 18 and "
            "set MEMORY_GRAPH_SQLSERVER_DRIVER to its name or file."
        )
    return str(found[-1])


def import_pyodbc() -> None:
    """Raise ``Busy``, with what to do, where pyodbc or the ODBC manager below it is missing."""
    try:
        import pyodbc  # noqa: PLC0415
    except ImportError as error:
        raise Busy(
            "pyodbc cannot be loaded: install the extra with pip install 'memory-graph[sqlserver]', and the ODBC "
            f"manager of your system (Debian and Ubuntu: apt-get install unixodbc). It said: {error}."
        ) from error
    pyodbc.pooling = False  # SQLAlchemy keeps the pool; a second one below it would hand out sessions not cleaned up
    pyodbc.native_uuid = True


def _system_folder() -> Path:
    system = platform.system()
    if system in _OTHER_SYSTEMS:
        return Path(_OTHER_SYSTEMS[system])
    return Path("linux") / _linux_family()


def _linux_family() -> str:
    """By ``ID`` and ``ID_LIKE`` of os-release; Debian's build where they say nothing known."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return "debian_ubuntu"
    named = {release.get("ID", ""), *release.get("ID_LIKE", "").split()}
    return next(
        (family for family, ids in _LINUX_FAMILIES.items() if any(name.startswith(ids) for name in named)),
        "debian_ubuntu",
    )


def _architecture() -> str:
    machine = platform.machine().lower()
    return {"amd64": "x86_64", "aarch64": "arm64"}.get(machine, machine)
