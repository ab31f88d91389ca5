"""Names and help texts of the options for reading files. `ReadOptions` and the command line use them."""

FORMATS = ("csv", "tsv", "jsonl", "parquet", "fasttext", "lines")
LABEL_SEPARATOR = "|"  # rare inside labels; commas are common there
HELP = {  # by field of ReadOptions
    "text_columns": "text column; repeat it to join columns with spaces (default: text)",
    "label_column": "column of the label (default: label)",
    "header": "the first line is a row, not column names; the label is in the first column, texts in the others",
    "file_format": "format of the files (default: by name and content)",
    "on_bad_row": "stop at an invalid row, or skip and count it",
    "multi_label": "a row may have several labels, or none",
    "label_separator": f"separator of labels in one cell (default: {LABEL_SEPARATOR}); lists in JSONL and Parquet need "
    "none",
}
