"""Whose name the connector calls AWS in. Secrets show in no `repr`, and so in no log, traceback or notebook cell.

Without any of these the AWS SDK's default chain decides (environment, web identity, profile, container, instance):
https://docs.aws.amazon.com/sdk-for-java/latest/developer-guide/credentials-chain.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any, Union, cast

from kinesis_spark._declare import Given, option, read_fields, values
from kinesis_spark._kinds import SECRET, TAGS, TEXT, ByName, Kind, Secret, duration, matching, require, several
from kinesis_spark.errors import InvalidOptionError

_ROLE_ARN = matching(
    re.compile(r"arn:[a-z0-9-]+:iam::[0-9]{12}:role/[\x21-\x7E]{1,576}"),
    "a role's ARN, like arn:aws:iam::123456789012:role/reader",
)
_EXTERNAL_ID = matching(
    re.compile(r"[\w+=,.@:/-]{2,1224}", re.ASCII), "2 to 1224 letters, digits and characters of _+=,.@:/-"
)
_CHAINED_ROLE = matching(
    re.compile(r"arn:[a-z0-9-]+:iam::[0-9]{12}:role/[\x21-\x7E]{1,576}( +[\w+=.@:/-]{2,1224})?", re.ASCII),
    "a role's ARN, like arn:aws:iam::123456789012:role/reader, and its external ID after a space, if it has one",
)
_SESSION_NAME = matching(re.compile(r"[\w+=,.@-]{2,64}", re.ASCII), "2 to 64 letters, digits and characters of _+=,.@-")
_LEAST_DURATION, _MOST_DURATION = timedelta(minutes=15), timedelta(hours=12)
_MOST_OF_CHAIN = timedelta(hours=1)
_CLASS_NAME = matching(
    re.compile(r"[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*"),
    "the full name of a Java class, like com.example.MyCredentials",
)


def _read_parameters(field: str, value: object) -> object:
    good = isinstance(value, Mapping) and all(
        isinstance(part, str) and part.strip() != "" for pair in value.items() for part in pair
    )
    # Without the values, which may be secrets.
    if not isinstance(value, Mapping) or not good:
        raise InvalidOptionError(f"{field} is not valid: expected texts by name, none of them blank")
    return ByName({name: Secret(text) for name, text in value.items()})


PARAMETERS = Kind(_read_parameters, secret=True)


def _parameters(given: Mapping[str, str]) -> dict[str, str]:
    return {f"credentialsProvider.{name}": text for name, text in given.items()}


@values
class DefaultCredentials:
    """The AWS SDK's default chain, on the driver and on each executor."""


@values
class ProfileCredentials:
    """A named profile of the shared AWS configuration files, which each executor must have too.

    One of SSO or `aws login` needs the login's files there, too.

    Attributes:
        profile: the profile's name.
    """

    profile: str = option("profile", TEXT)

    def __post_init__(self) -> None:
        read_fields(self)


@values
class StaticCredentials:
    """Static access keys, for tests and local servers rather than production.

    Each may be `alias:<name>`: it is then what Hadoop's credential providers have under that name.

    Attributes:
        access_key_id: the access key's id (shown in full nowhere).
        secret_access_key: the secret key.
        session_token: the session token of temporary keys, or None.
    """

    access_key_id: str = option("accessKeyId", SECRET, aliases=("awsAccessKey",))
    secret_access_key: str = option("secretAccessKey", SECRET, aliases=("awsSecretKey",))
    session_token: str | None = option("sessionToken", SECRET, default=None)

    def __post_init__(self) -> None:
        read_fields(self)


@values
class CustomCredentials:
    """A credentials provider class of your own, on the class path of driver and executors.

    Attributes:
        credentials_provider: the full name of a class that implements `AwsCredentialsProvider` of the AWS SDK for
            Java 2 (or `AWSCredentialsProvider` of version 1).
        credentials_provider_parameters: what its constructor, which must take a `java.util.Map`, is given; no
            `repr` shows them. Put `secret`, `password` or `token` into the names of secret ones: Spark's plans show
            others.
    """

    credentials_provider: str = option("credentialsProvider", _CLASS_NAME)
    credentials_provider_parameters: Mapping[str, str] | None = option(
        "credentialsProvider.<parameter>",
        PARAMETERS,
        default=None,
        write=lambda _, given: _parameters(given),
        gather=dict,
    )

    def __post_init__(self) -> None:
        read_fields(self)


@values
class WebIdentityCredentials:
    """The token of an identity provider, which the role (or the first of its chain) is assumed with.

    The default chain finds what the environment names (AWS_WEB_IDENTITY_TOKEN_FILE) by itself.

    Attributes:
        web_identity_token_file: a file with the token, on the driver and each executor.
    """

    web_identity_token_file: str = option("webIdentityTokenFile", TEXT)

    def __post_init__(self) -> None:
        read_fields(self)


Credentials = Union[
    DefaultCredentials, ProfileCredentials, StaticCredentials, CustomCredentials, WebIdentityCredentials
]


