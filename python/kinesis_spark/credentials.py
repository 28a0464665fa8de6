"""Whose name the connector calls AWS in. Secrets show in no `repr`, and so in no log, traceback or notebook cell.

Without any of these the AWS SDK's default chain decides (environment, web identity, profile, container, instance):
https://docs.aws.amazon.com/sdk-for-java/latest/developer-guide/credentials-chain.html
"""

from __future__ import annotations

import re
from typing import Union

from kinesis_spark._declare import option, read_fields, values
from kinesis_spark._kinds import SECRET, TEXT, Kind, matching, require

_ROLE_ARN = matching(
    re.compile(r"arn:[a-z0-9-]+:iam::[0-9]{12}:role/[\x21-\x7E]{1,576}"),
    "a role's ARN, like arn:aws:iam::123456789012:role/reader",
)
_EXTERNAL_ID = matching(
    re.compile(r"[\w+=,.@:/-]{2,1224}", re.ASCII), "2 to 1224 letters, digits and characters of _+=,.@:/-"
)
_SESSION_NAME = matching(re.compile(r"[\w+=,.@-]{2,64}", re.ASCII), "2 to 64 letters, digits and characters of _+=,.@-")
_CLASS_NAME = matching(
    re.compile(r"[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*"),
    "the full name of a Java class, like com.example.MyCredentials",
)


@values
class DefaultCredentials:
    """The AWS SDK's default chain, on the driver and on each executor."""


@values
class ProfileCredentials:
    """A named profile of the shared AWS configuration files, which each executor must have too.

    Attributes:
        profile: the profile's name.
    """

    profile: str = option("profile", TEXT)

    def __post_init__(self) -> None:
        read_fields(self)


@values
class StaticCredentials:
    """Static access keys, for tests and local servers rather than production.

    Attributes:
        access_key_id: the access key's id (shown in full nowhere).
        secret_access_key: the secret key.
        session_token: the session token of temporary keys, or None.
    """

    access_key_id: str = option("accessKeyId", SECRET)
    secret_access_key: str = option("secretAccessKey", SECRET)
    session_token: str | None = option("sessionToken", SECRET, default=None)

    def __post_init__(self) -> None:
        read_fields(self)


@values
class CustomCredentials:
    """A credentials provider class of your own, on the class path of driver and executors.

    Attributes:
        credentials_provider: the full name of a class that implements `AwsCredentialsProvider` of the AWS SDK for
            Java 2 (or `AWSCredentialsProvider` of version 1).
    """

    credentials_provider: str = option("credentialsProvider", _CLASS_NAME)

    def __post_init__(self) -> None:
        read_fields(self)


Credentials = Union[DefaultCredentials, ProfileCredentials, StaticCredentials, CustomCredentials]


@values
class AssumedRole:
    """A role to assume through STS, asked for with the `Credentials` that stand beside it.

    https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html

    Attributes:
        role_arn: the role, `arn:aws:iam::<12 digits>:role/<name>`.
        external_id: what the role's trust policy asks for, or None.
        role_session_name: the name of the session in CloudTrail.

    Raises:
        InvalidOptionError: for a value that STS would refuse.
    """

    role_arn: str = option("roleArn", _ROLE_ARN)
    external_id: str | None = option("externalId", _EXTERNAL_ID, default=None)
    role_session_name: str = option("roleSessionName", _SESSION_NAME, default="kinesis-spark")

    def __post_init__(self) -> None:
        read_fields(self)


def _read_credentials(field: str, value: object) -> object:
    kinds = (DefaultCredentials, ProfileCredentials, StaticCredentials, CustomCredentials)
    # Without the value, which may hold secrets.
    expected = f"one of {', '.join(kind.__name__ for kind in kinds)}"
    require(isinstance(value, kinds), field, type(value).__name__, expected)
    return value


def _read_role(field: str, value: object) -> object:
    role = AssumedRole(value) if isinstance(value, str) else value
    require(isinstance(role, AssumedRole), field, type(value).__name__, "a role's ARN, or an AssumedRole")
    return role


CREDENTIALS = Kind(_read_credentials)
ROLE = Kind(_read_role)


__all__ = [
    "AssumedRole",
    "Credentials",
    "CustomCredentials",
    "DefaultCredentials",
    "ProfileCredentials",
    "StaticCredentials",
]
