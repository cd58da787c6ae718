"""A grammar that writes the demo corpora: English sentences with German and Chinese translations.

A sentence is a tree of choices (`tree`), drawn at random (`noun_phrases`, `clauses`, `sentences`) and written
out once per language (`english`, `german`, `chinese`). Tokens of the same node of the tree are aligned.
"""
