"""What follows what, on the custodian's page: counts of every two values, as a slow count has them."""

import itertools

import numpy as np

from sfumato.evaluation.families.following import compare_following
from sfumato.evaluation.families.reading import link_tables
from tests.families.hospital import schema, tables


def test_counts_are_what_a_slow_count_says():
    """But for stays that begin on the same day: which of them comes first is drawn by lot."""
    held = {"real": link_tables(tables(400), schema()), "synthetic": link_tables(tables(200, 6), schema())}
    found = compare_following(held, "stays")
    assert list(found) == ["ward", "emergency"]
    for which, content in (("real", tables(400)), ("synthetic", tables(200, 6))):
        stays = content["stays"].to_pandas().sort_values(["patient_id", "admitted"], kind="stable")
        slow = np.zeros((5, 5), dtype=int)
        for _, rows in stays.groupby("patient_id"):
            wards = rows.ward.tolist()
            for before, now in itertools.pairwise(wards):
                slow[found["ward"].labels.index(before), found["ward"].labels.index(now)] += 1
        assert np.abs(found["ward"].counts[which] - slow).sum() <= 0.02 * slow.sum()
        assert found["ward"].counts[which].sum() == slow.sum()


def test_nothing_is_drawn_where_no_row_follows_another():
    one = {**tables(100), "stays": tables(100)["stays"].slice(0, 1), "diagnoses": tables(100)["diagnoses"].slice(0, 1)}
    linked = link_tables(one, schema())
    assert compare_following({"real": linked, "synthetic": linked}, "stays") == {}
