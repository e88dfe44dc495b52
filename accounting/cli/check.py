"""Do the sums on the screen equal the ledger, and the ledger its components?"""

from __future__ import annotations

import sys

import click

from accounting.cli.group import FAILURE, example
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.ledger.check import check as compare
from accounting.storage.engine import app_engine
from accounting.storage.tenants import context
