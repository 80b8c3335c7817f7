"""Templates of pages, and the styles that several of them share."""

from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup


def page_template(name: str) -> Template:
    """A template of this folder; what it is not given is an error."""
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_read),
    )
    return environment.get_template(name)


def page_style(name: str) -> Markup:
    """A style sheet of this folder."""
    return Markup(_read(name))


def _read(name: str) -> str:
    return files("sfumato.reports").joinpath(name).read_text(encoding="utf-8")
