"""Which shapes do keys and logins have? A secret is shown once, where it is made."""

from __future__ import annotations

from pydantic import Field

from api.schemas import Answer

Text = Field(default="", max_length=200, pattern=r"^[^\x00]*$", examples=["finance sheet"])


class KeyBody(Answer):
    """What a new key may do, and who holds it."""

    scope: str = Field(description="ingest, viewer, analyst or admin", examples=["viewer"])
    label: str = Text


class Key(Answer):
    """Everything of a key but its secret."""

    key_id: str = Field(examples=["a1B2c3D4"])
    scope: str = Field(examples=["viewer"])
    label: str
    created_at: str = Field(examples=["2026-11-30T09:00:00Z"])
    revoked_at: str | None = Field(description="null while it is good")
    asking: bool = Field(description="whether it is the key of this request")


class KeyList(Answer):
    keys: list[Key]


class NewKey(Answer):
    """A key, this one time in full."""

    key: str = Field(examples=["tc_acme_..."])
    key_id: str
    scope: str


class Revoked(Answer):
    key_id: str


class LoginBody(Answer):
    """Who may sign in at the identity provider, and with which scope."""

    subject: str = Field(description="`sub` of the person's token", min_length=1, max_length=512, pattern=r"^[^\x00]+$")
    scope: str = Field(description="viewer, analyst or admin", examples=["viewer"])
    label: str = Text


class Login(Answer):
    issuer: str = Field(examples=["https://accounts.example.com"])
    subject: str = Field(examples=["248289761001"])
    scope: str = Field(examples=["viewer"])
    label: str
    created_at: str = Field(examples=["2026-11-30T09:00:00Z"])


class LoginList(Answer):
    """issuer is the configured provider; null: none is, and nobody can sign in that way."""

    issuer: str | None
    logins: list[Login]


class LoginRevoked(Answer):
    issuer: str
    subject: str
