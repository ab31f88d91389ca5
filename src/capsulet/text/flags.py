"""Names and help texts of the options for reading files. `ReadOptions` and the command line use them."""

FORMATS = ("csv", "tsv", "jsonl", "parquet", "xlsx", "fasttext", "lines")
LABEL_SEPARATOR = "|"  # rare inside labels; commas are common there
HELP = {  # by field of ReadOptions
    "text_columns": "text column; repeat it to join columns with spaces (default: text, or a usual name)",
    "label_column": "column of the label (default: label, or a usual name)",
    "header": "the first line is a row, not column names; the label is in the first column, texts in the others",
    "file_format": "format of the files (default: by name and content)",
    "on_bad_row": "stop at an invalid row, or skip and count it",
    "multi_label": "a row may have several labels, or none",
    "label_separator": f"separator of labels in one cell (default: {LABEL_SEPARATOR}); lists in JSONL and Parquet need "
    "none",
    "encoding": "encoding of text files, such as cp1251 (default: UTF-8; UTF-16 and Windows-1252 are recognised)",
}
