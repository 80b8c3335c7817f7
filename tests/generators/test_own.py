"""Generators of one's own: what is wanted of them is said, and the same seed gives the same result, stopped or not."""

import numpy as np
import pytest
import torch

from sfumato.errors import RequestError
from sfumato.fitting.generators import LATENT, train
from tests.generators.making import CLASSES, SIZES, evidence

WIDTH = sum(SIZES)


@pytest.fixture(scope="module")
def seen():
    return evidence(np.random.default_rng(0))


class Net(torch.nn.Module):
    """One layer, for any layout, or for that of the tests."""

    def __init__(self, layout=None):
        super().__init__()
        self.layer = torch.nn.Linear(LATENT + CLASSES, WIDTH if layout is None else layout.width)

    def sample(self, z):
        return self.layer(z)


class Dropping(Net):
    def sample(self, z):
        return torch.nn.functional.dropout(self.layer(z), 0.5, self.training)


class Averaging(Net):
    def __init__(self, layout):
        super().__init__(layout)
        self.norm = torch.nn.BatchNorm1d(layout.width)

    def sample(self, z):
        return self.norm(super().sample(z))


class Double(Net):
    def __init__(self, layout):
        super().__init__(layout)
        self.double()

    def sample(self, z):
        return super().sample(z.double())


class Keeping(Net):
    """Buffers of all kinds: long numbers, half ones, none at all, one number in three places, a sparse one."""

    def __init__(self, layout):
        super().__init__(layout)
        self.register_buffer("counted", torch.tensor([2**60 + 1]))
        self.register_buffer("short", torch.tensor([0.1], dtype=torch.bfloat16))
        self.register_buffer("empty", torch.zeros(0))
        self.register_buffer("shared", torch.zeros(1).expand(3))
        self.register_buffer("sparse", torch.eye(2).to_sparse())
        self.spare = torch.nn.Parameter(torch.zeros(2))  # which no loss hangs on

    def sample(self, z):
        if self.training:
            self.counted += 1
        return super().sample(z) * (1 + self.short.float() + (self.counted % 2))


class Pair(Net):
    def sample(self, z):
        return super().sample(z), z


class Numpy(Net):
    def sample(self, z):
        return super().sample(z).detach().numpy()


class Detached(Net):
    def sample(self, z):
        return super().sample(z).detach()


class Frozen(Net):
    def __init__(self, layout):
        super().__init__(layout)
        self.requires_grad_(False)


class OfNothing(Net):
    def sample(self):
        return self.layer.weight


class Closed(torch.nn.Module):
    def __init__(self):
        super().__init__()


class Bare(torch.nn.Module):
    def sample(self, z):
        return z


class Texts(Net):
    def parameters(self):
        return ["weight"]


class Derived(Net):
    def parameters(self):
        return [self.layer.weight * 2]


def elsewhere():
    """An instance whose way to sample knows another object than its copy."""
    one = Net()
    one.sample = lambda z: one.layer(z)
    return one


def shared():
    """An instance whose copy has the same parameters."""
    one = Net()
    one.parameters = lambda: [one.layer.weight]
    return one


def not_to_be_copied():
    one = Net()
    one.product = one.layer.weight * 2
    return one


@pytest.mark.parametrize(
    ("generator", "words"),
    [
        (torch.nn.Sequential(torch.nn.Linear(LATENT + CLASSES, WIDTH)), "needs a method sample"),
        (lambda _: None, "needs a method sample"),
        (7, "needs a method sample"),
        (None, "needs a method sample"),
        (Closed, "must take one argument, the layout"),
        (Bare, "must take one argument, the layout"),
        (lambda: Net(), "must take one argument, the layout"),
        (OfNothing, "sample must take one argument"),
        (Pair, r"gives a tuple; it must give one tensor of torch, \(2, 9\)"),
        (Numpy, "gives a ndarray; it must give one tensor"),
        (Detached, "does not depend on the generator's parameters"),
        (Frozen, "does not depend on the generator's parameters"),
        (elsewhere(), "nor by another object"),
        (shared(), "give a function that makes it"),
        (not_to_be_copied(), "cannot be copied"),
        (Texts, "tensors that an optimizer can change"),
        (Derived, "tensors that an optimizer can change"),
    ],
)
def test_what_is_wanted_of_a_generator_is_said(seen, generator, words):
    with pytest.raises(RequestError, match=words):
        train(seen, generator, 5, 0)


class Stumbling(Net):
    def sample(self, z):
        raise TypeError("a fault of its own")


def stumbling(layout):
    raise TypeError("a fault of its own")


@pytest.mark.parametrize("generator", [Stumbling, stumbling])
def test_a_generators_own_errors_pass_as_they_are(seen, generator):
    with pytest.raises(TypeError, match="a fault of its own"):
        train(seen, generator, 5, 0)


def test_double_precision_is_taken(seen, tmp_path):
    trained = train(seen, Double, 30, 0, checkpoint=tmp_path / "kept")
    assert np.isfinite(trained.theta).all()
    assert np.array_equal(train(seen, Double, 30, 0, checkpoint=tmp_path / "kept").theta, trained.theta)


def test_an_instance_is_copied_and_stays_as_it_is(seen):
    own = Net()
    before = {name: value.clone() for name, value in own.state_dict().items()}
    one, same = (train(seen, own, 30, 0).theta for _ in range(2))
    assert np.array_equal(one, same)
    assert all(torch.equal(value, before[name]) for name, value in own.state_dict().items())
    assert own.training


class Killed(BaseException):
    """What no training catches."""


@pytest.mark.parametrize("generator", [Dropping, Averaging, Double, Keeping])
def test_training_that_was_killed_goes_on_to_the_same_result_whatever_torch_draws_and_averages(
    seen, tmp_path, generator
):
    def kill(now):
        if now.number == 40:
            raise Killed

    with pytest.raises(Killed):
        train(seen, generator, 60, 1, kill, checkpoint=tmp_path / "kept")
    resumed = train(seen, generator, 60, 1, checkpoint=tmp_path / "kept").theta
    assert np.array_equal(resumed, train(seen, generator, 60, 1).theta)


def test_a_generator_is_trained_in_one_mode_and_looked_at_in_the_other(seen):
    modes = []

    class Watched(Net):
        def sample(self, z):
            modes.append((self.training, torch.is_grad_enabled()))
            return super().sample(z)

    train(seen, Watched, 25, 0)
    first, *others = modes
    assert first == (False, True)  # whether it can be trained at all
    assert others == [(True, True)] * 25 + [(False, False)] * 2  # epochs, judgement, the last reading


def test_a_checkpoint_without_chance_is_refused(seen, tmp_path):
    from sfumato.archive.members import from_arrow_file, to_arrow_file

    path = tmp_path / "kept"
    train(seen, Net, 25, 0, checkpoint=path)
    table = from_arrow_file(path.read_bytes(), "kept")
    for chance in ({}, {b"chance": b"abc"}):
        kept = {name: table.schema.metadata[name] for name in (b"training", b"losses")} | chance
        path.write_bytes(to_arrow_file(table.replace_schema_metadata(kept)))
        with pytest.raises(RequestError, match="or from that of an older version; give another file"):
            train(seen, Net, 25, 0, checkpoint=path)
