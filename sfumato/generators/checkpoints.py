"""Training kept in an Arrow file, so that it goes on where it was stopped. No pickle."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.bundle import from_arrow_file, to_arrow_file
from sfumato.errors import OutputError, RequestError, SfumatoError

_NAMES = ("now", "best", "exp_avg", "exp_avg_sq")  # parameters, those of the best epoch, and Adam's two memories


class Checkpoint:
    """The state of parameters and optimizer now, and of the parameters when they were best.

    Without a path it lives in memory. What a generator keeps beside its parameters, such as running means, is not kept.
    """

    def __init__(self, path: Path | None, run: Mapping[str, Any], parameters: list[Any], optimizer: Any) -> None:
        self._path, self._parameters, self._optimizer, self._run = path, parameters, optimizer, dict(run)
        self._best: list[Any] | None = None
        self._judged = np.inf
        self.waited = 0  # judgements since the best one

    def save(self, epoch: int, judged: float) -> None:
        """Keep this state, and the best one."""
        if judged < self._judged or self._best is None:
            self._judged, self.waited = judged, 0
            self._best = [parameter.detach().clone() for parameter in self._parameters]
        else:
            self.waited += 1
        if self._path is None:
            return
        memories = [self._optimizer.state[parameter] for parameter in self._parameters]
        columns = {
            "now": self._parameters,
            "best": self._best,
            **{
                name: [memory.get(name, 0 * value) for memory, value in zip(memories, self._parameters, strict=True)]
                for name in _NAMES[2:]
            },
        }
        about = {**self._run, "epoch": epoch, "judged": self._judged, "waited": self.waited}
        table = pa.table({name: _flat(values) for name, values in columns.items()})
        draft = self._path.with_name(self._path.name + ".draft")
        try:
            draft.write_bytes(to_arrow_file(table.replace_schema_metadata({"training": json.dumps(about)})))
            draft.replace(self._path)  # whole or not at all: training may be killed at any time
        except OSError as error:
            raise OutputError(f"{self._path} cannot be written ({error.strerror}); give another checkpoint") from None

    def load(self) -> int:
        """Go on from the file if there is one: the epochs that are done."""
        if self._path is None or not self._path.exists():
            return 0
        try:
            table = from_arrow_file(self._path.read_bytes(), self._path.name)
            about = json.loads(table.schema.metadata[b"training"])
            same = {name: about[name] for name in self._run} == self._run
            columns = {name: self._shaped(table.column(name).to_numpy()) for name in _NAMES}
            self._judged, self.waited, epoch = float(about["judged"]), int(about["waited"]), int(about["epoch"])
        except (OSError, SfumatoError, ValueError, LookupError, TypeError):
            same = False
        if not same:
            raise RequestError(f"{self._path} is not from this training; give another file for the checkpoint")
        self._put(columns, epoch)
        return epoch

    def _shaped(self, values: Any) -> list[Any]:
        """The flat numbers in the shapes of the parameters; not as many: an error."""
        import torch

        ends = np.cumsum([parameter.numel() for parameter in self._parameters])
        if len(values) != ends[-1]:
            raise ValueError("the parameters are not as many as those that were kept")
        parts = np.split(values.astype(np.float32), ends[:-1])
        return [
            torch.from_numpy(part.copy()).reshape(parameter.shape).to(parameter.device)
            for part, parameter in zip(parts, self._parameters, strict=True)
        ]

    def _put(self, columns: Mapping[str, list[Any]], epoch: int) -> None:
        import torch

        self._best = columns["best"]
        with torch.no_grad():
            for place, parameter in enumerate(self._parameters):
                parameter.copy_(columns["now"][place])
                memory = {name: columns[name][place] for name in _NAMES[2:]}
                self._optimizer.state[parameter] = {"step": torch.tensor(float(epoch)), **memory}

    def restore_best(self) -> None:
        """Give the parameters what they had when they were best."""
        import torch

        with torch.no_grad():
            for parameter, best in zip(self._parameters, self._best or [], strict=True):
                parameter.copy_(best)


def _flat(values: list[Any]) -> Any:
    return np.concatenate([value.detach().cpu().numpy().ravel() for value in values])
