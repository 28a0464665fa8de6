"""How AWS is reached: endpoints, certificates, proxies, time limits. The same for all clients of a query."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from urllib.parse import urlsplit

from kinesis_spark._declare import keyword_values, option, read_fields
from kinesis_spark._kinds import (
    BOOLEAN,
    ENDPOINT,
    HOST,
    REGION,
    SECRET,
    TEXT,
    Kind,
    count,
    duration,
    matching,
    require,
    several,
)
from kinesis_spark.errors import InvalidOptionError

_APPLICATION_ID = matching(
    re.compile(r"[A-Za-z0-9!$%&*+.^_`|~'-]{1,50}"), "1 to 50 letters, digits and characters of !$%&*+-.^_`|~'"
)
_LEAST_CONNECT = timedelta(milliseconds=100)
_LEAST_READ = timedelta(seconds=1)


@keyword_values
class Connection:
    """How AWS is reached.

    Attributes:
        fips: whether endpoints with cryptography by FIPS 140 are called; not with an `endpoint`.
        dual_stack: whether endpoints for IPv4 and IPv6 are called; not with an `endpoint`.
        ca_bundle: a PEM file, on the driver and each executor, with the certificates of the authorities that are
            trusted, in place of the JVM's.
        proxy: the HTTP proxy that all calls go through, like `http://proxy.example.com:3128`; None for what system
            properties and environment say.
        proxy_user: the user that the proxy asks for.
        proxy_password: the user's password (shown in full nowhere).
        no_proxy: hosts that are called without the proxy: names, or `*.` with the end of a name.
        connect_timeout: how long making a connection may take.
        read_timeout: how long a call may be without a byte of its answer; None for 30 seconds, and 60 for PutRecords. A
            whole call may take a minute, or `connect_timeout` and this together where that is longer.
        max_connections: how many calls of one client, shared by all tasks of an executor, may be under way at once.
        application_id: a name of the application in the user agent of all calls.
        sts_region: the region whose STS is asked for roles, of options or of a profile. If None, a `role_arn` is asked
            for in the stream's region, a profile's role in the profile's, or else the stream's.
        sts_endpoint: the URL of STS, for the same roles, instead of the region's own.

    Raises:
        InvalidOptionError: for a value that can't be right, or values that lack their other half or
            contradict each other.
    """

    fips: bool | str = option("fips", BOOLEAN, default=False)
    dual_stack: bool | str = option("dualStack", BOOLEAN, default=False)
    ca_bundle: str | None = option("caBundle", TEXT, default=None)
    proxy: str | None = option("proxy", ENDPOINT, default=None)
    proxy_user: str | None = option("proxyUser", TEXT, default=None)
    proxy_password: str | None = option("proxyPassword", SECRET, default=None)
    no_proxy: str | Sequence[str] | None = option("noProxy", several(HOST), default=None)
    connect_timeout: timedelta | str = option(
        "connectTimeout", duration(least=_LEAST_CONNECT), default=timedelta(seconds=10)
    )
    read_timeout: timedelta | str | None = option("readTimeout", duration(least=_LEAST_READ), default=None)
    max_connections: int = option("maxConnections", count(), default=512)
    application_id: str | None = option("applicationId", _APPLICATION_ID, default=None)
    sts_region: str | None = option("stsRegion", REGION, default=None)
    sts_endpoint: str | None = option("stsEndpoint", ENDPOINT, default=None)

    def __post_init__(self) -> None:
        read_fields(self)
        has_port = self.proxy is None or urlsplit(self.proxy).port is not None
        require(has_port, "proxy", self.proxy, "a URL with the proxy's port, like http://proxy.example.com:3128")
        alone = [name for name in ("proxy_user", "proxy_password", "no_proxy") if getattr(self, name) is not None]
        if self.proxy is None and alone:
            raise InvalidOptionError(f"{alone[0]}: it was given without proxy, which it is for.")
        if (self.proxy_user is None) != (self.proxy_password is None):
            raise InvalidOptionError("proxy_user and proxy_password belong together: give both.")
        check_address(self, "sts_endpoint", self.sts_endpoint)


def check_address(connection: Connection, field: str, address: str | None) -> None:
    """Refuses an address that is given beside `fips` or `dual_stack`, which choose one.

    Raises:
        InvalidOptionError: where both are given.
    """
    chosen = [name for name in ("fips", "dual_stack") if getattr(connection, name)]
    if chosen and address is not None:
        raise InvalidOptionError(
            f"{chosen[0]} and {field} contradict each other: an address is called as it is given. Leave one out."
        )


def _read_connection(field: str, value: object) -> object:
    # Without the value, which may hold a password.
    require(isinstance(value, Connection), field, type(value).__name__, "a Connection")
    return value


CONNECTION = Kind(_read_connection)


__all__ = ["Connection"]
