"""The interface to the C core: texts to ids, class lengths, probabilities and contributions.

`self.core` is the type Model of native/core.c. Needs no other package.
"""

from __future__ import annotations

import os

from capsulet.cores import available_cores
from capsulet.errors import CapsuletError, InputError, ModelError, model_path
from capsulet.native import core_module
from capsulet.runtime.matrix import Matrix

TYPE_CHECKING = False  # as in typing, which takes long to import; so does array, which predictions do not need
if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Sequence
    from typing import Any, TypeVar

    from capsulet.evaluation.abstention import Rules
    from capsulet.storage.model_config import ModelConfig
    from capsulet.text.vocabulary import WordIds

    Part = TypeVar("Part")
    Answer = TypeVar("Answer")

PRECISIONS = {"auto": 0, "float32": 1, "int8": 2}
AT_ONCE = 256  # texts that a thread gives to the core in one call: enough to batch texts of similar length

NAN = float("nan")


class Parts:
    """Contributions of a text of T tokens to Q classes, the `wanted` ones."""

    def __init__(self, parts: dict[str, bytes], classes: int, wanted: int) -> None:
        self.lengths = Matrix(parts["lengths"], classes)  # (1, C)
        self.norms = Matrix(parts["norms"], classes)  # (1, C) lengths before squash; linear head: logits
        # (T, Q) of the tokens, with the norm of the class as their sum, and the part of the n-gram features in them
        self.contributions, self.ngrams = Matrix(parts["contributions"], wanted), Matrix(parts["ngrams"], wanted)
        # (N, Q) coupling of the primary capsules, and their shares in the norm
        self.coupling, self.shares = Matrix(parts["coupling"], wanted), Matrix(parts["shares"], wanted)


class Session:
    """A loaded model. It may be used by several threads at the same time."""

    def __init__(self, core: Any, threads: int | None, source: str, precision: str = "auto") -> None:
        self.core, self.source, self.threads, self.precision = core, source, count_threads(threads), precision
        facts = core.facts()
        self.facts: dict[str, Any] = facts
        self.labels: tuple[str, ...] = core.labels()
        self.classes: int = facts["classes"]
        self.multi_label, self.calibrated = bool(facts["multi_label"]), bool(facts["calibrated"])
        self.kernel: str = facts["kernel"]
        self.codebooks: int = facts["codebooks"]  # 0: the words have no codes
        self.codes: int = facts["codebooks"] * facts["codewords"]  # codewords of all codebooks
        self.primary: int = facts["primary"]
        self.has_ngrams = bool(facts["ngrams"])
        self.has_network = not facts["linear_only"]  # False: n-gram features only
        self.stored_config: ModelConfig | None = None

    @property
    def config(self) -> ModelConfig:
        """The configuration, parsed at its first use: a prediction does not need it."""
        if self.stored_config is None:
            from capsulet.storage.model_config import parse_config
            from capsulet.storage.tensors import parse_json

            value = parse_json(self.core.config(), self.source, "its configuration")
            self.stored_config = parse_config(value, self.source)
        return self.stored_config

    @property
    def word_ids(self) -> WordIds:
        """Ids of the model's words; the id of the unknown word is 0 in compressed models."""
        from capsulet.text.vocabulary import WordIds

        return WordIds(self.facts["vocabulary"], self.facts["unknown"])

    def encode(self, texts: Sequence[str], spelled: bool = False) -> list[array[int]]:
        """Ids of each text; a text without tokens is read as one unknown word.

        Texts that are `spelled` are tokens separated by spaces, spelled as the model spells them.
        """
        from array import array

        ids, counts = self.core.encode(texts, spelled)
        encoded: list[array[int]] = []
        numbers, start = memoryview(ids).cast("i"), 0
        for count in memoryview(counts).cast("i"):
            encoded.append(array("i", numbers[start : start + count]))
            start += count
        return encoded

    def tokens(self, text: str, spelled: bool = False) -> list[tuple[int, int, int]]:
        """Id, start and end of each token, in characters; a text without tokens has one unknown word at 0 to 0."""
        tokens: list[tuple[int, int, int]] = self.core.tokens(text, spelled)
        return tokens

    def spell(self, text: str) -> list[str]:
        """Tokens of a text as the model spells them."""
        spelled: list[str] = self.core.spell(text)
        return spelled

    def word(self, number: int) -> str:
        """The word of an id."""
        return str(self.core.word(number))

    def words(self) -> list[str]:
        """All entries of the vocabulary by id."""
        return list(map(self.word, range(self.word_ids.size)))

    def classify(self, texts: Sequence[str], spelled: bool = False) -> tuple[Matrix, memoryview[float]]:
        """Class lengths (n, C) of texts, and the share of unknown words in each text (n,)."""
        parts = [texts[start : start + AT_ONCE] for start in range(0, len(texts), AT_ONCE)]
        answers = self.in_threads(lambda part: self.core.classify(part, spelled), parts)
        unknown: memoryview[float] = memoryview(b"".join(shares for _, shares in answers)).cast("f")
        return self.matrix(*(lengths for lengths, _ in answers)), unknown

    def ngram_scores(self, texts: Sequence[str], spelled: bool = False) -> Matrix:
        """Scores of the n-gram features of texts: (n, C); zeros without them."""
        return self.matrix(self.core.ngrams(texts, spelled))

    def probabilities(self, lengths: Matrix) -> Matrix:
        """Probabilities (n, C) of class lengths (n, C), in proportion to the lengths if there is no calibration."""
        return Matrix(self.core.probabilities(lengths.floats()), self.classes, "d")

    def confidence(self, lengths: Matrix, unknown: Sequence[float]) -> array[float]:
        """How much each text looks like at least one of the classes (docs/concepts/calibration.md)."""
        from array import array

        return array("d", self.core.confidence(lengths.floats(), array("f", unknown).tobytes()))

    def certainty(self, lengths: Matrix, unknown: Sequence[float]) -> array[float]:
        """How much each text looks like exactly one class (docs/concepts/calibration.md)."""
        from array import array

        return array("d", self.core.certainty(lengths.floats(), array("f", unknown).tobytes()))

    def rules(self, abstain: bool, coverage: float | None, max_error: float | None, sets: float | None) -> Rules:
        """Return the thresholds for these requests; InputError if there are too few validation texts for them."""
        from capsulet.evaluation.abstention import Rules

        try:
            values = self.core.rules(
                abstain, *(NAN if value is None else value for value in (coverage, max_error, sets))
            )
        except ValueError as error:
            raise InputError(
                f"--max-error {max_error:g} {error}: raise --max-error, or calibrate on more texts"
            ) from None
        confidence, certainty, set_score = (value if value == value else None for value in values[:3])
        return Rules(confidence, certainty, set_score, texts=values[3])

    def reasons(self, rules: Rules, lengths: Matrix, unknown: memoryview[float]) -> bytes:
        """Per text: 0 it gets an answer, 1 the confidence is too low, 2 too many words are unknown."""
        least = (NAN if value is None else value for value in (rules.least_confidence, rules.least_certainty))
        reasons: bytes = self.core.reasons(lengths.floats(), unknown.tobytes(), *least)
        return reasons

    def label_sets(self, rules: Rules, lengths: Matrix) -> list[tuple[int, ...]]:
        """Classes in the conformal set of each text, most probable first; a set may be empty."""
        sets: list[tuple[int, ...]] = self.core.label_sets(lengths.floats(), rules.least_set_score)
        return sets

    def explain(self, text: str, classes: Sequence[int], spelled: bool = False) -> Parts:
        """Contributions of the tokens of one text to some classes."""
        from array import array

        with self.reported():
            parts = self.core.explain(text, array("i", classes).tobytes(), spelled)
        return Parts(parts, self.classes, len(classes))

    def code_weights(self, number: int) -> array[float]:
        """Weight of each codeword for the word of an id."""
        from array import array

        return array("f", self.core.codes(number))

    def usage(self, encoded: Sequence[Any]) -> Matrix:
        """Mean weight of each codeword over the known words of each text (n, codes); NaN where no word is known."""
        return Matrix(self.core.usage(*joined(encoded)), self.codes, "d")

    def matrix(self, *parts: bytes) -> Matrix:
        """Concatenate the rows of parts."""
        return Matrix(parts[0] if len(parts) == 1 else b"".join(parts), self.classes)

    def in_threads(self, work: Callable[[Part], Answer], parts: Sequence[Part]) -> list[Answer]:
        """Results of `work` for every part, on several threads: the core releases the GIL."""
        threads = min(self.threads, len(parts))
        with self.reported():
            if threads < 2:
                return list(map(work, parts))
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(threads) as pool:
                return list(pool.map(work, parts))

    def reported(self) -> Reported:
        """A context that turns errors of the core into ModelErrors."""
        return Reported(self.source)


