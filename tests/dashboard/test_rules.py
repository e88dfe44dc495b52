"""Does the dashboard import nothing of ours, and do its pages compute nothing?"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import dashboard

ROOT = Path(dashboard.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
PAGES = [
    *sorted((ROOT / "views").glob("*.py")),
    *(
        ROOT / f"{name}.py"
        for name in ("actions", "closes", "curve_view", "derivation", "frame", "impact", "plot", "policies", "rows")
    ),
]
FOREIGN = {"click", "httpx", "plotly", "streamlit"}
ARITHMETIC = (ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
SUMS = {"sum", "round", "min", "max", "abs", "float", "divmod", "pow", "Decimal", "Fraction"}
METHODS = {"sum", "groupby", "agg", "mean", "cumsum", "pivot_table"}


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _imports(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found


def computes(source: str) -> list[str]:
    """What of a page's code makes a figure of its own: arithmetic, sums, or a number added to something."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.BinOp | ast.AugAssign):
            adds = isinstance(node.op, ast.Add) and any(_figure(part) for part in _operands(node))
            found += [ast.unparse(node)] if isinstance(node.op, ARITHMETIC) or adds else []
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Subscript):
            found.append(ast.unparse(node))
        if isinstance(node, ast.Call):
            called = node.func.id if isinstance(node.func, ast.Name) else ""
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            found += [ast.unparse(node)] if called in SUMS or method in METHODS else []
    return found


def _operands(node: ast.BinOp | ast.AugAssign) -> tuple[ast.expr, ast.expr]:
    return (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)


def _figure(part: ast.expr) -> bool:
    """Whether it may be a figure: an item of an answer, or a number; lists and texts may be joined."""
    number = isinstance(part, ast.Constant) and isinstance(part.value, int | float)
    return number or isinstance(part, ast.Subscript)


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_it_imports_the_standard_library_streamlit_and_itself_alone(path: Path) -> None:
    foreign = _imports(ast.parse(path.read_text())) - set(sys.stdlib_module_names) - FOREIGN - {"dashboard"}
    assert foreign == set()


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_a_page_computes_nothing(path: Path) -> None:
    assert computes(path.read_text()) == []
    assert _imports(ast.parse(path.read_text())) & {"decimal", "math", "statistics", "fractions"} == set()


@pytest.mark.parametrize(
    "line",
    [
        "cost = row['revenue'] - row['cost']",
        "total += row['cost']",
        "sum(row['cost'] for row in rows)",
        "share = part / whole",
        "money.amount(-row['cost'])",
        "rows.groupby('model')",
    ],
)
def test_the_rule_finds_a_page_that_computes(line: str) -> None:
    assert computes(line)


def test_the_rule_lets_lists_and_texts_be_joined() -> None:
    assert computes("columns += frame.columns(answer, 'a')\ntext = 'a' + name") == []
