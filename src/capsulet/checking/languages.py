"""Language of a text, by its function words."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from capsulet.text.numbering import Words

FEWEST_WORDS = 3  # smallest number of function words of a language in a text
LEAST_SHARE = 0.1  # smallest share of them among its tokens

# frequent words of one of these languages, as people write them without diacritics
FUNCTION_WORDS = {
    "English": "the of and to is that it for with was are this you have what how can my be but they from which when",
    "German": "der das und nicht ist mit ein eine auf dem den von zu ich sie wie auch sich wird sind einen oder aber",
    "French": "le les des est pas une dans pour qui avec sur je vous nous ce cette sont aux mais plus par leur ces",
    "Spanish": "el los las del una por para como pero su sus muy este esta yo hay fue tiene cuando donde porque",
    "Italian": "il che di gli della sono nel anche ma questo questa ho perche alla dei delle cosa mi lo hanno ogni",
    "Portuguese": "os um uma nao com mais ao dos das pelo ele ela seu sua isso tem foi muito meu minha voce fazer",
    "Dutch": "het een van niet dat voor met zijn maar ook aan wij zij naar deze heeft worden kan mijn bij uit",
    "Swedish": "och att det som inte jag har med var till ett av kan om mig hur vad vill eller efter min skulle",
    "Polish": "nie jest sie na ze jak ale tak dla moje czy jestem mnie przez tylko moge bardzo gdzie przy",
    "Turkish": "bir ve bu icin ile olarak daha gibi ama ben var kadar olan sonra neden nasil hesap benim",
}


def exclusive_words() -> dict[str, list[str]]:
    """Return the words of each language that no other language has."""
    counts = Counter(word for words in FUNCTION_WORDS.values() for word in words.split())
    return {name: [word for word in words.split() if counts[word] == 1] for name, words in FUNCTION_WORDS.items()}


class Languages:
    """Languages of texts whose words are numbered by one table. A text without enough function words has none."""

    names = ("", *FUNCTION_WORDS)

    def __init__(self, words: Words) -> None:
        self.codes = np.zeros(len(words) + 1, np.uint8)
        for code, language_words in enumerate(exclusive_words().values(), start=1):
            numbers, _ = words.scan([" ".join(language_words)], len(language_words))
            self.codes.resize(max(len(self.codes), int(numbers.max()) + 1), refcheck=False)
            self.codes[numbers] = code

    def codes_of(self, ids: NDArray[np.int32], lengths: NDArray[np.int32]) -> NDArray[np.uint8]:
        """Return the language of each text as a place in `names`: (n,); 0 is none."""
        starts = np.cumsum(lengths, dtype=np.int64) - lengths
        known = np.where(ids < len(self.codes), self.codes[np.minimum(ids, len(self.codes) - 1)], 0)
        counts = np.zeros((len(lengths), len(self.names)), np.int64)
        for code in range(1, len(self.names)):
            counts[:, code] = np.add.reduceat(known == code, starts, dtype=np.int64)
        second, first = np.sort(counts, axis=1)[:, -2:].T
        sure = (first >= FEWEST_WORDS) & (first >= 2 * second) & (first >= LEAST_SHARE * lengths)
        return np.where(sure, counts.argmax(1), 0).astype(np.uint8)
