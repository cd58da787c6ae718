"""Text to numbers and back: SentencePiece models, trained, loaded, applied, sampled from.

Whatever a text spells, `</s>`, `<0x41>` or `▁`, is text: SentencePiece never reads control pieces from it,
and `▁`, its mark for a space, is written as two characters that come back as `▁` (as is the first of them).
"""

import io
import random
import re
import threading
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import sentencepiece

from nmt.config import TokenizerConfig
from nmt.errors import CheckpointError, ConfigError, DataError

PAD, UNK, BOS, EOS = range(4)
MARK = "▁"
ESCAPE = "\U0010f581"  # private use
MAX_SENTENCE_BYTES = 4192  # longer ones are not shown to SentencePiece in training
THREADS = 16  # part of the result: SentencePiece's sums depend on it, whatever the machine has

_ESCAPED = re.compile(f"[{MARK}{ESCAPE}]")
_ESCAPES = re.compile(f"{ESCAPE}([01])")
_sampling = threading.Lock()

sentencepiece.set_min_log_level(3)


class Tokenizer:
    """A SentencePiece model with pad 0, unk 1, bos 2, eos 3. Texts come from `nmt.corpus.clean`."""

    def __init__(self, blob: bytes, name: str) -> None:
        """`name` is what errors call the model."""
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
    def from_bytes(cls, blob: bytes) -> "Tokenizer":
        """The model whose file holds `blob`."""
        return cls(blob, "the tokenizer")

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
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
        if len(texts) == 1:  # a batch starts threads, which wait for those of torch
            return [self.encode(texts[0])]
        return list(self._model.encode([_escape(text) for text in texts], out_type=int))

    @cached_property
    def has_choices(self) -> bool:
        """Can a text be segmented in several ways? Not by characters or words, and SentencePiece does not say so."""
        from sentencepiece import sentencepiece_model_pb2

        spec = sentencepiece_model_pb2.ModelProto.FromString(self.bytes).trainer_spec
        return spec.model_type in (spec.UNIGRAM, spec.BPE)

    def sample_batch(self, texts: Sequence[str], alpha: float, seed: int) -> list[list[int]]:
        """Segmentations drawn at random, the same for the same seed.

        unigram: from all segmentations, with probability ∝ p^alpha; bpe: a merge is left out with probability
        alpha.
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

        with _sampling:  # a thread's generator is seeded when first used: hence a new thread
            sentencepiece.set_random_generator_seed(seed % (2**32 - 1))  # 2**32 - 1 would mean a random seed
            thread = threading.Thread(target=draw)
            thread.start()
            thread.join()
        return drawn

    def decode(self, ids: Sequence[int]) -> str:
        """The text of pieces; special ones vanish, unk is ⁇, bytes that are not UTF-8 are U+FFFD."""
        text = str(self._model.decode([int(i) for i in ids])).replace(MARK, " ").strip(" ")
        return _ESCAPES.sub(lambda match: MARK if match[1] == "1" else ESCAPE, text) if ESCAPE in text else text

    def spelled(self, ids: Sequence[int]) -> int:
        """How many of these pieces are unknown, or one byte of a character that has no piece."""
        return sum(self._model.is_unknown(int(i)) or self._model.is_byte(int(i)) for i in ids)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The pieces as SentencePiece spells them: `▁` begins a word, `<0x41>` is a byte."""
        return [str(self._model.id_to_piece(int(i))) for i in ids]


