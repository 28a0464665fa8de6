"""Whose name the connector calls AWS in. Secrets never show in a `repr`, and so in no log, traceback or notebook cell.

Without any of these the AWS SDK's default chain decides (environment, web identity, profile, container, instance):
https://docs.aws.amazon.com/sdk-for-java/latest/developer-guide/credentials-chain.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from kinesis_spark._declare import encoded, option, require, require_text

_ROLE_ARN = re.compile(r"arn:[\w-]+:iam::\d{12}:role/\S+")
_SESSION_NAME = re.compile(r"[\w+=,.@-]{2,64}")
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
        credentials_provider: the full name of a class that implements the SDK's `AwsCredentialsProvider`.
    """

    credentials_provider: str = option("credentialsProvider")

    def __post_init__(self) -> None:
        name = self.credentials_provider
        valid = isinstance(name, str) and _CLASS_NAME.fullmatch(name) is not None
        require(valid, "credentials_provider", name, "the full name of a Java class, like com.example.MyProvider")


BaseCredentials: TypeAlias = DefaultCredentials | ProfileCredentials | StaticCredentials | ProviderClass


@dataclass(frozen=True, slots=True)
class AssumedRole:
    """A role to assume through STS: https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html.

    Attributes:
        role_arn: the role, `arn:aws:iam::<12 digits>:role/<name>`.
        external_id: what the role's trust policy asks for, or None.
        role_session_name: how the session is called in CloudTrail, 2 to 64 characters of `[A-Za-z0-9_+=,.@-]`; None
            leaves it to the connector.
        base: whose credentials ask for the role.
    """

    role_arn: str = option("roleArn")
    external_id: str | None = option("externalId", default=None)
    role_session_name: str | None = option("roleSessionName", default=None)
    base: BaseCredentials = DefaultCredentials()

    def __post_init__(self) -> None:
        valid = isinstance(self.role_arn, str) and _ROLE_ARN.fullmatch(self.role_arn) is not None
        require(valid, "role_arn", self.role_arn, "a role's ARN, like arn:aws:iam::123456789012:role/reader")
        require_text("external_id", self.external_id)
        name = self.role_session_name
        if name is not None:
            valid = isinstance(name, str) and _SESSION_NAME.fullmatch(name) is not None
            require(valid, "role_session_name", name, "2 to 64 characters of letters, digits and _+=,.@-")


Credentials: TypeAlias = BaseCredentials | AssumedRole


def credential_options(credentials: Credentials) -> dict[str, str]:
    """The Spark options of credentials; holds secrets in the clear."""
    base = credential_options(credentials.base) if isinstance(credentials, AssumedRole) else {}
    return base | encoded(credentials)


def _refuse_blank_secret(field: str, value: object) -> None:
    found = type(value).__name__ if not isinstance(value, str) else "a blank text"
    good = isinstance(value, str) and value.strip() != ""
    if not good:
        require(good, field, f"<{found}>", "a text that is not blank")
