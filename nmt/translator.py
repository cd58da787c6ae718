"""Text in, text out: a trained model for Python users and for every verb that translates."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from nmt.alignment import align, word_attention
from nmt.batching import make_batch
from nmt.checkpoint import LoadedModel, load_model
from nmt.config import SearchConfig
from nmt.corpus import clean
from nmt.device import Precision, choose_device, choose_dtype
from nmt.hypotheses import Hypothesis
from nmt.schema import read_section
from nmt.search import search

LONGEST = 1000  # source pieces that are read of one sentence


@dataclass(frozen=True)
class Candidate:
    """One translation of a sentence."""

    text: str
    score: float  # after length and coverage penalties: what the search ranks by
    log_prob: float  # nats, end of sentence included


@dataclass(frozen=True)
class Translation:
    """A sentence's translations, the best first, and the attention behind the best."""

    source: str
    n_best: list[Candidate]
    src_pieces: list[str]
    tgt_pieces: list[str]
    attention: NDArray[np.float32] | None  # [T, S] pieces, mean of layers and heads; None = not asked for, or none

    @property
    def text(self) -> str:
        """The best translation."""
        return self.n_best[0].text

    @property
    def score(self) -> float:
        """The best translation's score."""
        return self.n_best[0].score

    @property
    def alignment(self) -> list[tuple[int, int]]:
        """Links (source word, target word), from 0: where each target word's attention is highest."""
        if self.attention is None:
            return []
        return align(word_attention(self.attention, self.src_pieces, self.tgt_pieces)[0])


class Translator:
    """A model ready to translate. Loading one executes nothing from its folder."""

    def __init__(self, loaded: LoadedModel, settings: SearchConfig, device: torch.device, dtype: torch.dtype) -> None:
        self.config = loaded.config
        self.tokenizers = loaded.tokenizers
        self.settings = settings
        self.device = device
        self.model = loaded.model.to(device, dtype).eval()
        self.nfc: bool = loaded.config["data"]["nfc"]
        self.generator = torch.Generator(device).manual_seed(loaded.config["seed"])

    @classmethod
    def load(
        cls,
        folder: str | Path,
        settings: SearchConfig | None = None,
        trust: Sequence[str] = (),
        device: str = "auto",
        precision: Precision = "auto",
    ) -> "Translator":
        """The best model of a run folder; `settings` replace the search settings stored with it."""
        loaded = load_model(Path(folder), trust)
        chosen = choose_device(device)  # type: ignore[arg-type]  # checked inside
        stored = read_section(SearchConfig, loaded.config["search"], "search")
        return cls(loaded, settings or stored, chosen, choose_dtype(precision, chosen))

    def translate(
        self, sentences: Sequence[str], attention: bool = False, settings: SearchConfig | None = None
    ) -> list[Translation]:
        """A translation of every sentence, in order; an empty sentence has an empty one."""
        texts = [clean(sentence, self.nfc) for sentence in sentences]
        ids = self.tokenizers.src.encode_batch(texts)
        for number, pieces in enumerate(ids):
            if len(pieces) > LONGEST:
                print(
                    f"warning: sentence {number + 1} has {len(pieces):,} pieces; only the first {LONGEST:,} are "
                    f"translated: {texts[number][:40]}…",
                    file=sys.stderr,
                )
        ids = [pieces[:LONGEST] for pieces in ids]
        found: list[Translation] = [self.nothing(sentence) for sentence in sentences]
        chosen = settings or self.settings
        order = sorted((i for i, pieces in enumerate(ids) if pieces), key=lambda i: len(ids[i]))
        for start in range(0, len(order), chosen.batch_sentences):
            rows = order[start : start + chosen.batch_sentences]
            for row, translation in zip(rows, self.batch(sentences, ids, rows, attention, chosen), strict=True):
                found[row] = translation
        return found

    def stream(
        self, lines: Iterable[str], buffer: int, attention: bool = False, settings: SearchConfig | None = None
    ) -> Iterator[Translation]:
        """One translation for every line, in order; `buffer` lines are read ahead and held in memory."""
        pending = iter(lines)
        while chunk := list(islice(pending, buffer)):
            yield from self.translate(chunk, attention, settings)

    def batch(
        self, sentences: Sequence[str], ids: list[list[int]], rows: list[int], attention: bool, settings: SearchConfig
    ) -> list[Translation]:
        """Translations of these rows, searched together."""
        batch = make_batch([ids[row] for row in rows], [[] for _ in rows]).to(self.device)
        found = search(self.model, batch.src, batch.src_mask, settings, self.generator)
        best = [hypotheses[0].tokens if hypotheses else [] for hypotheses in found]
        weights = self.attention([ids[row] for row in rows], best) if attention else [None] * len(rows)
        return [
            Translation(
                sentences[row],
                [self.candidate(h) for h in hypotheses] or self.nothing("").n_best,
                self.tokenizers.src.pieces(ids[row]),
                self.tokenizers.tgt.pieces(tokens),
                matrix,
            )
            for row, hypotheses, tokens, matrix in zip(rows, found, best, weights, strict=True)
        ]

    @torch.inference_mode()
    def attention(self, src_ids: list[list[int]], tgt_ids: list[list[int]]) -> list[NDArray[np.float32] | None]:
        """Attention [T, S] of each pair, pieces alone (no end of sentence); None for a model that has none."""
        _, weights = self.model.forced(make_batch(src_ids, tgt_ids).to(self.device))
        if weights.shape[1] == 0:
            return [None] * len(src_ids)
        means = weights.float().mean((1, 2)).cpu().numpy()
        return [means[row, : len(tgt), : len(src)] for row, (src, tgt) in enumerate(zip(src_ids, tgt_ids, strict=True))]

    @torch.inference_mode()
    def forced_scores(self, sources: Sequence[str], targets: Sequence[str]) -> list[float]:
        """Log-probability (nats, end of sentence included) of each given target under the model."""
        src, tgt = (
            tokenizer.encode_batch([clean(text, self.nfc) for text in texts])
            for tokenizer, texts in ((self.tokenizers.src, sources), (self.tokenizers.tgt, targets))
        )
        scores: list[float] = []
        for start in range(0, len(src), self.settings.batch_sentences):
            part = slice(start, start + self.settings.batch_sentences)
            log_probs, _ = self.model.forced(make_batch(src[part], tgt[part]).to(self.device))
            scores += log_probs.sum(1).tolist()
        return scores

    def candidate(self, hypothesis: Hypothesis) -> Candidate:
        """A hypothesis as text, on one line whatever the model spells."""
        text = " ".join(self.tokenizers.tgt.decode(hypothesis.tokens).splitlines())
        return Candidate(text, hypothesis.score, hypothesis.log_prob)

    def nothing(self, sentence: str) -> Translation:
        """The translation of a line without any text."""
        return Translation(sentence, [Candidate("", 0.0, 0.0)], [], [], None)


def load(folder: str | Path) -> Translator:
    """The best model of a run folder, ready to translate."""
    return Translator.load(folder)


def with_n_best(settings: SearchConfig, n_best: int | None) -> SearchConfig:
    """Settings that return `n_best` translations, the beam as wide as that needs."""
    if n_best is None:
        return settings
    return replace(settings, n_best=n_best, beam=max(settings.beam, n_best))
