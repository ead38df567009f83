"""The format of model files in ten lines: https://github.com/huggingface/safetensors."""

import json

import numpy as np


def read_safetensors(path):
    """Return (metadata, arrays)."""
    blob = path.read_bytes()
    length = int.from_bytes(blob[:8], "little")
    header = json.loads(blob[8:8 + length])
    about = header.pop("__metadata__")
    arrays = {}
    for name, entry in header.items():
        first, end = (8 + length + offset for offset in entry["data_offsets"])
        kind = {"F32": "<f4", "F64": "<f8"}[entry["dtype"]]
        arrays[name] = np.frombuffer(blob[first:end], kind).reshape(entry["shape"]).astype(float)
    return about, arrays
