"""A small generated data set: a few words of each class among common words."""

import json
import random
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def many_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """600 rows of three classes; a tenth of them has a wrong label."""
    dice = random.Random(1)
    spelled = ["".join(dice.choices("abcdefghijklmnop", k=6)) for _ in range(180)]
    words = {name: spelled[40 * place :][:40] for place, name in enumerate(("sport", "money", "food"))}
    common = spelled[120:]
    path = tmp_path_factory.mktemp("tuning") / "rows.jsonl"
    with path.open("w") as file:
        for _ in range(600):
            label = dice.choice(list(words))
            text = " ".join([*dice.sample(words[label], 2), *dice.sample(common, 6)])
            given = dice.choice(list(words)) if dice.random() < 0.1 else label
            file.write(json.dumps({"label": given, "text": text}) + "\n")
    return path
