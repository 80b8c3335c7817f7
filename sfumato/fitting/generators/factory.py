"""A generator from what was asked for, and whether it can be trained."""

import copy
import inspect
from collections.abc import Callable
from typing import Any

from sfumato.errors import RequestError
from sfumato.fitting.generators.columnwise import Tensor
from sfumato.fitting.generators.evidence import Layout
from sfumato.fitting.generators.networks import GENERATORS, CustomGenerator


def build_generator(generator: str | CustomGenerator, layout: Layout, shape: tuple[int, int] | None) -> Any:
    """One of the library by name, one that a class or function makes, or a copy of one that there is already."""
    if isinstance(generator, str):
        if generator not in GENERATORS:
            raise RequestError(f"there is no generator {generator!r}; use one of {', '.join(GENERATORS)}, or your own")
        return GENERATORS[generator](layout, shape)
    if isinstance(generator, type) or not (_has(generator, "parameters") or _has(generator, "sample")):
        return _made_for(generator, layout)
    return _copied(generator)


def check(network: Any, z: Tensor, layout: Layout) -> None:
    """Refuse what cannot be trained, and say what is wanted."""
    import torch

    for name in ("sample", "parameters"):
        if not _has(network, name):
            raise RequestError(f"a generator needs a method {name}; see sfumato.fitting.generators.Generator")
    parameters = list(network.parameters())
    if not parameters:
        raise RequestError("the generator has no parameters, so there is nothing to train")
    if not all(isinstance(one, torch.Tensor) and one.is_leaf for one in parameters):
        raise RequestError("parameters() must give tensors that an optimizer can change, such as torch.nn.Parameter")
    if not _takes(network.sample, z):
        raise RequestError("sample must take one argument, the rows of latent numbers and classes: sample(z)")
    set_training(network, False)
    _check_given(network.sample(z), parameters, (len(z), layout.width))


def _check_given(given: Any, parameters: list[Tensor], wanted: tuple[int, int]) -> None:
    import torch

    if not isinstance(given, torch.Tensor):
        raise RequestError(f"sample(z) gives a {type(given).__name__}; it must give one tensor of torch, {wanted}")
    if tuple(given.shape) != wanted:
        raise RequestError(
            f"of {wanted[0]} latent points the generator gives {tuple(given.shape)}; the layout asks for {wanted}"
        )
    changed = [one for one in parameters if one.requires_grad]
    slopes = torch.autograd.grad(given.sum(), changed, allow_unused=True) if given.requires_grad and changed else ()
    if all(slope is None for slope in slopes):
        raise RequestError(
            "what sample(z) gives does not depend on the generator's parameters, so there is nothing to train: it must "
            "neither be detached nor made without gradients, nor by another object than the one that is trained"
        )


def draw_records(network: Any, z: Tensor) -> Tensor:
    """What the generator gives, in the precision that all else is computed in."""
    return network.sample(z).float()


def set_training(network: Any, training: bool) -> None:
    """Modules are told whether they are trained or looked at, which dropout and running means want to know."""
    if _has(network, "train") and _has(network, "eval"):
        network.train() if training else network.eval()


def _made_for(maker: Any, layout: Layout) -> Any:
    if not callable(maker):
        raise RequestError("a generator needs a method sample; see sfumato.fitting.generators.Generator")
    if not _takes(maker, layout):
        raise RequestError(
            "what makes a generator must take one argument, the layout of the table: a "
            "sfumato.fitting.generators.Layout"
        )
    return maker(layout)


def _copied(generator: Any) -> Any:
    """A copy, so that what was given stays as it is and the same seed gives the same result again."""
    try:
        copied = copy.deepcopy(generator)
    except (TypeError, RuntimeError, copy.Error) as error:
        raise RequestError(
            f"the generator cannot be copied ({error}); give a function that makes it for a layout"
        ) from None
    own, others = (list(one.parameters()) if _has(one, "parameters") else [] for one in (generator, copied))
    if any(one is other for one in own for other in others):
        raise RequestError(
            "a copy of the generator has the same parameters; give a function that makes it for a layout"
        )
    return copied


def _has(generator: Any, name: str) -> bool:
    return callable(getattr(generator, name, None))


def _takes(called: Callable[..., Any], argument: Any) -> bool:
    """Whether it can be called with this one argument; an error of its own is its own."""
    import torch

    if getattr(called, "__init__", None) is torch.nn.Module.__init__:  # which would take anything, and then refuse
        return False
    try:
        inspect.signature(called).bind(argument)
    except TypeError:
        return False
    except ValueError:  # written in another language, and says nothing of what it takes
        return True
    return True
