"""The corpus as everybody reads it: our own pieces, written for the peers between spaces."""

import re
from dataclasses import dataclass
from pathlib import Path

from bench.peers.environments import Workplace
from bench.training_loop import configuration
from nmt.config.overrides import readable
from nmt.data.prepare import Prepared
from nmt.data.tokenizer import UNK, Tokenizer
from nmt.errors import DataError
from nmt.training.run import read_data

SPLITS = {"train": "train", "dev": "val", "test": "test_2016_flickr"}  # ours -> the corpus's


@dataclass(frozen=True)
class Text:
    """The segmented corpus."""

    folder: Path
    fingerprint: str
    sentences: int  # of the training split
    tokens: int  # target pieces of the training split, ends of sentences included
    test_src_pieces: int
    tokenizer: Tokenizer

    def decode(self, lines: list[str]) -> list[str]:
        """A peer's lines of pieces as text; a word that is not a piece is the unknown one."""
        numbers = {name: number for number, name in enumerate(names(self.tokenizer))}
        return [self.tokenizer.decode([numbers.get(piece, UNK) for piece in line.split()]) for line in lines]


def require_corpus(folder: Path) -> None:
    """Refuses a folder without the corpus."""
    for name in (f"{stem}.{side}" for stem in SPLITS.values() for side in ("en", "de")):
        if not (folder / name).is_file():
            raise DataError(f"no {name} in --multi30k {folder}; name the folder with train, val and test_2016_flickr")


def segment(place: Workplace) -> Text:
    """Our pieces of every split, and the vocabulary, as files for the peers."""
    places = [f"data.root={place.multi30k}", f"cache_dir={place.cache}"]
    config = configuration(["experiment=reference", *(readable(word, sweep=False) for word in places)])
    prepared = read_data(config, None)
    tokenizer, folder = prepared.tokenizers.src, place.folder / "text"
    place.once("text", prepared.fingerprint, folder, lambda: write_text(prepared, tokenizer, folder))
    targets, test = prepared.train["tgt_ids"], prepared.test["src_ids"]
    tokens, test_pieces = sum(map(len, targets)) + len(targets), sum(map(len, test))
    return Text(folder, prepared.fingerprint, len(targets), tokens, test_pieces, tokenizer)


def write_text(prepared: Prepared, tokenizer: Tokenizer, folder: Path) -> None:
    """One file a split and side; the vocabulary in the form of each peer."""
    folder.mkdir(parents=True, exist_ok=True)
    known = names(tokenizer)
    assert len(set(known)) == len(known), "two pieces are spelled alike"
    for split in SPLITS:
        table = getattr(prepared, split)
        for side in ("src", "tgt"):
            lines = (" ".join(known[i] for i in ids) + "\n" for ids in table[f"{side}_ids"])
            (folder / f"{split}.{side}").write_text("".join(lines), "utf-8")
    own = known[4:]  # the peers bring the special ones, under their own names
    joeynmt = ["<unk>", "<pad>", "<s>", "</s>", *own]
    (folder / "vocabulary.joeynmt").write_text("".join(f"{name}\n" for name in joeynmt), "utf-8")
    (folder / "vocabulary.opennmt").write_text("".join(f"{name}\t1\n" for name in own), "utf-8")


def names(tokenizer: Tokenizer) -> list[str]:
    """Every piece, spelled without white space, which the peers would cut at: U+00A0 becomes <u00a0>."""
    pieces = tokenizer.pieces(range(tokenizer.vocab_size))
    return [re.sub(r"\s", lambda space: f"<u{ord(space[0]):04x}>", piece) for piece in pieces]
