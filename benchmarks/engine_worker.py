"""Answers of one classifier in a process of its own: `python benchmarks/engine_worker.py KIND MODEL THREADS`.

KIND is `capsulet` (of any version, as PYTHONPATH says) or `fasttext`. Each line of standard input is a request, a JSON
object with a list of texts and an action; each line of standard output is the answer: seconds, labels or bytes.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

WINDOW = 4096  # texts per call


def load(kind: str, path: str, threads: int) -> Any:
    """A function from texts to labels, and the model."""
    if kind == "fasttext":
        import fasttext

        model = fasttext.load_model(path)
        return lambda texts: [model.predict(text)[0][0] for text in texts], model
    import capsulet

    options = {"precision": sys.argv[4]} if len(sys.argv) > 4 else {}
    classifier = capsulet.load(path, threads=threads, **options)
    return lambda texts: [prediction.label for prediction in classifier.predict(texts)], classifier


def main() -> None:
    """Answer requests until standard input ends."""
    label, model = load(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    for line in sys.stdin:
        request = json.loads(line)
        texts, action = request["texts"], request["action"]
        started = time.perf_counter()
        answer: Any = None
        if action == "explain":
            for text in texts:
                model.explain(text)
        elif action == "one by one":
            for text in texts:
                label([text])
        else:
            answer = [found for start in range(0, len(texts), WINDOW) for found in label(texts[start : start + WINDOW])]
        seconds = time.perf_counter() - started
        memory = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        labels = answer if action == "labels" else None
        print(json.dumps({"seconds": seconds, "memory": memory, "labels": labels}), flush=True)


if __name__ == "__main__":
    main()
