"""Bytes of a model file by part."""

from __future__ import annotations

from capsulet.storage.file import TOKENIZER_KEY

PARTS = ("codes", "codebooks", "GRU", "capsules", "n-grams", "dictionary", "graph", "metadata")
PREFIXES = {
    "codes": "codes", "code_": "codes", "codebooks": "codebooks", "table": "codes", "gru": "GRU", "votes": "capsules",
    "transforms": "capsules", "classes": "capsules", "projection": "capsules", "words": "dictionary",
    "ngrams": "n-grams",
}  # fmt: skip


def bytes_by_part(data: bytes) -> dict[str, int]:
    """Bytes of a file that each part takes; they sum to the size of the file."""
    import onnx

    model = onnx.load_model_from_string(data)
    sizes = dict.fromkeys(PARTS, 0)
    for constant in model.graph.initializer:
        sizes[part_of(constant.name)] += constant.ByteSize()
    for entry in model.metadata_props:
        has_words = entry.key == TOKENIZER_KEY and not sizes["dictionary"]  # exported files: words in the tokenizer
        sizes["dictionary" if has_words else "metadata"] += entry.ByteSize()
    sizes["graph"] += len(data) - sum(sizes.values())
    return sizes


def part_of(constant: str) -> str:
    """Part that a constant of the graph belongs to."""
    return next((part for prefix, part in PREFIXES.items() if constant.startswith(prefix)), "graph")
