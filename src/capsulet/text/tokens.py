"""Names of the two token rules. The core implements them: core/unicode_tokens.c (unicode), core/tokens.c (paper).

unicode  words of any script, numbers, links, names, tags, e-mail addresses and emoji are tokens; see
         docs/reference/tokens.md
paper    the rule of the paper: text is lower-cased character by character. A letter a-z with the letters and digits
         that follow it is a word. Every other digit or visible character is a token of its own, so Chinese, Korean and
         emoji are read character by character. White space is as in Unicode
"""

TOKEN = r"[a-z][a-z0-9]*|[0-9]|[^\sa-z0-9]"  # the paper's rule
UNICODE_RULE = "unicode 1"  # increase the number when the rule changes: cached tokens are then made again
