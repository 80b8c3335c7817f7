"""Rules that the code keeps, read off the code.

Where randomness may come from, which files may be read, what is exported.
"""

import ast
from pathlib import Path

import pytest

import sfumato

ROOT = Path(sfumato.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
PRIVATE_SIDE = [
    file
    for file in FILES
    if file.parts[len(ROOT.parts)]
    in ("curator.py", "custodian.py", "local.py", "privacy", "sources", "statistics", "mechanisms")
    and file.name != "chance.py"
]


def names(tree: ast.AST) -> set[str]:
    """Every dotted name that a file imports or uses."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
        elif isinstance(node, ast.Attribute | ast.Name):
            found.add(ast.unparse(node))
    return found


def uses_other_randomness(source: str) -> bool:
    """Whether a file draws from anything but the operating system (threat 12)."""
    used = names(ast.parse(source))
    return any(
        name.startswith(("np.random", "numpy.random", "random", "torch.manual_seed", "scipy.stats.norm.rvs"))
        for name in used
    )


def reads_code(source: str) -> bool:
    """Whether a file can load an object that runs code (threat 15)."""
    used = names(ast.parse(source))
    calls = {
        "eval",
        "exec",
        "torch.load",
        "__import__",
        "yaml.load",
        "yaml.unsafe_load",
        "yaml.full_load",
        "np.load",
        "numpy.load",
    }
    return bool(used & calls) or any(
        name.split(".")[0] in ("pickle", "cloudpickle", "joblib", "shelve", "marshal", "dill") for name in used
    )


@pytest.mark.parametrize("file", PRIVATE_SIDE, ids=lambda file: str(file.relative_to(ROOT)))
def test_the_private_side_draws_from_the_operating_system_alone(file):
    assert not uses_other_randomness(file.read_text())


def test_public_chance_is_for_what_comes_after_the_door():
    users = {file.parts[len(ROOT.parts)] for file in FILES if "public_chance" in file.read_text()}
    assert users == {"mechanisms", "generators", "local.py"}


def test_the_randomness_rule_sees_a_seeded_generator():
    assert len(PRIVATE_SIDE) > 20
    assert uses_other_randomness("import numpy as np\nrng = np.random.default_rng(0)")
    assert uses_other_randomness("from numpy.random import default_rng")
    assert uses_other_randomness("import random\nrandom.gauss(0, 1)")
    assert not uses_other_randomness("import os\nos.urandom(8)")


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_file_loads_code(file):
    assert not reads_code(file.read_text())


def test_the_code_loading_rule_sees_a_pickle():
    assert reads_code("import pickle")
    assert reads_code("from joblib import load")
    assert reads_code("import torch\ntorch.load('x')")
    assert reads_code("import yaml\nyaml.load('x', Loader=yaml.Loader)")


def test_only_noise_draws_noise():
    """`rounded_gaussian` is called at the door and, where there is no curator, by the holder of a record."""
    callers = [file.name for file in FILES if "rounded_gaussian(" in file.read_text()]
    assert callers == ["curator.py", "local.py", "noise.py"]


def test_only_the_curator_sums_a_source():
    callers = [file.name for file in FILES if "_source.sum(" in file.read_text()]
    assert callers == ["curator.py"]


def test_exported_names():
    assert sfumato.__all__ == dir(sfumato)
    for name in sfumato.__all__:
        assert getattr(sfumato, name) is not None
    assert set(sfumato.__all__) == {
        "Adjacency", "Budget", "Database", "Ledger", "Measurement", "PrivacyStatement", "Release", "Schema",
        "SfumatoError", "__version__", "open", "release",
    }  # fmt: skip
    with pytest.raises(AttributeError, match="no attribute 'clustmix'"):
        _ = sfumato.clustmix


def test_every_statistic_argues_its_sensitivity():
    from sfumato.statistics import statistic

    for make in statistic._KINDS.values():
        text = make.__self__.__doc__
        assert "Formal guarantees" in text
        for adjacency in sfumato.Adjacency:
            assert adjacency in text
