"""The class of a record: what its target says, or the nearest by a public rule."""

import json

import numpy as np
import pytest

from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import ByRule, ByTarget
from sfumato.trusted.feature_maps.partition import parting_from_content
from tests.statistics.making import DIMENSIONS, a_map, a_whitening
from tests.statistics.reaching import draw


def rule(d: int, offsets: tuple[float, ...] = (0.0, 3.0, -1.0)) -> ByRule:
    return ByRule(tuple(a_whitening(d, seed, 0.05) for seed in range(len(offsets))), offsets)


def nobody(records: int) -> Batch:
    return Batch(records, {})


@pytest.mark.parametrize("d", DIMENSIONS)
def test_a_rule_takes_the_nearest(d):
    places = draw(a_map("shells", d), np.random.default_rng(0), 400)
    parting = rule(d)
    far = [
        [float(z @ z) + offset for z in whitening(places).T]
        for whitening, offset in zip(parting.whitenings, parting.offsets, strict=True)
    ]
    classes = parting(nobody(400), places)
    assert classes.tolist() == [min(range(3), key=lambda k: far[k][record]) for record in range(400)]
    assert len(set(classes.tolist())) > 1


def test_a_class_does_not_depend_on_the_company_of_its_record():
    places, rng = draw(a_map("shells", 3), np.random.default_rng(1), 501), np.random.default_rng(0)
    parting, order = rule(3), rng.permutation(501)
    classes = parting(nobody(501), places)
    assert np.array_equal(parting(nobody(501), places[:, order]), classes[order])
    assert np.array_equal(parting(nobody(3), places[:, 7:10]), classes[7:10])
    assert parting(nobody(0), places[:, :0]).shape == (0,)


def test_the_first_of_equals():
    twins = ByRule((a_whitening(2), a_whitening(2)), (1.0, 1.0))
    assert not twins(nobody(20), draw(a_map("shells", 2), np.random.default_rng(0), 20)).any()


def test_one_class_takes_all():
    alone = ByRule((a_whitening(2),), (0.0,))
    assert alone(nobody(5), np.zeros((2, 5))).tolist() == [0] * 5
    assert alone.target is None


def test_a_target_says_the_class():
    batch = Batch(4, {"y": np.array([2, 0, 1, 2], dtype=np.int32)})
    assert ByTarget("y", 3)(batch, np.zeros((1, 4))).tolist() == [2, 0, 1, 2]


@pytest.mark.parametrize("parting", [ByTarget("y", 3), rule(3)])
def test_a_parting_survives_json(parting):
    again = parting_from_content(json.loads(json.dumps(parting.to_dict())))
    assert again.to_dict() == parting.to_dict()
    assert (again.size, again.target) == (parting.size, parting.target)


def test_a_rule_needs_an_offset_for_each_class():
    with pytest.raises(ValueError, match="offset"):
        ByRule((a_whitening(2),), ())
    with pytest.raises(ValueError, match="offset"):
        ByRule((), ())
