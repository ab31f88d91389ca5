# pointers are integers; values and results are float32 (texts, rows, width), keys int64 (texts)
def dropout(
    values: int, results: int, keys: int, texts: int, rows: int, width: int, purpose: int, threshold: int, /
) -> None: ...
