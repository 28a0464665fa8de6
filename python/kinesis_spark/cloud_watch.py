"""Where a source's metrics are published, beside Spark's own metrics system. Off unless a namespace is given."""

from __future__ import annotations

import re
from datetime import timedelta

from kinesis_spark._declare import keyword_values, option, read_fields
from kinesis_spark._kinds import ENDPOINT, duration, matching
from kinesis_spark.errors import InvalidOptionError

_NAMESPACE = matching(
    re.compile(r"(?!AWS/)[A-Za-z0-9._/#:-]{1,255}"),
    "a namespace of CloudWatch, of letters, digits and ._/#:-, that doesn't begin with AWS/",
)
_INTERVAL = timedelta(minutes=1)


@keyword_values
class CloudWatch:
    """Publishing of a source's metrics to CloudWatch. AWS charges for each metric, and for each call.

    Attributes:
        namespace: under which the metrics are published, with the names of the streams, sorted and joined by `+`, as
            the dimension `Streams`; None for no publishing.
        interval: how often; one call each time.
        endpoint: the URL of CloudWatch instead of the region's own.

    Raises:
        InvalidOptionError: for a value that can't be right, or one that lacks the namespace.
    """

    namespace: str | None = option("namespace", _NAMESPACE, default=None)
    interval: timedelta | str = option("interval", duration(least=timedelta(seconds=1)), default=_INTERVAL)
    endpoint: str | None = option("endpoint", ENDPOINT, default=None)

    def __post_init__(self) -> None:
        read_fields(self)
        if self.namespace is None and (self.endpoint is not None or self.interval != _INTERVAL):
            raise InvalidOptionError("namespace: it is missing, so that nothing would be published.")


__all__ = ["CloudWatch"]
