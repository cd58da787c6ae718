"""A corpus in pieces, as a user of a peer makes it: SentencePiece's own training, then pieces with spaces between.

    python -m bench.peers.pieces KEY VOCAB_SIZE FOLDER TRAIN.src TRAIN.tgt DEV.src DEV.tgt

Runs in the peer's environment, where nmt is not installed. KEY says for which peer the vocabulary is written.
"""

import sys
from pathlib import Path

import sentencepiece

SPECIAL = ["<unk>", "<pad>", "<s>", "</s>"]  # by their numbers


def main(key: str, vocab_size: str, folder: str, *files: str) -> None:
    """One model for both sides, FOLDER/{train,dev}.{src,tgt} and FOLDER/vocabulary."""
    model = Path(folder, "pieces")
    sentencepiece.SentencePieceTrainer.train(
        input=",".join(files[:2]), model_prefix=str(model), vocab_size=int(vocab_size), character_coverage=1.0,
        unk_id=0, pad_id=1, bos_id=2, eos_id=3, minloglevel=2,
    )  # fmt: skip
    processor = sentencepiece.SentencePieceProcessor(model_file=f"{model}.model")
    for file, name in zip(files, ("train.src", "train.tgt", "dev.src", "dev.tgt"), strict=True):
        lines = Path(file).read_text("utf-8").splitlines()
        pieces = processor.encode(lines, out_type=str)
        Path(folder, name).write_text("".join(" ".join(line) + "\n" for line in pieces), "utf-8")
    own = [processor.id_to_piece(number) for number in range(len(SPECIAL), processor.vocab_size())]
    lines = [*SPECIAL, *own] if key == "joeynmt" else [f"{piece}\t1" for piece in own]  # OpenNMT-py brings its own
    Path(folder, "vocabulary").write_text("".join(f"{line}\n" for line in lines), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
