"""Whose name the connector calls AWS in. Secrets never show in a `repr`, and so in no log, traceback or notebook cell.

Without any of these the AWS SDK's default chain decides (environment, web identity, profile, container, instance):
https://docs.aws.amazon.com/sdk-for-java/latest/developer-guide/credentials-chain.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from kinesis_spark._declare import option, require, require_match, require_text

_ROLE_ARN = re.compile(r"arn:[a-z0-9-]+:iam::[0-9]{12}:role/[\x21-\x7E]{1,576}")
_EXTERNAL_ID = re.compile(r"[\w+=,.@:/-]{2,1224}", re.ASCII)
_SESSION_NAME = re.compile(r"[\w+=,.@-]{2,64}", re.ASCII)
_CLASS_NAME = re.compile(r"[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*")


@dataclass(frozen=True, slots=True)
class DefaultCredentials:
    """The AWS SDK's default chain, on the driver and on each executor."""


@dataclass(frozen=True, slots=True)
class ProfileCredentials:
    """A named profile of the shared AWS configuration files, which each executor must have too.

    Attributes:
        profile: the profile's name.
    """

    profile: str = option("profile")

    def __post_init__(self) -> None:
        require_text("profile", self.profile)


@dataclass(frozen=True, slots=True)
class StaticCredentials:
    """Keys given in so many words; for tests and local servers rather than production.

    Attributes:
        access_key_id: the access key's id (shown in full nowhere).
        secret_access_key: the secret key.
        session_token: the session token of temporary keys, or None.
    """

    access_key_id: str = option("accessKeyId", secret=True)
    secret_access_key: str = option("secretAccessKey", secret=True)
    session_token: str | None = option("sessionToken", default=None, secret=True)

    def __post_init__(self) -> None:
        # Not `require`: it shows the value.
        for field in ("access_key_id", "secret_access_key"):
            _refuse_blank_secret(field, getattr(self, field))
        if self.session_token is not None:
            _refuse_blank_secret("session_token", self.session_token)


@dataclass(frozen=True, slots=True)
class ProviderClass:
    """A credentials provider class of your own, on the class path of driver and executors.

    Attributes:
        credentials_provider: the full name of a class that implements `AwsCredentialsProvider` of the AWS SDK for
            Java 2 (or `AWSCredentialsProvider` of version 1).
    """

    credentials_provider: str = option("credentialsProvider")

    def __post_init__(self) -> None:
        expected = "the full name of a Java class, like com.example.MyCredentials"
        require_match("credentials_provider", self.credentials_provider, _CLASS_NAME, expected)


Credentials: TypeAlias = DefaultCredentials | ProfileCredentials | StaticCredentials | ProviderClass


@dataclass(frozen=True, slots=True)
class AssumedRole:
    """A role to assume through STS, asked for with the `Credentials` that stand beside it.

    https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html

    Attributes:
        role_arn: the role, `arn:aws:iam::<12 digits>:role/<name>`.
        external_id: what the role's trust policy asks for, or None.
        role_session_name: how the session is called in CloudTrail.

    Raises:
        InvalidOptionError: for a value that STS would refuse.
    """

    role_arn: str = option("roleArn")
    external_id: str | None = option("externalId", default=None)
    role_session_name: str = option("roleSessionName", default="kinesis-spark")

    def __post_init__(self) -> None:
        expected = "a role's ARN, like arn:aws:iam::123456789012:role/reader"
        require_match("role_arn", self.role_arn, _ROLE_ARN, expected)
        if self.external_id is not None:
            expected = "2 to 1224 letters, digits and characters of _+=,.@:/-"
            require_match("external_id", self.external_id, _EXTERNAL_ID, expected)
        expected = "2 to 64 letters, digits and characters of _+=,.@-"
        require_match("role_session_name", self.role_session_name, _SESSION_NAME, expected)


def _refuse_blank_secret(field: str, value: object) -> None:
    found = type(value).__name__ if not isinstance(value, str) else "a blank text"
    good = isinstance(value, str) and value.strip() != ""
    if not good:
        require(good, field, f"<{found}>", "a text that is not blank")
