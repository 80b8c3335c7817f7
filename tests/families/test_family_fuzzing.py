"""Invented family bundles, opened and used in a process of its own whose memory the system limits."""

import subprocess
import sys

import numpy as np
import pytest


def fuzz(*words: object) -> str:
    command = [sys.executable, "-m", "tests.families.fuzzing", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_lies_are_found_or_do_no_harm():
    assert "40 bundles" in fuzz(60, 0, 40)


@pytest.mark.slow
def test_many_lies_are_found_or_do_no_harm():
    print(fuzz(120, np.random.default_rng().integers(2**31)))
