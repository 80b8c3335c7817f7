"""What is said of a release of some quality."""

import pytest

from sfumato.artefact.verdict import Quality, judge


def quality(**more) -> Quality:
    fine = {"rows": 50_000, "smallest_group": 100, "column_error": 0.01, "pair_error": 0.05, "prediction_gap": 0.01}
    return Quality(**{**fine, **more})


def test_a_good_release_is_good_for_columns_pairs_and_prediction():
    found = judge(quality())
    assert found.headline.startswith("A faithful picture")
    assert [words.split()[0] for words in found.good_for] == ["tables", "tables", "training"]
    assert any("fewer than 100 records" in words for words in found.not_for)


@pytest.mark.parametrize(
    ("worse", "words"),
    [
        ({"pair_error": 0.15}, "broad picture"),
        ({"prediction_gap": 0.05}, "broad picture"),
        ({"pair_error": 0.4}, "single columns"),
        ({"prediction_gap": 0.3}, "single columns"),
        ({"column_error": 0.3}, "drowns"),
        ({"smallest_group": 40_000}, "drowns"),
    ],
)
def test_the_headline_follows_from_the_worst_figure(worse, words):
    assert words in judge(quality(**worse)).headline


def test_what_is_too_wrong_moves_to_the_other_list():
    found = judge(quality(column_error=0.3, pair_error=0.5, prediction_gap=0.2))
    assert found.good_for == ("rehearsing an analysis on rows of the right form",)
    assert len(found.not_for) == 5


def test_gaussians_are_good_for_moments_and_not_for_shapes():
    found = judge(quality(counted=False, column_error=0.15, pair_error=0.25))
    assert "Gaussians" in found.headline
    assert any("correlations" in words for words in found.good_for)
    assert any("exact shape" in words for words in found.not_for)
    assert "drowns" in judge(quality(counted=False, smallest_group=40_000)).headline


def test_what_there_is_not_is_not_spoken_of():
    found = judge(quality(pair_error=None, prediction_gap=None))
    said = (found.headline, *found.good_for, *found.not_for)
    assert not any("predict" in words or "two columns" in words for words in said)


@pytest.mark.parametrize(("size", "shown"), [(7.2, "8"), (103.2, "110"), (14_120, "15,000")])
def test_sizes_are_rounded_up_to_two_figures(size, shown):
    words = judge(quality(rows=10**7, smallest_group=size)).not_for
    assert any(f"fewer than {shown} records" in one for one in words)
