"""The rule that splits texts into tokens, which core/tokens.c implements.

Text is lower-cased character by character. A letter a-z with the letters and digits that follow it is a word. Every
other digit or visible character is a token of its own, so Chinese, Korean and emoji are read character by character.
White space is what Unicode calls so. The rule is the one of the paper.
"""

TOKEN = r"[a-z][a-z0-9]*|[0-9]|[^\sa-z0-9]"
