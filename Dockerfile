# Build: the locked dependencies and the service, in an environment of their own.
FROM python:3.12-slim-bookworm AS build
RUN pip install --no-cache-dir "uv>=0.9,<1"
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never UV_PROJECT_ENVIRONMENT=/opt/venv
WORKDIR /src
COPY pyproject.toml uv.lock ./
RUN uv sync --locked --no-dev --extra sqlserver --no-install-project
COPY README.md LICENSE ./
COPY app ./app
COPY sql ./sql
COPY migrations ./migrations
RUN uv sync --locked --no-dev --extra sqlserver --no-editable

# Run: Python, Debian's ODBC manager, and what Microsoft's driver (a wheel, like everything else) is linked against.
FROM python:3.12-slim-bookworm
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends unixodbc libgssapi-krb5-2 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --user-group --no-create-home --home-dir /data memory \
    && install -d -o memory -g memory /data
COPY --from=build /opt/venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen(f'http://127.0.0.1:{os.environ.get(\"MEMORY_GRAPH_PORT\", 8000)}/health/live', timeout=4)"]
ENTRYPOINT ["memory-graph"]
CMD ["serve"]
LABEL org.opencontainers.image.title="Memory Graph" \
      org.opencontainers.image.description="Keeps an agent fleet's memory as a dependency graph and finds out what has become stale." \
      org.opencontainers.image.licenses="MIT"