@values
class AssumedRole:
    """A role to assume through STS, asked for with the `Credentials` that stand beside it.

    https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html

    Attributes:
        role_arn: the role, `arn:aws:iam::<12 digits>:role/<name>`. It may be left out in general if streams have roles
            of their own, and of a stream if there is a general one.
        external_id: what the role's trust policy asks for, or None.
        role_session_name: the name of the session in CloudTrail; None for the general role's, or else `kinesis-spark`.
        role_chain: roles to assume before this one, each with the credentials of the one before. The external ID that
            a role's trust policy asks for follows its ARN after a space.
        role_duration: how long the credentials live, from 15 minutes to 12 hours, or one after a chain; None for an
            hour. They are renewed in time.
        role_tags: tags of the session. Needs the permission `sts:TagSession`.
        role_source_identity: the source identity of the session, which CloudTrail shows. Needs the permission
            `sts:SetSourceIdentity`.

    Raises:
        InvalidOptionError: for a value that STS would refuse.
    """

    role_arn: str | None = option("roleArn", _ROLE_ARN, default=None)
    external_id: str | None = option("externalId", _EXTERNAL_ID, default=None, aliases=("roleExternalId",))
    role_session_name: str | None = option("roleSessionName", _SESSION_NAME, default=None)
    role_chain: str | Sequence[str] | None = option(
        "roleChain", several(_CHAINED_ROLE, key=lambda role: role.partition(" ")[0]), default=None
    )
    role_duration: timedelta | str | None = option(
        "roleDuration", duration(least=_LEAST_DURATION, most=_MOST_DURATION), default=None
    )
    role_tags: Mapping[str, str] | str | None = option("roleTags", TAGS, default=None)
    role_source_identity: str | None = option("roleSourceIdentity", _SESSION_NAME, default=None)

    def __post_init__(self) -> None:
        read_fields(self)
        lives: Any = self.role_duration
        if self.role_chain is not None and lives is not None:
            require(lives <= _MOST_OF_CHAIN, "role_duration", lives, "an hour at most after role_chain, as AWS has it")


KINDS = (DefaultCredentials, ProfileCredentials, StaticCredentials, CustomCredentials, WebIdentityCredentials)


def _read_credentials(field: str, value: object) -> object:
    # Without the value, which may hold secrets.
    expected = f"one of {', '.join(kind.__name__ for kind in KINDS)}"
    require(isinstance(value, KINDS), field, type(value).__name__, expected)
    return value


def take_credentials(given: Given) -> Credentials:
    """The credentials that options name; the default chain if they name none.

    Raises:
        InvalidOptionError: if they name several kinds, or lack a part of one.
    """
    named = [kind for kind in KINDS if given.has(kind)]
    if len(named) > 1:
        kinds = " and ".join(kind.__name__ for kind in named)
        raise InvalidOptionError(f"credentials: options of {kinds} were given. Give those of one kind.")
    return cast("Credentials", given.take(named[0])) if named else DefaultCredentials()


def take_role(given: Given) -> AssumedRole | None:
    """The role that options name, if they name one.

    Raises:
        InvalidOptionError: for a value that can't be right.
    """
    return given.take(AssumedRole) if given.has(AssumedRole) else None


def _read_role(field: str, value: object) -> object:
    role = AssumedRole(value) if isinstance(value, str) else value
    require(isinstance(role, AssumedRole), field, type(value).__name__, "a role's ARN, or an AssumedRole")
    return role


def with_own(general: AssumedRole | None, own: AssumedRole | None) -> AssumedRole | None:
    """The role of one stream: what its own leaves out is taken from the general one."""
    if general is None or own is None:
        return own or general
    given = {field.name: getattr(own, field.name) for field in fields(cast("Any", own))}
    own_values = {
        field.name: given[field.name] for field in fields(cast("Any", own)) if given[field.name] != field.default
    }
    return replace(cast("Any", general), **own_values)  # type: ignore[no-any-return]


def check_web_identity(where: str, credentials: Credentials, role: AssumedRole | None) -> None:
    """Refuse what has no use beside the token of a web identity.

    Args:
        where: what an error calls the role.
        credentials: which the role is assumed with.
        role: the role.

    Raises:
        InvalidOptionError: for an external ID of the role that the token is for, for tags of its session if there is no
            chain before it, and for a source identity.
    """
    if not isinstance(credentials, WebIdentityCredentials) or role is None:
        return
    chain = (role.role_chain,) if isinstance(role.role_chain, str) else tuple(role.role_chain or ())
    names = ("external_id", "role_tags", "role_source_identity") if not chain else ("role_source_identity",)
    of_role = [name for name in names if getattr(role, name) is not None]
    of_chain = ["the external ID of the first role of role_chain"] if chain and " " in chain[0] else []
    for useless in of_role + of_chain:
        raise InvalidOptionError(f"{where}: {useless} has no use with WebIdentityCredentials. Leave it out.")


def check_token_has_role(where: str, credentials: Credentials, role: AssumedRole | None) -> None:
    """Refuse the token of a web identity without a role.

    Args:
        where: what an error calls the credentials.
        credentials: which a stream is called with.
        role: the stream's role.

    Raises:
        InvalidOptionError: if no role has an ARN.
    """
    if isinstance(credentials, WebIdentityCredentials) and (role is None or role.role_arn is None):
        raise InvalidOptionError(
            f"{where}: WebIdentityCredentials without role: a token is good for a role alone. Give the role to assume, "
            "too."
        )


CREDENTIALS = Kind(_read_credentials)
ROLE = Kind(_read_role)


__all__ = [
    "AssumedRole",
    "Credentials",
    "CustomCredentials",
    "DefaultCredentials",
    "ProfileCredentials",
    "StaticCredentials",
    "WebIdentityCredentials",
]
