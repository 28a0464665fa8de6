"""A Kinesis server of your own, for tests and trials: no AWS account, no Docker, nothing but Java and this package."""

from kinesis_spark.local.client import KinesisClient, Receipt, Record, StoredRecord
from kinesis_spark.local.server import LocalKinesis

__all__ = ["KinesisClient", "LocalKinesis", "Receipt", "Record", "StoredRecord"]
