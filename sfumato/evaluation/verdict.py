"""What a release is worth on this table, in words, by stated rules from the figures of an evaluation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from sfumato.evaluation.checking import ColumnCheck
from sfumato.evaluation.correlations import Correlation
from sfumato.evaluation.distances import Distance
from sfumato.evaluation.fidelity import Fidelity
from sfumato.evaluation.figures import Figures
from sfumato.evaluation.training import Group, Score, Training
from sfumato.evaluation.violations import Violation

Grade = Literal["good", "fair", "poor"]
State = Literal["near", "distorted", "ruined"]
_WORSE: tuple[Grade, ...] = ("good", "fair", "poor")
ThreeFigures = tuple[Figures | None, ...]
"""Of the real, the synthetic and the test rows."""
_RUINED, _DISTORTED = (0.25, 3.0), (0.10, 2.0)  # more than this, and more than so many times the chance level
_COLUMNS, _PAIRS = (0.03, 0.10), (0.08, 0.20)  # good up to, fair up to
_MEANS, _CORRELATIONS = (0.05, 0.20), (0.03, 0.10)
_TORN, _MOST_TORN = _RUINED, 0.10  # of a pair, as of a column; of more of all pairs, counts of pairs are poor
_LOST = (0.15, 3.0)  # a correlation off by more than this, and more than so many times the chance level
_SPREAD = 1.5  # a standard deviation so many times the real one, or the real one so many times it
_FEWEST_ROWS = 20  # real or test rows: fewer judge nothing
_TIMES = (2.0, 3.0)  # or up to so many times the chance level
_SKILL = (0.95, 0.75)  # of what real rows teach; good from, fair from
_NO_SKILL = 0.03  # above guessing: less cannot be told from nothing
_GROUP = 0.05  # a loss beyond chance that is too much: of a class, or of the error of a number
_MOST_NAMED = 10
MISREAD = 0.05
"""The share of a column that the schema misreads from which on it is remarked."""

RULES = (
    "The chance level of a figure is its value for the test rows.",
    f"A column is ruined where its distance is above {_RUINED[0]:g} and above {_RUINED[1]:g} times the chance level.",
    f"It is distorted where its distance is above {_DISTORTED[0]:g} and {_DISTORTED[1]:g} times the chance level.",
    (
        f"It is also distorted where its numbers moved by {_RUINED[0]:g} of their range and {_RUINED[1]:g} times the "
        "chance level, as a few extreme values make them do."
    ),
    (
        f"It is also distorted where the standard deviation of its numbers is more than {_SPREAD:g} times the real one "
        f"or less than 1/{_SPREAD:g} of it, and that of the test rows is not."
    ),
    (
        f"Counts of single columns are good up to a mean distance of {_COLUMNS[0]:g} and fair up to {_COLUMNS[1]:g}, "
        f"pairs up to {_PAIRS[0]:g} and {_PAIRS[1]:g}."
    ),
    (
        f"A pair of columns is torn where its distance is above {_TORN[0]:g} and above {_TORN[1]:g} times the chance "
        f"level; one makes pairs fair at best, several that are more than {_MOST_TORN:.0%} of all pairs make them poor."
    ),
    f"Means are good up to a median error of {_MEANS[0]:g} standard deviations and fair up to {_MEANS[1]:g}.",
    f"Correlations are good up to a mean error of {_CORRELATIONS[0]:g} and fair up to {_CORRELATIONS[1]:g}.",
    f"Each of these is also good up to {_TIMES[0]:g} times and fair up to {_TIMES[1]:g} times the chance level.",
    "Means are fair at best where that of one column is poor, and correlations poor where 0 would be as near.",
    (
        f"Correlations are fair at best where one is off by more than {_LOST[0]:g} and by more than {_LOST[1]:g} times "
        "what the test rows are off, there and in the mean."
    ),
    (
        f"Learning is good where the best learner keeps {_SKILL[0]:.0%} of what real rows teach above guessing, and "
        f"fair from {_SKILL[1]:.0%} on."
    ),
    f"Learning is fair where real rows teach less than {_NO_SKILL:g} above guessing: there is little to lose.",
    "Sub-groups are fair where one loses more than 3 standard errors of the difference explain.",
    (
        f"They are poor where one loses {_GROUP:g} more than that (of a number {_GROUP:.0%} of its error), and no "
        "better than learning."
    ),
    "The schema's constraints are poor where a synthetic row breaks one.",
    f"Fewer than {_FEWEST_ROWS} real or test rows cannot judge a release, whatever the grades.",
)
"""How grades are given, in words."""


@dataclass(frozen=True)
class Finding:
    """One thing that a release may be used for, how good it is for that, and the figures."""

    topic: str
    grade: Grade
    words: str


@dataclass(frozen=True)
class EvaluationVerdict:
    """The headline, what it rests on, the columns that are ruined or distorted, and what to know of the comparison."""

    headline: str
    findings: tuple[Finding, ...]
    ruined: tuple[str, ...]
    distorted: tuple[str, ...]
    cautions: tuple[str, ...]


def state_of(near: Distance, chance: Distance, figures: ThreeFigures = ()) -> State:
    """Whether a column is ruined, distorted or near, by its distance, the chance level and the spread of numbers."""
    if _exceeds(near.share, chance.share, _RUINED):
        return "ruined"
    moved = _exceeds(near.moved or 0.0, chance.moved or 0.0, _RUINED)
    distorted = moved or _exceeds(near.share, chance.share, _DISTORTED) or _stretch(figures) is not None
    return "distorted" if distorted else "near"


def _stretch(figures: ThreeFigures) -> float | None:
    """How many times the real standard deviation the synthetic one is, where it is off and not by chance."""
    deviations = [one.deviation for one in figures if one is not None]
    if len(deviations) < 3 or _is_constant(figures[0]):
        return None
    synthetic, test = (deviation / deviations[0] for deviation in deviations[1:])
    return synthetic if _is_stretched(synthetic) and not _is_stretched(test) else None


def _is_constant(real: Figures | None) -> bool:
    """Whether equal numbers, or their rounding errors, are all that there is."""
    return real is None or real.deviation <= 1e-9 * abs(real.mean)


def _is_stretched(times: float) -> bool:
    return times > _SPREAD or times < 1 / _SPREAD


def _exceeds(value: float, chance: float, rule: tuple[float, float]) -> bool:
    least, times = rule
    return value > least and value > times * chance


def grade_of(value: float, chance: float, limits: tuple[float, float]) -> Grade:
    """Good, fair or poor, by the limits or by the chance level, whichever allows more."""
    good, fair = (max(limit, times * chance) for limit, times in zip(limits, _TIMES, strict=True))
    return "good" if value <= good else "fair" if value <= fair else "poor"


def judge(
    near: Fidelity,
    chance: Fidelity,
    checks: Sequence[ColumnCheck],
    violations: Sequence[Violation],
    figures: Mapping[str, ThreeFigures],
    correlations: Sequence[Correlation],
    training: Training,
    target: str | None,
    rows: Mapping[str, int],
) -> EvaluationVerdict:
    """The verdict on a release, from all that was measured."""
    states = {
        name: state_of(distance, chance.columns[name], figures.get(name, ())) for name, distance in near.columns.items()
    }
    ruined, distorted = (tuple(name for name in states if states[name] == state) for state in ("ruined", "distorted"))
    findings = (
        _on_columns(near, chance),
        *_on_pairs(near, chance),
        *_on_means(figures),
        *_on_correlations(correlations),
        *(learning := tuple(_on_learning(training, target))),
        *_on_groups(training.groups, training.measure, learning),
        *_on_constraints(violations),
    )
    misread = {check.column for check in checks if check.misread_share >= MISREAD}
    headline = _too_few(rows) or _headline(findings, ruined, misread, len(states))
    return EvaluationVerdict(headline, findings, ruined, distorted, tuple(_cautions(near, chance)))


def _too_few(rows: Mapping[str, int]) -> str:
    """The headline where there are too few rows to judge by; else nothing."""
    counts = {table: rows.get(table, _FEWEST_ROWS) for table in ("real", "test")}
    few = [f"{count} {table} row{'s' * (count != 1)}" for table, count in counts.items() if count < _FEWEST_ROWS]
    if not few:
        return ""
    return f"So few rows cannot judge a release: {_listing(few)}. Give at least {_FEWEST_ROWS} real and test rows each."


def _headline(findings: Sequence[Finding], ruined: Sequence[str], misread: set[str], columns: int) -> str:
    """Good for ..., with care for ..., not for ...; then which columns are ruined, and by what."""
    starts = {"good": "good for", "fair": "to be used with care for", "poor": "not fit for"}
    parts = []
    for grade, start in starts.items():
        topics = [finding.topic for finding in findings if finding.grade == grade]
        if topics:
            parts.append(f"{start} {_listing(topics)}")
    words = "; ".join(parts) + "."
    headline = words[0].upper() + words[1:]
    if not ruined:
        return f"{headline} No column is ruined."
    by_schema = [name for name in ruined if name in misread]
    cause = f", {_listing(by_schema)} because the schema misreads the private rows" if by_schema else ""
    verb = "is" if len(ruined) == 1 else "are"
    return f"{headline} {len(ruined)} of {columns} columns {verb} ruined: {_listing(ruined)}{cause}."


def _listing(names: Sequence[str]) -> str:
    """Names as a sentence has them; of very many the first."""
    if len(names) > _MOST_NAMED:
        names = [*names[: _MOST_NAMED - 2], f"{len(names) - _MOST_NAMED + 2} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _on_columns(near: Fidelity, chance: Fidelity) -> Finding:
    value, floor = near.mean_column, chance.mean_column
    words = f"in the mean {value:.1%} of the rows of a column would have to change; of held-out rows {floor:.1%}"
    return Finding("counts of single columns", grade_of(value, floor, _COLUMNS), words)


def _on_pairs(near: Fidelity, chance: Fidelity) -> Iterable[Finding]:
    if not near.pairs:
        return
    value, floor = near.mean_pair, chance.mean_pair
    torn = [pair for pair, apart in near.pairs.items() if _exceeds(apart, chance.pairs[pair], _TORN)]
    worst = max(torn or near.pairs, key=lambda pair: near.pairs[pair] - chance.pairs[pair])
    words = (
        f"in the mean {value:.1%} of the rows of two columns would have to change; of held-out rows {floor:.1%}; most "
        f"for {worst[0]} and {worst[1]}, {near.pairs[worst]:.1%}; of held-out rows {chance.pairs[worst]:.1%}"
    )
    grade = grade_of(value, floor, _PAIRS)
    if torn:
        words = f"{words}; {len(torn)} of {len(near.pairs)} pairs torn"
        several = len(torn) > max(1, _MOST_TORN * len(near.pairs))
        grade = _worse(grade, "poor" if several else "fair")
    yield Finding("counts of pairs of columns", grade, words)


def _worse(*grades: Grade) -> Grade:
    """The worst of some grades; good where there is none."""
    return max(grades, key=_WORSE.index, default="good")


def _on_means(figures: Mapping[str, ThreeFigures]) -> Iterable[Finding]:
    found = {}
    for name, (real, synthetic, test) in figures.items():
        if real and synthetic and test and real.deviation > 0:
            off = [abs(other.mean - real.mean) / real.deviation for other in (synthetic, test)]
            found[name] = (off[0], off[1])
    if not found:
        return
    value, floor = (median(off[place] for off in found.values()) for place in (0, 1))
    worst = max(found, key=lambda name: found[name][0])
    grade = grade_of(value, floor, _MEANS)
    if grade == "good" and grade_of(*found[worst], _MEANS) == "poor":
        grade = "fair"
    words = (
        f"off by {value:.3g} standard deviations in the median over {len(found)} columns, held-out rows by "
        f"{floor:.3g}; most {worst}, by {found[worst][0]:.3g}"
    )
    yield Finding("means of numbers", grade, words + _on_spread(figures))


def _on_spread(figures: Mapping[str, ThreeFigures]) -> str:
    """Which columns have a standard deviation that is off."""
    off = {name: times for name, three in figures.items() if (times := _stretch(three)) is not None}
    named = [f"{name} {times:.2g} times the real one" for name, times in off.items()]
    return f"; standard deviations that are off: {_listing(named)}" if named else ""


def _on_correlations(found: Sequence[Correlation]) -> Iterable[Finding]:
    if not found:
        return
    value, floor = (
        sum(abs(getattr(one, table) - one.real) for one in found) / len(found) for table in ("synthetic", "test")
    )
    lost = [
        one for one in found if _exceeds(abs(one.synthetic - one.real), max(abs(one.test - one.real), floor), _LOST)
    ]
    worst = max(lost or found, key=lambda one: abs(one.synthetic - one.real))
    words = (
        f"off by {value:.3f} in the mean over {len(found)} pairs, held-out rows by {floor:.3f}; most for "
        f"{worst.columns[0]} and {worst.columns[1]}, {worst.synthetic:.2f} instead of {worst.real:.2f}"
    )
    grade = grade_of(value, floor, _CORRELATIONS)
    if grade == "fair" and value >= sum(abs(one.real) for one in found) / len(found):  # 0 everywhere is as near
        grade = "poor"
    yield Finding("correlations", _worse(grade, "fair") if lost else grade, words)


def _on_learning(training: Training, target: str | None) -> Iterable[Finding]:
    real, released = (_best(training.scores, from_real=from_real) for from_real in (True, False))
    if real is None or released is None or real.value is None or released.value is None:
        return
    base = guessing_score(training.measure)
    words = f"{training.measure} {released.value:.3f} with the release, {real.value:.3f} with real rows"
    if real.value - base < _NO_SKILL:
        yield Finding(f"learning {target}", "fair", f"{words}: the real rows hardly teach it either")
        return
    skill = (released.value - base) / (real.value - base)
    grade: Grade = "good" if skill >= _SKILL[0] else "fair" if skill >= _SKILL[1] else "poor"
    yield Finding(f"learning {target}", grade, f"{words}: {max(skill, 0):.0%} of what can be learnt above guessing")


def guessing_score(measure: str) -> float:
    """What a learner reaches that knows nothing."""
    return 0.5 if measure.startswith("area") else 0.0


def _best(scores: Sequence[Score], *, from_real: bool) -> Score | None:
    known = [one for one in scores if one.value is not None and (one.trained_on == "real rows") == from_real]
    return max(known, key=lambda one: one.value or 0.0, default=None)


def _on_groups(groups: Sequence[Group], measure: str, learning: Sequence[Finding]) -> Iterable[Finding]:
    if not groups:
        return
    grades: list[Grade] = [finding.grade for finding in learning]  # what nobody can learn is good for no group
    losing = [group for group in groups if group.loss > group.margin]
    words = f"none of {len(groups)} loses more than chance explains"
    if losing:
        worst = max(losing, key=lambda group: group.loss - group.margin)
        allowed = _GROUP if measure.startswith("area") else _GROUP * worst.error_real
        grades.append("poor" if worst.loss - worst.margin > allowed else "fair")
        words = (
            f"{len(losing)} of {len(groups)} lose more than chance explains; most {worst.column} = {worst.value}, "
            f"mean error {worst.error_synthetic:.3g} instead of {worst.error_real:.3g}"
        )
    yield Finding("sub-groups", _worse(*grades), words)


def _on_constraints(violations: Sequence[Violation]) -> Iterable[Finding]:
    if not violations:
        return
    broken = [one for one in violations if one.synthetic > 0]
    words = f"{len(violations) - len(broken)} of {len(violations)} are kept by every synthetic row"
    yield Finding("the schema's constraints", "poor" if broken else "good", words)


def _cautions(near: Fidelity, chance: Fidelity) -> Iterable[str]:
    """What makes the comparison itself doubtful."""
    if chance.columns and all(distance.share == 0 for distance in chance.columns.values()) and not chance.mean_pair:
        yield (
            "The test rows are distributed exactly as the real rows: if they are the same rows, the chance level is 0 "
            "and learners are tested on what they were trained on. Give rows that were kept apart."
        )
    elif near.pairs and chance.mean_pair > 0.5:
        yield (
            "The test rows differ from the real rows nearly as much as they can: few rows, or rows of another kind. "
            "Distances above 0.5 say little here."
        )
