"""Draw the pictures of the first page and of the concepts: `python -m docs.images.drawings`."""

from __future__ import annotations

from pathlib import Path

from docs.images.drawing import Drawing

IMAGES = Path(__file__).parent


def overview() -> Drawing:
    """From labelled texts to answers."""
    picture = Drawing(760, 300, "Labelled texts are trained into one model file, which runs in many places")
    picture.box(16, 100, 130, 96, "labelled texts", "CSV, JSONL, …;", "20 to millions", "of rows")
    picture.box(186, 100, 140, 96, "train", "n-gram features,", "then a network if", "it helps; CPU only", kind="one")
    picture.box(
        366,
        84,
        140,
        128,
        "one model file",
        "words, weights,",
        "calibration, card;",
        "compressed to some",
        "hundred KB",
        "if you like",
        kind="two",
    )
    for y, words, more in (
        (20, "Python", "no other package"), (92, "command line", "label, explain, drift"),
        (164, "browser, Node", "WebAssembly"), (236, "any program", "C library"),
    ):  # fmt: skip
        picture.box(576, y, 168, 48, words, more)
        picture.arrow(506, 148, 540, 148, 540, y + 24, 574, y + 24)
    return picture.arrow(146, 148, 184, 148).arrow(326, 148, 364, 148)


def network() -> Drawing:
    """The parts of the network."""
    picture = Drawing(760, 330, "Tokens, embeddings, states, capsules and class lengths")
    words = ("the", "match", "was", "close")
    for number, word in enumerate(words):
        x = 20 + 88 * number
        picture.box(x, 16, 76, 28, word).box(x, 84, 76, 28, "vector", kind="one").box(
            x, 152, 76, 28, "state", kind="one"
        )
        picture.arrow(x + 38, 44, x + 38, 82).arrow(x + 38, 112, x + 38, 150).arrow(x + 38, 180, x + 38, 216)
    for number in range(3):
        x = 20 + 88 * number
        picture.arrow(x + 76, 160, x + 87, 160).arrow(x + 88, 172, x + 77, 172)
    picture.box(20, 218, 340, 36, "pooled state = primary capsules", kind="one")
    picture.text(392, 68, "codes of words, codebooks", "small left").text(392, 136, "bidirectional GRU", "small left")
    picture.text(392, 204, "mean and maximum", "small left")
    picture.arrow(190, 254, 190, 284).box(20, 286, 340, 32, "class capsules", kind="two")
    picture.text(200, 274, "votes and routing", "small left")
    picture.box(560, 16, 180, 62, "n-gram features", "words, pairs of words,", "pieces of words")
    picture.arrow(360, 302, 460, 302).arrow(650, 78, 650, 284)
    picture.box(462, 286, 278, 32, "class lengths → probabilities", kind="two")
    return picture.text(660, 190, "added", "small left")


def training() -> Drawing:
    """The three steps of a training."""
    picture = Drawing(760, 190, "A linear model first, then a network, then the decision whether both are used")
    picture.box(16, 56, 110, 60, "rows", "texts and labels")
    picture.box(166, 40, 150, 92, "1 linear model", "n-gram features,", "seconds;", "saved at once", kind="one")
    picture.box(356, 40, 150, 92, "2 network", "capsules, minutes;", "--time sets a limit", kind="one")
    picture.box(
        546,
        40,
        198,
        92,
        "3 mixture",
        "validation texts decide",
        "how strongly the network",
        "counts, or not at all",
        kind="two",
    )
    picture.arrow(126, 86, 164, 86).arrow(316, 86, 354, 86).arrow(506, 86, 544, 86)
    picture.arrow(241, 132, 241, 164, 645, 164, 645, 134)
    return picture.text(440, 180, "if the network does not help, the linear model is the result", "small")


def ngram_table() -> Drawing:
    """From the features of a text to scores of classes."""
    picture = Drawing(760, 220, "Features of a text are hashed to rows of a table, whose sums are class scores")
    for number, (name, kind) in enumerate(
        (("the", "word"), ("matches", "word"), ("the matches", "pair"), ("⟨mat", "piece"))
    ):
        picture.box(16, 12 + 50 * number, 130, 40, name, kind)
        picture.arrow(146, 32 + 50 * number, 244, 60 + 35 * number)
    picture.text(200, 206, "hash and check", "small")
    for row in range(6):
        for column in range(3):
            picture.box(250 + 76 * column, 30 + 26 * row, 72, 22, kind="one" if row in (1, 2, 3, 5) else "")
    picture.text(364, 20, "table: S rows, one number of 8 bits per class", "small").text(
        364, 206, "food · money · sport", "small"
    )
    picture.arrow(480, 108, 540, 108)
    for number, (name, value) in enumerate((("food", 24), ("money", 12), ("sport", 120))):
        picture.text(596, 76 + 34 * number, name, "").bar(
            630, 62 + 34 * number, value, 18, "two" if value > 100 else "one"
        )
    return picture.text(640, 190, "sums of the rows = class scores", "small")