def check_tokenizer(cfg: TokenizerConfig) -> None:
    """Refuse values that no corpus could make work."""
    smallest = 4 + 256 * cfg.byte_fallback + 1
    if cfg.vocab_size < smallest:
        raise ConfigError(
            f"tokenizer.vocab_size={cfg.vocab_size} is too small: special pieces"
            f"{' and bytes' if cfg.byte_fallback else ''} alone need {smallest - 1}; set at least {smallest}"
        )
    if not 0 < cfg.character_coverage <= 1:
        raise ConfigError(
            f"tokenizer.character_coverage={cfg.character_coverage} is not a share; set it above 0, at most 1"
        )
    if cfg.max_sentences < 1:
        raise ConfigError(f"tokenizer.max_sentences={cfg.max_sentences} leaves nothing to train on; set at least 1")
    if cfg.sampling_alpha is None:
        return
    if cfg.model in ("char", "word"):
        raise ConfigError(
            f"tokenizer.sampling_alpha={cfg.sampling_alpha} is set, but tokenizer.model={cfg.model} has one"
            " segmentation only; set it to null"
        )
    if cfg.sampling_alpha <= 0 or (cfg.model == "bpe" and cfg.sampling_alpha >= 1):
        raise ConfigError(
            f"tokenizer.sampling_alpha={cfg.sampling_alpha} is out of range; set null (off) or above 0"
            f"{' and below 1' if cfg.model == 'bpe' else ''}"
        )


def train_tokenizer(sentences: Iterable[str], cfg: TokenizerConfig, seed: int, report: list[str]) -> Tokenizer:
    """A model of these sentences, the same bytes for the same ones; adds a line for people to `report`."""
    check_tokenizer(cfg)
    shown, skipped = _choose(sentences, cfg.max_sentences, seed)
    if not any(sentence.strip() for sentence in shown):
        raise DataError(f"no sentence to train a tokenizer on ({skipped:,} too long); check the training split")
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(shown),
            model_writer=model,
            model_type=cfg.model,
            vocab_size=cfg.vocab_size,
            character_coverage=cfg.character_coverage,
            byte_fallback=cfg.byte_fallback,
            normalization_rule_name=cfg.normalization,
            add_dummy_prefix=True,
            remove_extra_whitespaces=True,
            max_sentence_length=MAX_SENTENCE_BYTES,
            num_threads=THREADS,
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
            minloglevel=3,
        )
    except RuntimeError as error:
        raise _explain(str(error), cfg) from error
    tokenizer = Tokenizer.from_bytes(model.getvalue())
    long = f", {skipped:,} longer than {MAX_SENTENCE_BYTES:,} bytes skipped" if skipped else ""
    report.append(f"{cfg.model}, {tokenizer.vocab_size:,} pieces, trained on {len(shown):,} sentences{long}")
    return tokenizer


def _choose(sentences: Iterable[str], count: int, seed: int) -> tuple[list[str], int]:
    """At most `count` sentences, chosen at random, escaped; and how many were too long."""
    rng = random.Random(seed)
    chosen: list[str] = []
    skipped = 0
    for number, sentence in enumerate(_escape(text) for text in sentences):
        if len(sentence.encode()) > MAX_SENTENCE_BYTES:
            skipped += 1
        elif len(chosen) < count:
            chosen.append(sentence)
        elif (place := rng.randrange(number - skipped + 1)) < count:
            chosen[place] = sentence
    return chosen, skipped


def _explain(message: str, cfg: TokenizerConfig) -> ConfigError:
    if most := re.search(r"Please set it to a value <= (\d+)", message):
        return ConfigError(
            f"tokenizer.vocab_size={cfg.vocab_size} is too large for this corpus and model {cfg.model};"
            f" set it to at most {most[1]}"
        )
    if least := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return ConfigError(
            f"tokenizer.vocab_size={cfg.vocab_size} is too small for the characters of this corpus;"
            f" set it to at least {least[1]}, or lower tokenizer.character_coverage"
        )
    return ConfigError(f"SentencePiece cannot train this tokenizer: {message.strip()[:300]}; check tokenizer.*")


def _escape(text: str) -> str:
    if MARK not in text and ESCAPE not in text:
        return text
    return _ESCAPED.sub(lambda match: ESCAPE + ("1" if match[0] == MARK else "0"), text)
