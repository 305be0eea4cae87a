"""Guards of the architecture that are no import contracts, read from the source's syntax trees."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path
from types import ModuleType

import pytest

import finalcall

PACKAGE = Path(finalcall.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
PUBLIC = (
    "finalcall",
    "finalcall.bridges",
    "finalcall.correction",
    "finalcall.observe",
    "finalcall.preview",
    "finalcall.testing",
    "finalcall.tools",
)
"""The modules that users import from."""

MAX_LINES = 500


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def declarations_of(module: ModuleType) -> Path:
    """The file that says what a module offers: its stub, where it loads its names late."""
    source = Path(str(module.__file__))
    stub = source.with_suffix(".pyi")
    return stub if stub.exists() else source


def public_names() -> list[tuple[str, str]]:
    return [
        (module, name)
        for module in PUBLIC
        for name in getattr(importlib.import_module(module), "__all__", [])
    ]


def public_classes() -> list[tuple[str, str]]:
    return [
        (module, name)
        for module, name in public_names()
        if isinstance(definition(module, name)[1], ast.ClassDef)
    ]


def definition(module: str, name: str) -> tuple[ast.Module, ast.stmt]:
    """The statement that binds a public name, in the module of ours that first does."""
    pending = [importlib.import_module(module)]
    while pending:
        tree = tree_of(declarations_of(pending.pop()))
        for node in tree.body:
            if name in bound_by(node):
                if not isinstance(node, ast.ImportFrom):
                    return tree, node
                pending.append(importlib.import_module(str(node.module)))
    raise AssertionError(f"{module} does not define {name}")


def bound_by(node: ast.stmt) -> set[str]:
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return {name}
        case ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
        case ast.Assign(targets=[ast.Name(id=name)]):
            return {name}
        case ast.ImportFrom(names=names):
            return {alias.asname or alias.name for alias in names}
        case _:
            return set()


def is_documented(tree: ast.Module, node: ast.stmt) -> bool:
    """Whether a class or function has a docstring, or a value a string right below it."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return bool(ast.get_docstring(node))
    following = tree.body[tree.body.index(node) + 1 :][:1]
    return any(
        isinstance(after, ast.Expr)
        and isinstance(after.value, ast.Constant)
        and isinstance(after.value.value, str)
        for after in following
    )


def makes(node: ast.AST, name: str) -> bool:
    """Whether a call may make an instance: it is of the class, or is given the class itself."""
    if not isinstance(node, ast.Call):
        return False
    called, *given = (ast.unparse(part).split(".")[-1] for part in (node.func, *node.args))
    return called == name or (name in given and called not in ("isinstance", "issubclass"))


def makers(name: str) -> set[str]:
    return {
        name_of(path)
        for path in MODULES
        if any(makes(node, name) for node in ast.walk(tree_of(path)))
    }


def test_only_finalize_makes_a_dispatchable() -> None:
    """A `Dispatchable` is written into being in one source file."""
    assert makers("Dispatchable") == {"finalizing.py"}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("Dispatchable('id', 'name', {})", True),
        ("outcomes.Dispatchable()", True),
        ("object.__new__(outcomes.Dispatchable)", True),
        ("isinstance(outcome, Dispatchable)", False),
    ],
)
def test_the_guard_sees_every_way_to_make_one(code: str, expected: bool) -> None:
    """The check above finds calls of the class and of what is given it, but for type tests."""
    assert any(makes(node, "Dispatchable") for node in ast.walk(ast.parse(code))) is expected


@pytest.mark.parametrize("module", PUBLIC)
def test_exports_are_in_order_and_whole(module: str) -> None:
    """`__all__` is in order and names exactly what the module offers."""
    loaded = importlib.import_module(module)
    offered = {
        name
        for node in tree_of(declarations_of(loaded)).body
        for name in bound_by(node)
        if (name == "__version__" or not name.startswith("_")) and is_offered(loaded, name)
    }
    assert list(loaded.__all__) == sorted(loaded.__all__, key=export_order)
    assert set(loaded.__all__) == offered


def export_order(name: str) -> tuple[bool, bool, str]:
    """Constants first, then classes, then functions: the order that the formatter keeps, too."""
    return not name.isupper(), not name[:1].isupper(), name


def is_offered(module: ModuleType, name: str) -> bool:
    return name != "annotations" and not inspect.ismodule(getattr(module, name))


@pytest.mark.parametrize(("module", "name"), public_names())
def test_every_public_name_is_documented(module: str, name: str) -> None:
    """Every public name says what it is."""
    if name == "__version__":
        assert finalcall.__version__
        return
    assert is_documented(*definition(module, name))


@pytest.mark.parametrize(("module", "name"), public_classes())
def test_every_public_class_is_final(module: str, name: str) -> None:
    """Nothing that users get is made to be subclassed."""
    _, node = definition(module, name)
    assert isinstance(node, ast.ClassDef)
    decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
    protocol = any(ast.unparse(base).startswith("Protocol") for base in node.bases)
    assert protocol or "final" in decorators


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_says_its_idea(path: Path) -> None:
    """A module begins with a sentence about it."""
    docstring = ast.get_docstring(tree_of(path)) or ""
    assert docstring.split("\n\n")[0].endswith(".")


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_module_is_long(path: Path) -> None:
    """A file can be read in one sitting."""
    lines = path.read_text(encoding="utf-8").count("\n")
    assert lines < MAX_LINES
