"""Which replicas serve in a pool, from when until when, and who pays their GPUs?"""

from __future__ import annotations

import click

from accounting.cli.group import example
from accounting.cli.pools_settings import FROM_HELP
from accounting.cli.prices_options import actor
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.moments import instant, moment
from accounting.selfhosted.pool_settings import Membership
from accounting.storage import pools
from accounting.storage.engine import app_engine
from accounting.storage.tenants import context


@click.group(epilog=example("tokencogs pools replica add chat r0 --rate h100 --from 2026-09-01"))
def replica() -> None:
    """Replicas of a pool, by date."""


@replica.command(epilog=example("tokencogs pools replica add chat r0 --rate h100 --from 2026-09-01"))
@click.argument("pool_id")
@click.argument("replica_id", metavar="REPLICA")
@click.option("--from", "since", required=True, help=FROM_HELP)
@click.option("--until", help="Its end; default: it stays.")
@click.option("--rate", "rate_id", help="The rate that pays its GPUs; default: its bill is imported.")
@tenant_option
def add(pool_id: str, replica_id: str, since: str, until: str | None, rate_id: str | None, tenant: str | None) -> None:
    """State that REPLICA serves in POOL_ID, or its end or rate anew; events name it as `replica`."""
    engine = app_engine()
    one = Membership(pool_id, replica_id, instant("--from", since), moment("--until", until), rate_id)
    new = pools.record_member(engine, context(engine, chosen(tenant)), one, actor())
    click.echo(f"replica {replica_id} of {pool_id} {'stated' if new else 'is stated so already'}")


@replica.command(epilog=example("tokencogs pools replica end chat r0 --at 2026-09-16"))
@click.argument("pool_id")
@click.argument("replica_id", metavar="REPLICA")
@click.option("--at", required=True, help="The first moment at which it is gone.")
@tenant_option
def end(pool_id: str, replica_id: str, at: str, tenant: str | None) -> None:
    """State that REPLICA left POOL_ID."""
    engine = app_engine()
    ended = pools.end_member(engine, context(engine, chosen(tenant)), pool_id, replica_id, instant("--at", at), actor())
    click.echo(f"replica {replica_id} of {pool_id}: from {ended.effective_from.isoformat()} until {at}")


@replica.command(epilog=example("tokencogs pools replica withdraw chat r0 --from 2026-09-01"))
@click.argument("pool_id")
@click.argument("replica_id", metavar="REPLICA")
@click.option("--from", "since", required=True, help="Which statement, by its beginning.")
@tenant_option
def withdraw(pool_id: str, replica_id: str, since: str, tenant: str | None) -> None:
    """Take a membership of REPLICA in POOL_ID back as never right."""
    engine = app_engine()
    pools.withdraw_member(
        engine, context(engine, chosen(tenant)), pool_id, replica_id, instant("--from", since), actor()
    )
    click.echo(f"replica {replica_id} of {pool_id}: what was stated from {since} on is withdrawn")
