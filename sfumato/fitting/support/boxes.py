"""The records that rules allow, cut into disjoint product boxes.

A column is chosen, the one that most rules name, and its codes are parted by the rules that they meet; each part leaves
a smaller problem over the other columns, and parts that leave the same one are taken together. So ten rules on the
young give two boxes, the young and the others, and not two to the tenth.

Codes of a column that the same rules contain are one *atom*; a set of atoms is the bits of an integer. Long columns
cost no more than short ones.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sfumato.errors import SchemaError
from sfumato.trusted.schema.schema import Combination, Runs

MOST_BOXES = 256
_MOST_PROBLEMS = 10_000

Rule = tuple[tuple[int, int], ...]
"""Columns by number, and the bits of their forbidden atoms."""
Problem = tuple[tuple[int, ...], frozenset[Rule]]
"""The atoms that are left of every column, and the rules that still cut them."""


def allowed_boxes(forbidden: Iterable[Combination], sizes: Mapping[str, int]) -> tuple[Combination, ...]:
    """Disjoint boxes whose union is all records but the forbidden; a column that a box does not name is free in it.

    sizes   how many codes each column has

    Edge cases
        Rules that leave nothing, or more than `MOST_BOXES` boxes: `SchemaError`.
    """
    rules = list(forbidden)
    names = list(dict.fromkeys(itertools.chain(*rules)))
    cut = [_Atoms.of([rule.get(name) for rule in rules], sizes[name]) for name in names]
    stated: set[Rule] = {
        tuple((c, cut[c].bits[number]) for c, name in enumerate(names) if name in rule)
        for number, rule in enumerate(rules)
    }
    whole = tuple((1 << atoms.count) - 1 for atoms in cut)
    problem = _settled(whole, stated)
    count = 0 if problem is None else _count(problem, {})
    if problem is None or not count:
        raise SchemaError("the rules between columns allow no record at all; remove one of them")
    if count > MOST_BOXES:
        raise SchemaError(
            f"the rules between columns cut the table into {count if count < 10**9 else 'very many'} parts, and at "
            f"most {MOST_BOXES} can be modelled; give fewer or simpler rules, such as rules that share a column"
        )
    return tuple(
        {name: atoms.runs(left) for name, atoms, left, all_ in zip(names, cut, box, whole, strict=True) if left != all_}
        for box in _boxes(problem)
    )


@dataclass(frozen=True)
class _Atoms:
    """The atoms of a column: the segments of codes that make them up, and the atoms of each rule."""

    edges: Sequence[int]
    atom_of: Sequence[int]  # of each segment between two edges
    bits: Sequence[int]
    count: int

    @classmethod
    def of(cls, contained: Sequence[Runs | None], size: int) -> "_Atoms":
        """Of the codes that each rule contains, None where it does not name the column."""
        begin, end = defaultdict(set), defaultdict(set)
        for number, runs in enumerate(contained):
            for start, stop in runs or ():
                if (low := max(start, 0)) < (high := min(stop, size)):
                    begin[low].add(number)
                    end[high].add(number)
        edges = sorted({0, size, *begin, *end})
        met: set[int] = set()
        atoms: dict[frozenset[int], int] = {}
        atom_of = []
        for edge in edges[:-1]:
            met = (met - end[edge]) | begin[edge]
            atom_of.append(atoms.setdefault(frozenset(met), len(atoms)))
        bits = [0] * len(contained)
        for rules, atom in atoms.items():
            for number in rules:
                bits[number] |= 1 << atom
        return cls(edges, atom_of, bits, len(atoms))

    def runs(self, bits: int) -> Runs:
        """The codes of a set of atoms."""
        inside = [bool(bits >> atom & 1) for atom in self.atom_of]
        both_sides = zip(self.edges, [False, *inside], [*inside, False], strict=True)
        turns = [edge for edge, before, after in both_sides if before != after]
        return tuple(zip(turns[::2], turns[1::2], strict=True))


def _settled(domains: Sequence[int], rules: Iterable[Rule]) -> Problem | None:
    """The problem without what follows at once: rules of one column are taken off it. None: nothing is left."""
    left, rules = list(domains), set(rules)
    while True:
        within: set[Rule] = set()
        alone: dict[int, int] = defaultdict(int)
        for rule in rules:
            met = [(column, bits & left[column]) for column, bits in rule]
            cutting = tuple((column, bits) for column, bits in met if bits != left[column])
            if not all(bits for _, bits in met):
                continue
            if not cutting:
                return None
            if len(cutting) == 1:
                alone[cutting[0][0]] |= cutting[0][1]
            else:
                within.add(cutting)
        for column, bits in alone.items():
            left[column] &= ~bits
        if not all(left):
            return None
        joined = _joined(within)
        if not alone and joined == rules:
            return tuple(left), frozenset(joined)
        rules = joined


def _joined(rules: set[Rule]) -> set[Rule]:
    """The rules, those that agree on all columns but one as one."""
    for column in sorted({column for rule in rules for column, _ in rule}):
        others: set[Rule] = set()
        found: dict[Rule, int] = defaultdict(int)
        for rule in rules:
            rest = tuple(part for part in rule if part[0] != column)
            if len(rest) == len(rule):
                others.add(rule)
            else:
                found[rest] |= dict(rule)[column]
        rules = others | {tuple(sorted((*rest, (column, bits)))) for rest, bits in found.items()}
    return rules


def _branches(problem: Problem) -> list[Problem]:
    """The problems that the parts of one column leave, of which none names it any more."""
    domains, rules = problem
    column, parts = _chosen(problem)
    left: dict[Problem, int] = defaultdict(int)
    for part in parts:
        rest = _settled(_with(domains, column, part), rules)
        if rest is not None:
            left[_with(rest[0], column, 0), rest[1]] |= part
    return [(_with(rest, column, bits), more) for (rest, more), bits in left.items()]


def _with(domains: Sequence[int], column: int, bits: int) -> tuple[int, ...]:
    return (*domains[:column], bits, *domains[column + 1 :])


def _chosen(problem: Problem) -> tuple[int, list[int]]:
    """The column that most rules name, of these the one with fewest parts, and its parts."""
    domains, rules = problem
    named = Counter(column for rule in rules for column, _ in rule)
    most = max(named.values())
    parts = {
        column: _parts(domains[column], {bits for rule in rules for at, bits in rule if at == column})
        for column in sorted(named)
        if named[column] == most
    }
    return min(parts.items(), key=lambda one: len(one[1]))


def _parts(domain: int, cuts: Iterable[int]) -> list[int]:
    """The atoms of a column by the rules that contain them."""
    parts = {domain}
    for bits in cuts:
        parts = {part for whole in parts for part in (whole & bits, whole & ~bits) if part}
    return sorted(parts)


def _count(problem: Problem, known: dict[Problem, int]) -> int:
    """How many boxes there will be."""
    domains, rules = problem
    if not rules:
        return 1
    named = {column for rule in rules for column, _ in rule}
    same = tuple(bits if column in named else 0 for column, bits in enumerate(domains)), rules
    if same not in known:
        if len(known) > _MOST_PROBLEMS:
            raise SchemaError("the rules between columns are too entangled; give fewer or simpler rules")
        known[same] = 0
        known[same] = sum(_count(branch, known) for branch in _branches(problem))
    return known[same]


def _boxes(problem: Problem) -> Iterator[tuple[int, ...]]:
    if not problem[1]:
        yield problem[0]
    else:
        for branch in _branches(problem):
            yield from _boxes(branch)
