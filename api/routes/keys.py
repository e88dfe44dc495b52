"""Who may ask: keys of a tenant, and people of its identity provider?"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query

from accounting.errors import Conflict
from accounting.storage import logins
from accounting.storage.tenants import KeyInfo, create_key, list_keys, revoke_key
from api.deps import AdminKey, ServiceDep
from api.openapi import problems
from api.schemas_keys import Key, KeyBody, KeyList, Login, LoginBody, LoginList, LoginRevoked, NewKey, Revoked
from api.service import Service

KeyId = Annotated[str, Path(pattern=r"^[^\x00]*$", examples=["a1B2c3D4"])]
Subject = Annotated[str, Query(pattern=r"^[^\x00]+$", examples=["248289761001"])]

router = APIRouter(prefix="/v1", tags=["access"])


@router.get("/keys", responses=problems())
def get_keys(service: ServiceDep, principal: AdminKey) -> KeyList:
    """The tenant's keys, oldest first, revoked ones too; never a secret."""
    return KeyList(keys=[_shown(one, principal.key_id) for one in list_keys(service.engine, principal.tenant)])


@router.post("/keys", responses=problems(400, 413))
def make_key(body: KeyBody, service: ServiceDep, principal: AdminKey) -> NewKey:
    """Makes a key and answers it in full: the only time it can be seen."""
    key = create_key(service.engine, principal.tenant, body.scope, body.label, principal.actor)
    return NewKey(key=key, key_id=key.removeprefix(f"tc_{principal.tenant}_")[:8], scope=body.scope)


@router.delete("/keys/{key_id}", responses=problems(400, 404, 409))
def end_key(key_id: KeyId, service: ServiceDep, principal: AdminKey) -> Revoked:
    """Ends a key at once; ending it again changes nothing. The key that asks can't end itself: nobody might be left who can."""
    if key_id == principal.key_id:
        raise Conflict(f"key_id={key_id!r}: is the key that asks; another admin key can end it")
    revoke_key(service.engine, principal.tenant, key_id, principal.actor)
    return Revoked(key_id=key_id)


@router.get("/logins", responses=problems())
def get_logins(service: ServiceDep, principal: AdminKey) -> LoginList:
    """People of the identity provider who may sign in to this tenant."""
    rows = logins.list_logins(service.engine, principal.tenant)
    shown = [Login(**{**vars(one), "created_at": _moment(one.created_at)}) for one in rows]
    return LoginList(issuer=service.issuer, logins=shown)


@router.put("/logins", responses=problems(400, 409, 413))
def put_login(body: LoginBody, service: ServiceDep, principal: AdminKey) -> LoginList:
    """Lets a person of the configured provider sign in, or changes the scope."""
    issuer, who = _issuer(service), principal.actor
    logins.grant(service.engine, principal.tenant, issuer, body.subject, body.scope, body.label, who)
    return get_logins(service, principal)


@router.delete("/logins", responses=problems(400, 404, 409))
def end_login(subject: Subject, service: ServiceDep, principal: AdminKey) -> LoginRevoked:
    """Takes a person's access away at once."""
    logins.revoke(service.engine, principal.tenant, _issuer(service), subject, principal.actor)
    return LoginRevoked(issuer=_issuer(service), subject=subject)


def _issuer(service: Service) -> str:
    if service.issuer is None:
        raise Conflict(
            "issuer=None: no identity provider is configured (TOKENCOGS_OIDC_ISSUER, TOKENCOGS_OIDC_AUDIENCE)"
        )
    return service.issuer


def _shown(one: KeyInfo, asking: str) -> Key:
    return Key(
        key_id=one.key_id,
        scope=one.scope,
        label=one.label,
        created_at=_moment(one.created_at),
        revoked_at=None if one.revoked_at is None else _moment(one.revoked_at),
        asking=one.key_id == asking,
    )


def _moment(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")
