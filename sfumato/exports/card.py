"""A data card: Markdown for people, with the YAML header that hubs for datasets read."""

import re
from collections.abc import Sequence
from typing import Any

import yaml

from sfumato.artefact.about import About
from sfumato.artefact.making import making_of
from sfumato.artefact.promise import plain_promise, risk_lines
from sfumato.artefact.questions import example_questions, quality_of
from sfumato.artefact.release import Release
from sfumato.artefact.verdict import judge
from sfumato.exports.croissant import describe_column
from sfumato.trusted.encoding import Encoder, NumericCodec

_LICENSES = ("cc0-1.0", "cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "odbl", "odc-by", "pddl", "apache-2.0", "mit")
_SIZES = ((10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"), (10**7, "1M<n<10M"))
_SAID = {
    "custodian": "Custodian",
    "description": "Records",
    "collection": "Collection",
    "limits": "What to know",
    "justification": "Why this epsilon",
    "earlier_looks": "Earlier looks at the data",
    "maintenance": "Maintenance",
    "contact": "Contact",
    "published": "Published",
    "review": "To be reviewed",
    "license": "License",
    "url": "Address",
}


def data_card(release: Release, about: About | None = None) -> str:
    """The card.

    release   what is described
    about     what the custodian says beside it

    Returns Markdown with a YAML header.

    Example
        >>> data_card(release).startswith("---")
        True
    """
    statement, target = release.statement, release.schema.target
    quality = quality_of(release)
    verdict = judge(quality)
    title = (about.title if about else None) or statement.dataset
    parts = [
        f"---\n{yaml.safe_dump(card_header(release, about), sort_keys=False, allow_unicode=True)}---",
        f"# {_plain(title)}",
        f"**{_plain(plain_promise(statement, target))}**",
        _plain(statement.promise),
        "## What it is good for",
        _plain(verdict.headline),
        _list([f"good for: {one}" for one in verdict.good_for] + [f"not for: {one}" for one in verdict.not_for]),
        *(() if about is None else ("## Purpose", _plain(about.purpose))),
        *_risk(release),
        "## Columns",
        _table(
            ("column", "what it holds"), [(name, describe_column(one)) for name, one in release.schema.by_name.items()]
        ),
        "## Questions it can answer, with their error",
        _table(
            ("question", "answer", "from", "to", "in Python"),
            [(one.words, one.answer, one.low, one.high, one.call) for one in example_questions(release, quality)],
        ),
        "## How to use it",
        '```python\nimport sfumato\n\nrelease = sfumato.open("B.sfumato")\nrelease.sample(10_000)\n```',
        "## How it was made",
        _list([f"**{fact.title}**: {_plain(fact.words)}" for fact in making_of(release)], escaped=True),
        *_custodian(about),
        "## What is not protected",
        _list(statement.not_protected),
        *(() if about is None or about.citation is None else ("## Citation", _plain(about.citation))),
        f"Statement `{statement.hash}`",
    ]
    return "\n\n".join(parts) + "\n"


def card_header(release: Release, about: About | None = None) -> dict[str, Any]:
    """What hubs read: license, size, tags and tasks."""
    target, size = release.schema.target, release.size
    task = None
    if target is not None:
        ordered = isinstance(Encoder(release.schema).columns[target], NumericCodec)
        task = "tabular-regression" if ordered else "tabular-classification"
    return {
        "pretty_name": (about.title if about else None) or release.statement.dataset,
        **_license(about),
        "size_categories": [next((words for most, words in _SIZES if size < most), "n>10M")],
        **({"task_categories": [task]} if task else {}),
        "tags": ["differential-privacy", "synthetic", "tabular", f"epsilon-{release.statement.epsilon:g}"],
        **({"source_datasets": ["original"]} if about else {}),
    }


def _license(about: About | None) -> dict[str, str]:
    """By the name that hubs know, or as another one with its own name."""
    said = about.license if about else None
    if said is None:
        return {"license": "unknown"}
    if said.lower() in _LICENSES:
        return {"license": said.lower()}
    link = {"license_link": said} if said.startswith(("http://", "https://")) else {}
    return {"license": "other", "license_name": re.sub(r"[^a-z0-9.]+", "-", said.lower()).strip("-"), **link}


def _risk(release: Release) -> tuple[str, ...]:
    if release.statement.seeded:
        return ()
    rows = [(one.before, one.after, one.words) for one in risk_lines(release.statement, release.schema.target)]
    return ("## What somebody could learn, at most", _table(("without it", "with it", "what"), rows))


def _custodian(about: About | None) -> tuple[str, ...]:
    if about is None:
        return ()
    said = [f"**{words}**: {_plain(str(getattr(about, key)))}" for key, words in _SAID.items() if getattr(about, key)]
    return ("## What the custodian says", _list(said, escaped=True))


def _list(lines: Sequence[str], *, escaped: bool = False) -> str:
    return "\n".join(f"- {line if escaped else _plain(line)}" for line in lines)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *(tuple(map(_cell, row)) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(words: str) -> str:
    return _plain(words).replace("|", "\\|")


def _plain(words: str) -> str:
    """In one line, and without signs that Markdown or HTML would take for their own."""
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", " ".join(words.split()))
