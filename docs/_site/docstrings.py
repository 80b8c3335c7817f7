"""The house style of docstrings as Markdown.

A line `name   what it is` becomes an item of a list, a heading with an indented text below it a bold line, an example a
block of code.
"""

import re
import textwrap

_ENTRY = re.compile(r"(\S+(?:,? \S+)*?) {2,}(\S.*)")


def to_markdown(text: str) -> str:
    """The Markdown of a docstring."""
    lines, out = text.splitlines(), []
    while lines:
        line = lines.pop(0)
        if line.startswith(">>>"):
            out += ["```pycon", line, *_take_example(lines), "```", ""]
            continue
        indented = _take_indented(lines)
        if entry := _ENTRY.fullmatch(line):
            out += _item(entry.group(1), entry.group(2), indented, after=out)
        elif indented and line and line[0].isalpha():
            out += ["", f"**{line.rstrip(':')}**", "", to_markdown(textwrap.dedent("\n".join(indented))), ""]
        else:
            out += [line, *indented]
    return "\n".join(out).strip("\n")


def _take_indented(lines: list[str]) -> list[str]:
    """Take the lines that are indented, and blank ones between them, off the front."""
    taken: list[str] = []
    while lines and (lines[0].startswith("    ") or (not lines[0] and lines[1:] and lines[1].startswith("    "))):
        taken.append(lines.pop(0))
    return taken


def _take_example(lines: list[str]) -> list[str]:
    taken: list[str] = []
    while lines and lines[0]:
        taken.append(lines.pop(0))
    return taken


def _item(name: str, text: str, more: list[str], after: list[str]) -> list[str]:
    text = " ".join([text, *(line.strip() for line in more)])
    if re.search(r"[^\w, =*]", name) or text.startswith("="):  # a formula or a sentence, no argument
        return [f"- {name} {text}"]
    begins = not (after and after[-1].startswith("- "))
    names = ", ".join(f"`{part}`" for part in name.split(", "))
    return [*([""] if begins else []), f"- {names}: {text}"]