def calibration() -> Drawing:
    """From a class length to a probability and a decision."""
    picture = Drawing(760, 220, "Class lengths are mapped to probabilities; below a threshold the model abstains")
    picture.box(16, 74, 130, 60, "class length", "ranks the labels").arrow(146, 104, 196, 104)
    picture.path("M200 180 L400 180 M200 180 L200 24", "dashed").path("M200 176 C290 172 300 60 400 36")
    picture.text(300, 204, "length", "small").text(300, 16, "fitted on validation texts", "small")
    picture.arrow(404, 104, 448, 104).box(
        450, 74, 120, 60, "probability", "0.93 is right in", "93 of 100 cases", kind="one"
    )
    picture.arrow(570, 90, 620, 52).arrow(570, 118, 620, 158)
    picture.box(622, 24, 122, 50, "label", "confident enough", kind="two")
    return picture.box(622, 134, 122, 50, "no label", "below threshold")


def explanation() -> Drawing:
    """Contributions of words that sum to a score."""
    picture = Drawing(760, 190, "The contributions of the words sum to the score of the label")
    words = (
        ("Run", 10),
        ("the", 6),
        ("coroutine", 150),
        ("then", -12),
        ("close", 24),
        ("the", 8),
        ("event", 70),
        ("loop", 190),
    )
    for number, (word, value) in enumerate(words):
        y = 18 + 20 * number
        picture.text(60, y + 12, word)
        picture.bar(140 if value > 0 else 140 + value, y, abs(value), 14, "one" if value > 0 else "two")
    picture.path("M140 10 L140 180", "dashed")
    picture.text(380, 60, "for the label", "small left").text(380, 100, "Σ", "bold left").arrow(400, 96, 470, 96)
    return picture.box(
        474,
        60,
        270,
        72,
        "sum = score of the label",
        "before it is mapped to a probability;",
        "exact, without sampling",
        kind="one",
    )


def drift() -> Drawing:
    """Histograms of two groups of texts and the test."""
    picture = Drawing(760, 200, "Histograms of validation texts and new texts are compared by a permutation test")
    groups = ((20, "validation texts", (20, 60, 96, 60, 24)), (230, "new texts", (50, 90, 60, 30, 12)))
    for left, name, heights in groups:
        for number, height in enumerate(heights):
            picture.bar(left + 34 * number, 140 - height, 28, height, "one" if left < 100 else "two")
        picture.text(left + 82, 160, name)
    picture.text(208, 190, "five histograms: unknown words, lengths, codes, classes, scores", "small")
    picture.arrow(410, 92, 456, 92).box(
        458, 56, 150, 72, "permutation test", "texts are shuffled", "between the groups"
    )
    picture.arrow(608, 92, 640, 92)
    return picture.box(642, 56, 102, 72, "drift or not", "false alarms at", "most 1 %", kind="two")


def compression() -> Drawing:
    """A word vector as a sum of codewords."""
    picture = Drawing(760, 220, "A word is stored as one codeword per codebook; weights have few bits")
    picture.box(16, 80, 110, 52, "match", "a word")
    picture.arrow(126, 106, 158, 106).box(160, 80, 122, 52, "3 · 14 · 0 · 9", "codes, 2 to 4 bytes", kind="two")
    for book in range(4):
        x = 330 + 64 * book
        for row in range(6):
            picture.box(x, 30 + 24 * row, 48, 20, kind="one" if row == (2, 5, 0, 3)[book] else "")
        picture.text(x + 24, 194, f"codebook {book + 1}", "small")
    picture.arrow(282, 106, 326, 106).arrow(574, 106, 610, 106)
    picture.box(612, 74, 132, 64, "word vector", "sum of the chosen", "codewords", kind="one")
    return picture.text(454, 18, "16 codewords each", "small")


DRAWINGS = {
    "overview": overview, "network": network, "training": training, "ngram-table": ngram_table,
    "calibration": calibration, "explanation": explanation, "drift": drift, "compression": compression,
}  # fmt: skip


def main() -> None:
    """Write every drawing."""
    for name, draw in DRAWINGS.items():
        (IMAGES / f"{name}.svg").write_text(draw().svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
