"""Writes the demo corpora, English-German and English-Chinese, from the grammar of this package.

    python scripts/demo_corpus --out data --seed 1    write data/demo_en_de and data/demo_en_zh
    python scripts/demo_corpus --out data --check     exit status 1 if the files there differ
    python scripts/demo_corpus --report               sizes, lexemes, clause types, lengths
    python scripts/demo_corpus --out big --more 108000    120,000 training pairs, the same dev and test
    python scripts/demo_corpus --out few --lexicon 0.04    other sentences, of a 25th of the lexicon

The same seed gives the same bytes on every Python version. Each folder holds train, dev and test, one
sentence a line, and `test.align`: per line the gold word alignments `i-j`, both counted from 0. The tokens
that i and j count are those of `demo_corpus.tokens.tokenise`: English and German are split on spaces, and a
mark `, . ? !` at the end of a word is a token of its own; in Chinese every character is a token.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from command_line import new_parser

from .corpus import files, generate
from .report import describe


def main(words: Sequence[str]) -> int:
    """Writes, compares or describes; 1 where files differ."""
    parser = new_parser("demo_corpus", __doc__)
    parser.add_argument("--out", type=Path, default=Path("data"), help="folder of the corpora (data)")
    parser.add_argument("--seed", type=int, default=1, help="seed of all choices (1)")
    parser.add_argument("--more", type=int, default=0, help="training pairs besides the 12,000 (0)")
    parser.add_argument("--check", action="store_true", help="compare with the files there, write nothing")
    parser.add_argument("--report", action="store_true", help="describe the corpora, write nothing")
    parser.add_argument("--lexicon", type=float, default=1.0, help="share of the lexemes that is drawn from (1)")
    arguments = parser.parse_args(words)
    if arguments.more < 0:
        parser.error(f"--more is {arguments.more}; give 0 or more pairs")
    if not 0 < arguments.lexicon <= 1:
        parser.error(f"--lexicon is {arguments.lexicon:g}; give a share above 0, at most 1")
    if arguments.out.exists() and not arguments.out.is_dir():
        parser.error(f"--out {arguments.out} is a file; name a folder")
    splits = generate(arguments.seed, arguments.more, arguments.lexicon)
    if arguments.report:
        print(describe(splits))
        return 0
    differing = []
    for name, content in files(splits).items():
        path = arguments.out / name
        if not arguments.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f"{path.name}.part")
            part.write_bytes(content)
            part.replace(path)
        elif not path.is_file() or path.read_bytes() != content:
            differing.append(str(path))
    for path_name in differing:
        print(f"error: {path_name} is not what seed {arguments.seed} gives; write it again without --check")
    return 1 if differing else 0
