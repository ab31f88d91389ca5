"""The two rules that split texts into tokens. The core implements them: core/tokens.c and core/unicode_tokens.c.

unicode  words of any script, numbers, links, names, tags, e-mail addresses and emoji are tokens; see
         docs/reference/tokens.md
paper    the rule of the paper: text is lower-cased character by character. A letter a-z with the letters and digits
         that follow it is a word. Every other digit or visible character is a token of its own, so Chinese, Korean and
         emoji are read character by character. White space is what Unicode calls so
"""

TOKEN = r"[a-z][a-z0-9]*|[0-9]|[^\sa-z0-9]"  # the paper's rule
UNICODE_RULE = "unicode 1"  # changes when the rule does, so that stored tokens are not used any more
