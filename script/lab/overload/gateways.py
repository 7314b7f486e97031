"""The gateways that are measured, each with one worker or thread. haproxy, nginx, Envoy and Caddy are set up by hand for the
rows' origin; weir is not set up at all."""

import json
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from lab.gateway import Gateway
from lab.processes import Place, free_address
from lab.servers import start_nginx

OFF, WEIR, HAPROXY, NGINX, ENVOY, CADDY = NAMES = ("off", "weir", "haproxy", "nginx", "envoy", "caddy")
"""`off` is weir without load control; `weir` is the same program with a route that has no `overload`."""
LONGEST = 75
"""Seconds that gateways wait for an answer, more than any caller does."""


def available(names: Iterable[str]) -> list[str]:
    """Says which are not measured."""
    missing = [name for name in names if name in (ENVOY, CADDY) and not found(name)]
    for name in missing:
        print(f"note: {name.title()} is LEFT OUT: script/setup has not installed it, and there is none in PATH.")
    return [name for name in names if name not in missing]


async def start(kind: str, place: Place, number: int, origin: str, keys: tuple[str, ...]) -> str:
    """Starts a gateway before the origin, and returns its address."""
    name = f"{kind}-{number}"
    if kind in (OFF, WEIR):
        if kind == OFF:
            keys = (*(key for key in keys if not key.startswith("overload:")), "overload: off")
        config, flags = weirs(origin, keys), ("--gateway.drain-timeout=1s",)
        return (await Gateway.start(place, config, *flags, name=name, workers=1)).address
    address = free_address()
    if kind == HAPROXY:
        file = place.file(f"{name}.conf", haproxys(address, origin))
        process = await place.start(name, "haproxy", "-db", "-f", file)
    elif kind == NGINX:
        process = await start_nginx(place, name, nginxs(address, origin))
    elif kind == CADDY:
        run = ("run", "--adapter", "caddyfile", "--config", place.file(f"{name}.conf", caddys(address, origin)))
        process = await place.start(name, "env", "GOMAXPROCS=1", found(CADDY), *run)
    else:
        return await start_envoy(place, name, address, origin, adaptive_concurrency())
    await process.accepts(address)
    return address


async def start_envoy(place: Place, name: str, address: str, origin: str, guard: dict[str, object]) -> str:
    """Starts an Envoy with a filter before its router, and returns its address."""
    file = place.file(f"{name}.json", json.dumps(envoys(address, origin, guard)))
    arguments = ("--concurrency", 1, "--disable-hot-restart", "--log-level", "warn")
    process = await place.start(name, found(ENVOY), "-c", file, *arguments)
    await process.accepts(address)
    return address


def found(program: str) -> str | None:
    """Its path, beside this Python or in PATH."""
    return shutil.which(program, path=str(Path(sys.executable).parent)) or shutil.which(program)


def weirs(origin: str, keys: tuple[str, ...]) -> str:
    """
    >>> print(weirs("127.0.0.1:80", ("overload: off",)))
    routes:
      - name: overload
        upstream: http://127.0.0.1:80
        timeout: 75s
        overload: off
    <BLANKLINE>
    """
    lines = ["routes:", "  - name: overload", f"    upstream: http://{origin}", f"    timeout: {LONGEST}s"]
    return "\n".join(lines + [f"    {key}" for key in keys]) + "\n"


def haproxys(address: str, origin: str) -> str:
    return f"""
global
  nbthread 1
  maxconn 4096
defaults
  mode http
  retries 0
  timeout connect 1s
  timeout client {LONGEST}s
  timeout server {LONGEST}s
  timeout queue 100ms
frontend callers
  bind {address} backlog 4096
  default_backend origin
backend origin
  server origin {origin} maxconn 8
"""


def nginxs(address: str, origin: str) -> str:
    return f"""
  limit_conn_zone $server_name zone=origin:1m;
  limit_conn_log_level info;
  upstream origin {{ server {origin} max_fails=0; keepalive 64; }}
  server {{
    listen {address} backlog=4096;
    server_name origin;
    keepalive_requests 1000000;
    limit_conn origin 8;
    location / {{
      proxy_pass http://origin;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_read_timeout {LONGEST}s;
      proxy_next_upstream off;
    }}
  }}
"""


def caddys(address: str, origin: str) -> str:
    """Caddy has no queue: what is beyond eight requests at once is answered 503."""
    return f"""
{{
    admin off
    auto_https off
    persist_config off
}}
http://{address} {{
    reverse_proxy {origin} {{
        unhealthy_request_count 8
        fail_duration 1ms
    }}
}}
"""


def typed(kind: str, **settings: object) -> dict[str, object]:
    """An extension of Envoy's, with the type of its settings."""
    return {"@type": f"type.googleapis.com/envoy.extensions.filters.{kind}", **settings}


def http_filter(name: str, kind: str, **settings: object) -> dict[str, object]:
    return {"name": f"envoy.filters.http.{name}", "typed_config": typed(f"http.{name}.v3.{kind}", **settings)}


def adaptive_concurrency() -> dict[str, object]:
    gradient = {
        "sample_aggregate_percentile": {"value": 90},
        "concurrency_limit_params": {"concurrency_update_interval": "0.1s"},
        "min_rtt_calc_params": {"interval": "60s", "request_count": 50},
    }
    return http_filter("adaptive_concurrency", "AdaptiveConcurrency", gradient_controller_config=gradient)


def envoys(address: str, origin: str, guard: dict[str, object]) -> dict[str, object]:
    route = {"match": {"prefix": "/"}, "route": {"cluster": "origin", "timeout": f"{LONGEST}s"}}
    manager = typed(
        "network.http_connection_manager.v3.HttpConnectionManager",
        stat_prefix="callers",
        route_config={"virtual_hosts": [{"name": "origin", "domains": ["*"], "routes": [route]}]},
        http_filters=[guard, http_filter("router", "Router")],
    )
    filters = [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]
    listener = {"name": "callers", "address": socket_address(address), "filter_chains": [{"filters": filters}]}
    endpoint = {"endpoint": {"address": socket_address(origin)}}
    cluster = {
        "name": "origin",
        "connect_timeout": "1s",
        "load_assignment": {"cluster_name": "origin", "endpoints": [{"lb_endpoints": [endpoint]}]},
    }
    return {"static_resources": {"listeners": [listener], "clusters": [cluster]}}


def socket_address(address: str) -> dict[str, object]:
    host, port = address.split(":")
    return {"socket_address": {"address": host, "port_value": int(port)}}
