"""Where a fit computes: on this computer's processor, or through torch on its GPU."""

from typing import Any

from sfumato.errors import RequestError

CPU, GPU = "cpu", "cuda"


def torch_or_error() -> Any:
    """Torch, or where to get it."""
    try:
        import torch
    except ImportError:
        raise RequestError(
            "generators and GPUs need torch; install it with: pip install 'sfumato[generators]'"
        ) from None
    return torch


def check_device(device: str) -> None:
    """Refuse a device that this computer does not have."""
    if device == CPU:
        return
    if device != GPU or not torch_or_error().cuda.is_available():
        raise RequestError(f"there is no device {device!r} here; use cpu")
