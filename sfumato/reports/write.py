"""The public report as a function of the package: of a release or of its bundle, into a notebook or a file."""

from html import escape
from pathlib import Path

from sfumato.archive.whole_files import whole_file
from sfumato.artefact.about import About, load_about
from sfumato.artefact.bundle import open_release
from sfumato.artefact.families.release import FamilyRelease
from sfumato.artefact.release import Release
from sfumato.reports.public import public_report
from sfumato.reports.public_family import public_family_report
from sfumato.trusted.schema.display import shorten


class Page(str):
    """An HTML page. A notebook shows it in a frame of its own; elsewhere it is text, and does not print itself."""

    __slots__ = ("subject",)
    subject: str

    def __repr__(self) -> str:
        return f"<{self.subject}, {len(self):,} characters of HTML>"

    def _repr_html_(self) -> str:
        frame = 'style="width:100%;height:700px;border:1px solid #d9cfc0;background:white" sandbox=""'
        return f'<iframe title="{escape(self.subject)}" {frame} srcdoc="{escape(self)}"></iframe>'


def report(
    release: Release | FamilyRelease | str | Path,
    out: str | Path | None = None,
    *,
    about: About | str | Path | None = None,
) -> Page:
    """The public report of a release: one HTML page, made from the release and what its custodian says.

    release   the release, or the path of its bundle
    out       a file to write as well; one that is there already is never overwritten
    about     what the custodian says beside it: the path of an about.yaml, see docs/report.md

    Returns the page as text, which a notebook shows. Raises `BundleError` for a path that holds no bundle,
    `RequestError` for an about.yaml that cannot be read, and `OutputError` where the file cannot be written.

    Example
        >>> sfumato.report(release, folder / "stays.html").startswith("<!doctype html>")
        True
    """
    opened = release if isinstance(release, Release | FamilyRelease) else open_release(release)
    said = load_about(about) if isinstance(about, str | Path) else about
    written = public_report(opened, said) if isinstance(opened, Release) else public_family_report(opened, said)
    page = Page(written)
    page.subject = f"public report of {shorten(opened.schema.name)}"
    if out is not None:
        with whole_file(out) as file:
            file.write(page.encode())
    return page
