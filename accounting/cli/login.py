"""How does an operator say who of an identity provider may sign in?"""

from __future__ import annotations

import click

from accounting.cli.group import example
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.storage import logins
from accounting.storage.engine import app_engine

_ISSUER = click.option(
    "--issuer", required=True, envvar="TOKENCOGS_OIDC_ISSUER", help="The provider: `iss` of its tokens."
)


@click.group(
    epilog=example(
        "tokencogs login grant --tenant demo --issuer https://accounts.example.com --scope viewer 248289761001"
    )
)
def login() -> None:
    """People who sign in at an identity provider (OpenID Connect)."""


@login.command(
    epilog=example(
        "tokencogs login grant --tenant demo --issuer https://accounts.example.com --scope viewer --label Ada 248289761001"
    )
)
@click.argument("subject")
@tenant_option
@_ISSUER
@click.option("--scope", required=True, type=click.Choice(logins.LOGIN_SCOPES), help="What the person may do.")
@click.option("--label", default="", help="Who that is.")
def grant(tenant: str | None, issuer: str, subject: str, scope: str, label: str) -> None:
    """Let the person SUBJECT (`sub` of the provider's tokens) sign in, or change the scope."""
    logins.grant(app_engine(), chosen(tenant), issuer, subject, scope, label)
    click.echo(f"{subject} has scope {scope}")


@login.command(
    epilog=example("tokencogs login revoke --tenant demo --issuer https://accounts.example.com 248289761001")
)
@click.argument("subject")
@tenant_option
@_ISSUER
def revoke(tenant: str | None, issuer: str, subject: str) -> None:
    """Take the access of SUBJECT away at once."""
    logins.revoke(app_engine(), chosen(tenant), issuer, subject)
    click.echo(f"{subject} has no access any more")


@login.command(name="list", epilog=example("tokencogs login list --tenant demo"))
@tenant_option
def list_(tenant: str | None) -> None:
    """List who may sign in: issuer, subject, scope, since, label."""
    for one in logins.list_logins(app_engine(), chosen(tenant)):
        click.echo(f"{one.issuer}\t{one.subject}\t{one.scope}\t{one.created_at:%Y-%m-%dT%H:%M:%SZ}\t{one.label}")
