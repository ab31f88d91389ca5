"""Automatic values of options: `resolve` computes them from the size of the data."""

import dataclasses
from dataclasses import dataclass

from capsulet.choices import PIECES
from capsulet.config import SIZES, ModelOptions, Options, TextOptions, TrainingOptions, head_rate

USUAL_FRACTION, FEW_ROWS = 0.05, 5_000  # share of the rows that is held out; with few rows, cross-validation instead
FEWEST_ROWS = 100  # with fewer, cross-validation cannot tell whether a network helps: none is trained
NETWORK_TOKENS, LINEAR_TOKENS = 5_000, 50_000  # read per text: a network takes much longer per token
MANY_TEXTS, MANY_CLASSES = 20_000, 30  # training texts and classes from which other values are used
SHORT_TEXTS = 20  # tokens per text on average; a larger network then costs little per text
SMALL_BATCH, LARGE_BATCH = 32, 64  # texts; the large one for many texts
# adversarial perturbation in mean word norms: strong, weak for many texts or classes, none for even more texts
STRONG_NOISE, WEAK_NOISE, MOST_NOISY_TEXTS = 0.6, 0.2, 200_000
SMALL_BUDGET, LARGE_BUDGET = 8_000_000, 14_000_000  # tokens that a training reads; the small one for many texts
FEWEST_EPOCHS, MOST_EPOCHS, MOST_EPOCHS_OF_MANY_CLASSES = 3, 12, 20
FEWEST_STEPS, MOST_EPOCHS_OF_A_SMALL_FILE = 1000, 100  # a hundred texts are four steps per epoch
FEWEST_PIECE_CODES, MOST_PIECE_CODES = 1 << 8, 1 << 14  # rows of the table of codes of pieces
# n-gram table: rows, rows times classes, and the number that rows are a multiple of
MOST_NGRAM_ROWS, MOST_NGRAM_NUMBERS, NGRAM_ROW_UNIT = 1 << 19, 1 << 22, 64


@dataclass(frozen=True)
class DataSize:
    """Sizes of the data that automatic values depend on."""

    texts: int  # training texts
    tokens: int  # read per epoch of training
    vocab_size: int
    classes: int
    valid_tokens: int = 0  # read per validation


def resolve(options: Options, data: DataSize) -> Options:
    """Replace every automatic value, except the number of threads, which depends on the machine."""
    text = resolve_text(options.text, data.texts)
    model = dataclasses.replace(options.model, size=options.model.size or usual_size(data))
    return Options(
        resolve_model(model, data.vocab_size, data.classes, text.unknown_words == PIECES),
        text,
        resolve_training(options.training, data, options.model.multi_label),
    )


def resolve_text(options: TextOptions, texts: int) -> TextOptions:
    """Replace the automatic values of the text options, which are needed before the vocabulary is known."""
    min_count = options.min_count or (2 if texts >= MANY_TEXTS else 1)
    return dataclasses.replace(
        options, min_count=min_count, unknown_words=options.unknown_words or PIECES,
        max_tokens=options.max_tokens or most_tokens(texts),
    )  # fmt: skip


def most_tokens(rows: int) -> int:
    """Default of `max_tokens` for a file with this many rows."""
    return LINEAR_TOKENS if rows < FEWEST_ROWS else NETWORK_TOKENS


def usual_size(data: DataSize) -> str:
    """Default size of the network: base for many classes or many short texts, else small; small for few rows."""
    many_short = data.texts >= MANY_TEXTS and data.tokens <= SHORT_TEXTS * data.texts
    many_classes = data.texts >= FEW_ROWS and data.classes >= MANY_CLASSES
    return "base" if many_classes or many_short else "small"


def resolve_model(options: ModelOptions, vocab_size: int, classes: int, reads_pieces: bool = False) -> ModelOptions:
    """Replace automatic sizes of the network; `reads_pieces`: unknown words are read by their pieces."""
    num_codewords, ngram_features, piece_codes = options.num_codewords, options.ngram_features, options.piece_codes
    size = options.size or usual_size(DataSize(FEW_ROWS, 0, vocab_size, classes))
    num_layers, hidden_size = SIZES[size]
    if num_codewords is None:
        num_codewords = smallest_num_codewords(vocab_size, options.num_codebooks)
    if ngram_features is None:
        ngram_features = min(MOST_NGRAM_ROWS, max(NGRAM_ROW_UNIT, MOST_NGRAM_NUMBERS // classes))
    if piece_codes is None or not options.pieces:
        wanted = min(MOST_PIECE_CODES, max(FEWEST_PIECE_CODES, 1 << (2 * vocab_size - 1).bit_length()))
        piece_codes = wanted if reads_pieces and options.pieces else 0
    return dataclasses.replace(
        options, size=size, hidden_size=options.hidden_size or hidden_size, num_layers=options.num_layers or num_layers,
        num_codewords=num_codewords, ngram_features=ngram_features, piece_codes=piece_codes,
    )  # fmt: skip


def resolve_training(options: TrainingOptions, data: DataSize, multi_label: bool) -> TrainingOptions:
    """Replace the automatic values of the training options."""
    many = data.texts >= MANY_TEXTS
    batch_size = options.batch_size or (LARGE_BATCH if many else SMALL_BATCH)
    token_budget = options.token_budget or (SMALL_BUDGET if many else LARGE_BUDGET)
    most = MOST_EPOCHS_OF_MANY_CLASSES if data.classes >= MANY_CLASSES else MOST_EPOCHS
    passes = min(most, max(FEWEST_EPOCHS, round(token_budget / max(data.tokens, 1))))
    steps = max(-(-data.texts // batch_size), 1)  # per epoch
    affordable = token_budget // max(data.tokens + data.valid_tokens, 1)  # few long texts may be many tokens
    epochs = options.epochs or max(passes, min(MOST_EPOCHS_OF_A_SMALL_FILE, FEWEST_STEPS // steps, affordable))
    adversarial = options.adversarial
    if adversarial is None:
        adversarial = WEAK_NOISE if many or data.classes >= MANY_CLASSES else STRONG_NOISE
        adversarial = 0.0 if data.texts >= MOST_NOISY_TEXTS else adversarial
    select = options.select or ("micro-f1" if multi_label else "accuracy")
    if select == "micro-f1" and not multi_label:
        select = "accuracy"  # the two are equal then
    return dataclasses.replace(
        options, batch_size=batch_size, token_budget=token_budget, epochs=epochs, adversarial=adversarial,
        select=select, head_learning_rate=head_rate(options),
    )  # fmt: skip


def held_out_fraction(fraction: float | None, rows: int) -> float:
    """The share of these rows that is held out for validation."""
    if fraction is not None:
        return fraction
    return 0.0 if rows < FEW_ROWS else USUAL_FRACTION


def smallest_num_codewords(vocab_size: int, num_codebooks: int) -> int:
    """The smallest K with K^M >= V, computed in integers: a floating-point root is off by one at exact powers."""
    low, high = 1, 1 << -(-vocab_size.bit_length() // num_codebooks)  # high^M > V
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if middle**num_codebooks >= vocab_size else (middle + 1, high)
    return low