class Reported:
    """A context that turns errors of the core into ModelErrors. (contextlib takes milliseconds to import.)"""

    def __init__(self, source: str) -> None:
        self.source = source

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if kind is ValueError:
            raise ModelError(f"{self.source} is damaged: {error}; restore it from a copy or train again") from None


def joined(encoded: Sequence[Any]) -> tuple[bytes, bytes]:
    """Concatenated ids of all texts, and the number of ids of each text, as bytes."""
    from array import array

    views: list[memoryview[int]] = [memoryview(ids) for ids in encoded]
    assert all(view.itemsize == 4 for view in views), "ids of 32 bits"
    return b"".join(views), array("i", map(len, encoded)).tobytes()


def open_session(path: str | os.PathLike[str], threads: int | None = None, precision: str = "auto") -> Session:
    """Load a model folder or file. `threads` is the number of threads for many texts; None: one per core."""
    place = model_path(path)
    file = os.path.join(place, "model.safetensors") if os.path.isdir(place) else place  # noqa: PTH112, PTH118
    try:
        return start(file, place, threads, precision)
    except ModelError:
        from pathlib import Path

        from capsulet.storage.model_file import read_model

        read_model(Path(place))  # describes what is wrong in more detail
        raise


def session_of(
    data: bytes | memoryview[int], threads: int | None = None, precision: str = "auto", source: str = "the new model"
) -> Session:
    """Load a model from the bytes of a model file."""
    return start(bytes(data), source, threads, precision)


def start(where: str | bytes, source: str, threads: int | None, precision: str) -> Session:
    """Load a model from a file or bytes; ModelError if it is damaged."""
    if precision not in PRECISIONS:
        raise InputError(f"precision is {precision!r}: expected one of {', '.join(PRECISIONS)}")
    try:
        core = core_module().Model(where, PRECISIONS[precision], os.environ.get("CAPSULET_KERNEL"))
        return Session(core, threads, source, precision)
    except MemoryError:
        raise CapsuletError(f"{source} cannot be loaded: not enough memory") from None
    except (ValueError, OSError) as error:
        raise ModelError(f"{source} is damaged: {error}; restore it from a copy or train again") from None


def count_threads(threads: int | None) -> int:
    """Return `threads`, or the number of cores that this process may use."""
    if threads is None:
        return available_cores()
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise InputError(f"--threads is {threads!r}: expected at least 1, or auto for one per core")
    return threads
