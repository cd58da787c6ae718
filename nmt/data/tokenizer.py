"""Turns text into token ids and back with SentencePiece models: loads them, applies them and samples from them.

Text that spells `</s>`, `<0x41>` or `▁` is only text: SentencePiece never reads control pieces from it. `▁`,
SentencePiece's mark for a space, becomes ESCAPE and 1, and ESCAPE becomes ESCAPE and 0; `decode` turns both back.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import sentencepiece

from nmt.errors import CheckpointError, ConfigError

PAD, UNK, BOS, EOS = range(4)
MARK = "▁"
ESCAPE = "\U0010f581"  # private use

_ESCAPED = re.compile(f"[{MARK}{ESCAPE}]")
_ESCAPES = re.compile(f"{ESCAPE}([01])")
_sampling = threading.Lock()

sentencepiece.set_min_log_level(3)


class Tokenizer:
    """A SentencePiece model with pad 0, unk 1, bos 2, eos 3. Texts come from `nmt.data.text.Cleaning`."""

    def __init__(self, blob: bytes, name: str) -> None:
        """Errors call the model `name`."""
        self._model = sentencepiece.SentencePieceProcessor()
        try:
            self._model.LoadFromSerializedProto(blob)
        except RuntimeError as error:
            raise CheckpointError(f"{name} is not a SentencePiece model; restore the file or train again") from error
        ids = tuple(getattr(self._model, f"{piece}_id")() for piece in ("pad", "unk", "bos", "eos"))
        if ids != (PAD, UNK, BOS, EOS):
            raise CheckpointError(
                f"{name} has pad, unk, bos, eos at {', '.join(map(str, ids))}, not 0 to 3; train it with nmt"
            )
        self.bytes = blob

    @classmethod
    def from_bytes(cls, blob: bytes) -> Tokenizer:
        """The model in `blob`, the content of its file."""
        return cls(blob, "the tokenizer")

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        """The model of a file."""
        try:
            blob = path.read_bytes()
        except OSError as error:
            raise CheckpointError(f"tokenizer {path} cannot be read: {error.strerror}; check the folder") from error
        return cls(blob, f"tokenizer {path}")

    @property
    def vocab_size(self) -> int:
        return int(self._model.get_piece_size())

    def encode(self, text: str) -> list[int]:
        """The likeliest pieces, without bos and eos."""
        return list(self._model.encode(_escape(text), out_type=int))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The likeliest pieces of each text."""
        if len(texts) == 1:  # a batch starts threads, which wait for the threads of torch
            return [self.encode(texts[0])]
        return list(self._model.encode([_escape(text) for text in texts], out_type=int))

    @cached_property
    def has_choices(self) -> bool:
        """Can a text have several segmentations? Not with char or word models, and SentencePiece does not report it."""
        from sentencepiece import sentencepiece_model_pb2

        spec = sentencepiece_model_pb2.ModelProto.FromString(self.bytes).trainer_spec
        return spec.model_type in (spec.UNIGRAM, spec.BPE)

    def frequencies(self) -> list[float]:
        """The share of each piece in the training text, if all pieces are single characters; 1 for other pieces.

        SentencePiece stores the logarithm of a character's share as its score. Pieces that it did not count have 0.
        """
        model, ids = self._model, range(self.vocab_size)
        spelled = (i for i in ids if not (model.is_byte(i) or model.is_control(i) or model.is_unknown(i)))
        if any(len(model.id_to_piece(i)) > 1 for i in spelled):
            return [1.0] * len(ids)
        return [math.exp(score) if (score := model.get_score(i)) < 0 else 0.0 for i in ids]

    def sample_batch(self, texts: Sequence[str], alpha: float, seed: int) -> list[list[int]]:
        """A segmentation of each text, drawn at random; the same seed gives the same segmentations.

        unigram: drawn from all segmentations, with probability ∝ p^alpha. bpe: each merge is left out with probability
        alpha. Other models raise ConfigError.
        """
        if not self.has_choices:
            raise ConfigError(
                f"tokenizer.sampling_alpha={alpha} is set, but this tokenizer has one segmentation only; set it to null"
            )
        escaped = [_escape(text) for text in texts]
        drawn: list[list[int]] = []

        def draw() -> None:
            options = {"enable_sampling": True, "nbest_size": -1, "alpha": alpha, "num_threads": 1}
            drawn.extend(self._model.encode(escaped, out_type=int, **options))

        with _sampling:  # a thread's generator takes its seed when first used, so a new thread draws
            sentencepiece.set_random_generator_seed(seed % (2**32 - 1))  # 2**32 - 1 would mean a random seed
            thread = threading.Thread(target=draw)
            thread.start()
            thread.join()
        return drawn

    def decode(self, ids: Sequence[int]) -> str:
        """The text of pieces: special pieces vanish, unk becomes ⁇, bytes that are not UTF-8 become U+FFFD."""
        text = str(self._model.decode([int(i) for i in ids])).replace(MARK, " ").strip(" ")
        return _ESCAPES.sub(lambda match: MARK if match[1] == "1" else ESCAPE, text) if ESCAPE in text else text

    def spelled(self, ids: Sequence[int]) -> int:
        """How many of these pieces are unknown, or are one byte of a character that has no piece."""
        return sum(self._model.is_unknown(int(i)) or self._model.is_byte(int(i)) for i in ids)

    def surfaces(self) -> list[bytes]:
        """The spelling of each piece, as UTF-8 with ▁ for a space; empty for unk, control and unused pieces."""
        model, spelled = self._model, []
        for piece in range(self.vocab_size):
            text = str(model.id_to_piece(piece))
            silent = model.is_unknown(piece) or model.is_control(piece) or model.is_unused(piece)
            byte = bytes([int(text[1:-1], 16)]) if model.is_byte(piece) else text.encode()
            spelled.append(b"" if silent else byte)
        return spelled

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The pieces as SentencePiece spells them: `▁` begins a word, `<0x41>` is a byte."""
        return [str(self._model.id_to_piece(int(i))) for i in ids]


def _escape(text: str) -> str:
    if MARK not in text and ESCAPE not in text:
        return text
    return _ESCAPED.sub(lambda match: ESCAPE + ("1" if match[0] == MARK else "0"), text)


@dataclass(frozen=True)
class TokenizerPair:
    """The tokenizers of both sides: the same object twice when they share one vocabulary."""

    src: Tokenizer
    tgt: Tokenizer
