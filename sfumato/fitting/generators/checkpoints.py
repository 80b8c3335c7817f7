"""Training kept in an Arrow file, so that it goes on where it was stopped. No pickle."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.archive.members import from_arrow_file, to_arrow_file
from sfumato.errors import OutputError, RequestError, SfumatoError

_STATES, _MEMORIES = ("now", "best"), ("exp_avg", "exp_avg_sq")  # of all tensors, and those of Adam
_CHANCE, _LOSSES = "chance", "losses"
Losses = list[tuple[float, float | None]]
"""Of all epochs so far: the loss, and that of the slices held back, where it was computed."""


class Checkpoint:
    """The state of generator, optimizer and torch's chance now, and of the generator when it was best.

    The generator's state is that of its parameters and, of a module, of its buffers, such as running means; one that
    cannot be written stays as it is. Without a path it lives in memory.
    In a file each tensor is a row, each column one of its states, as bytes.
    """

    def __init__(self, path: Path | None, run: Mapping[str, Any], network: Any, optimizer: Any) -> None:
        self._path, self._optimizer, self._run = path, optimizer, dict(run)
        self._parameters = list(network.parameters())
        buffers = list(network.buffers()) if callable(getattr(network, "buffers", None)) else []
        self._tensors = [*self._parameters, *filter(_can_be_written, buffers)]
        self._best: list[Any] | None = None
        self._held_back_loss = np.inf
        self.waited = 0  # judgements since the best one

    def save(self, losses: Losses, held_back_loss: float) -> None:
        """Keep this state, and the best one."""
        if held_back_loss < self._held_back_loss or self._best is None:
            self._held_back_loss, self.waited = held_back_loss, 0
            self._best = [tensor.detach().clone() for tensor in self._tensors]
        else:
            self.waited += 1
        if self._path is None:
            return
        memories = [self._optimizer.state.get(tensor, {}) for tensor in self._tensors]
        columns = {
            "now": self._tensors,
            "best": self._best,
            **{name: [memory.get(name) for memory in memories] for name in _MEMORIES},
        }
        about = {**self._run, "held_back_loss": self._held_back_loss, "waited": self.waited}
        metadata = {"training": json.dumps(about), _LOSSES: np.array(losses, dtype=float).tobytes(), **self._chance()}
        table = pa.table({name: pa.array(map(_bytes, values), pa.large_binary()) for name, values in columns.items()})
        draft = self._path.with_name(self._path.name + ".draft")
        try:
            draft.write_bytes(to_arrow_file(table.replace_schema_metadata(metadata)))
            draft.replace(self._path)  # whole or not at all: training may be killed at any time
        except OSError as error:
            raise OutputError(f"{self._path} cannot be written ({error.strerror}); give another checkpoint") from None

    def load(self) -> Losses:
        """Go on from the file if there is one: what there is of losses."""
        if self._path is None or not self._path.exists():
            return []
        try:
            table = from_arrow_file(self._path.read_bytes(), self._path.name, nulls=True)
            about = json.loads(table.schema.metadata[b"training"])
            same = {name: about[name] for name in self._run} == self._run
            columns = {name: self._shaped(table.column(name).to_pylist()) for name in (*_STATES, *_MEMORIES)}
            self._held_back_loss, self.waited = float(about["held_back_loss"]), int(about["waited"])
            losses = np.frombuffer(table.schema.metadata[_LOSSES.encode()]).reshape(-1, 2).tolist()
            if same:
                self._take_chance(table.schema.metadata)
        except (OSError, SfumatoError, ValueError, LookupError, TypeError, RuntimeError):
            same = False
        if not same:
            raise RequestError(
                f"{self._path} is not from this training, or from that of an older version; "
                "give another file for the checkpoint"
            )
        self._put(columns, len(losses))
        return [(loss, None if np.isnan(held_back) else held_back) for loss, held_back in losses]

    def _shaped(self, values: list[bytes | None]) -> list[Any]:
        """The bytes in the kinds and shapes of the tensors; others than theirs: an error."""
        return [
            None if value is None else _tensor(value, tensor)
            for value, tensor in zip(values, self._tensors, strict=True)
        ]

    def _put(self, columns: Mapping[str, list[Any]], epoch: int) -> None:
        import torch

        self._best = columns["best"]
        with torch.no_grad():
            for tensor, now in zip(self._tensors, columns["now"], strict=True):
                tensor.copy_(now)
        for place, parameter in enumerate(self._parameters):
            memory = {name: columns[name][place] for name in _MEMORIES if columns[name][place] is not None}
            self._optimizer.state[parameter] = {"step": torch.tensor(float(epoch)), **memory} if memory else {}

    def _chances(self) -> dict[str, Any]:
        """What torch draws from: that of the processor, and that of the device where there is one."""
        import torch

        on_device = {f"{_CHANCE} of cuda": torch.cuda} if self._parameters[0].device.type == "cuda" else {}
        return {_CHANCE: torch, **on_device}

    def _chance(self) -> dict[str, bytes]:
        return {name: bytes(drawn.get_rng_state().numpy()) for name, drawn in self._chances().items()}

    def _take_chance(self, kept: Mapping[bytes, bytes]) -> None:
        import torch

        for name, drawn in self._chances().items():
            drawn.set_rng_state(torch.frombuffer(bytearray(kept[name.encode()]), dtype=torch.uint8))

    def restore_best(self) -> None:
        """Give the generator what it had when it was best."""
        import torch

        with torch.no_grad():
            for tensor, best in zip(self._tensors, self._best or self._tensors, strict=True):
                tensor.copy_(best)


def _can_be_written(tensor: Any) -> bool:
    """Number by number: what is sparse, or shows one number in several places, cannot."""
    dense = not (tensor.is_sparse or tensor.is_sparse_csr)
    return dense and all(step or size < 2 for step, size in zip(tensor.stride(), tensor.shape, strict=True))


def _bytes(tensor: Any) -> bytes | None:
    import torch

    if tensor is None:
        return None
    stored: bytes = tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes()
    return stored


def _tensor(stored: bytes, like: Any) -> Any:
    import torch

    flat = torch.frombuffer(bytearray(stored), dtype=like.dtype) if stored else torch.empty(0, dtype=like.dtype)
    return flat.reshape(like.shape).to(like.device)
