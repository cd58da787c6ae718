"""Text in, text out: a trained model for Python users and for every verb that translates."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from nmt.alignment import SPACE
from nmt.batching import BatchOrder, make_batch
from nmt.checkpoint import LoadedModel, load_model
from nmt.config import SearchConfig
from nmt.corpus import clean
from nmt.device import TranslationPrecision, choose_device, choose_dtype, choose_int8
from nmt.ensemble import Ensemble
from nmt.errors import ConfigError, DataError
from nmt.hypotheses import Hypothesis
from nmt.int8 import with_int8_decoder
from nmt.interfaces import Batch
from nmt.schema import read_section
from nmt.search import StepModel, batch_size, search
from nmt.seq2seq import Seq2Seq
from nmt.shortlist import Shortlist, Shortlisted, Use, read_shortlist
from nmt.translations import NOTHING, Candidate, Translation, joined
from nmt.workers import side_by_side

LONGEST = 1000  # source pieces searched at once; a longer line is translated in parts
SHARED = 4  # several batches are a multiple of this, so that 2 or 4 cores have as many each
FORCED_TOKENS = 2048  # of the longer side of pairs forced at once: their attention is held in memory


class Translator:
    """A model ready to translate. Loading one executes nothing from its folder."""

    def __init__(
        self,
        loaded: Sequence[LoadedModel],
        settings: SearchConfig,
        device: torch.device,
        dtype: torch.dtype,
        int8: bool,
        shortlist: Shortlist | None,
    ) -> None:
        first = loaded[0]
        self.config = first.config
        self.checksum = first.checksum
        self.tokenizers = first.tokenizers
        self.members = len(loaded)
        self.has_attention = any(each.config["attention"]["class"] is not None for each in loaded)  # where it looked
        self.settings = settings
        self.device = device
        self.dtype, self.int8 = dtype, int8
        models = [each.model.eval() for each in loaded]
        stepping = [with_int8_decoder(model) if int8 else model for model in models]  # weights have all digits yet
        self.model = as_one(models).to(device, dtype)
        self.step_model: StepModel[Any, Any] = as_one(stepping)
        self.shortlist = None if shortlist is None else shortlist.to(device)
        self.nfc: bool = first.config["data"]["nfc"]
        self.generator = torch.Generator(device).manual_seed(first.config["seed"])

    @classmethod
    def load(
        cls,
        folder: str | Path | Sequence[str | Path],
        settings: SearchConfig | None = None,
        trust: Sequence[str] = (),
        device: str = "auto",
        precision: TranslationPrecision = "auto",
        shortlist: Use = "auto",
    ) -> "Translator":
        """The best model of a run folder, or those of several, which then choose each token together (an ensemble).

        `settings` replace the search settings stored with it (with the first of several).
        `shortlist`: search over the run's shortlist: "auto" where it has one that fits, True (must be there), False.
        """
        folders = [Path(each) for each in ([folder] if isinstance(folder, str | Path) else folder)]
        loaded = load_together(folders, trust)
        chosen = choose_device(device)  # type: ignore[arg-type]  # checked inside
        stored = read_section(SearchConfig, loaded[0].config["search"], "search")
        if len(folders) > 1 and shortlist is True:
            raise ConfigError("shortlist=true, but several models have none together; leave it out, or name one model")
        listed = read_shortlist(folders[0], loaded[0], shortlist) if len(folders) == 1 else None
        dtype, int8 = choose_dtype("auto" if precision == "int8" else precision, chosen), choose_int8(precision, chosen)
        return cls(loaded, settings or stored, chosen, dtype, int8, listed)

    @property
    def precision(self) -> str:
        """In which numbers it computes, for people."""
        return ("bf16" if self.dtype == torch.bfloat16 else "fp32") + (", int8 decoder" if self.int8 else "")

    def translate(
        self, sentences: Sequence[str], attention: bool = False, settings: SearchConfig | None = None
    ) -> list[Translation]:
        """A translation of every sentence, in order; an empty sentence has an empty one."""
        if isinstance(sentences, str):
            raise TypeError('translate takes a list of sentences: translate(["A sentence."])')
        ids = self.tokenizers.src.encode_batch([clean(sentence, self.nfc) for sentence in sentences])
        spans = [(row, *span) for row, pieces in enumerate(ids) for span in self.spans(pieces)]
        parts = [ids[row][start:end] for row, start, end in spans]
        chosen = settings or self.settings
        order = sorted(range(len(parts)), key=lambda part: len(parts[part]), reverse=True)  # what takes longest first
        batches = even_batches(order, batch_size(chosen))
        done: dict[int, Translation] = {}
        for batch, translations in zip(batches, self.searched(parts, batches, attention, chosen), strict=True):
            done.update(zip(batch, translations, strict=True))
        found: list[list[Translation]] = [[] for _ in sentences]
        for part, (row, _, _) in enumerate(spans):
            found[row].append(done[part])
        return [joined(sentence, own) for sentence, own in zip(sentences, found, strict=True)]

    def searched(
        self, parts: list[list[int]], batches: list[list[int]], attention: bool, settings: SearchConfig
    ) -> Iterator[list[Translation]]:
        """Translations of batches of parts; drawn ones one batch after another, so that they can be drawn again."""

        def work(batch: list[int]) -> list[Translation]:
            return self.batch([parts[part] for part in batch], attention, settings)

        return map(work, batches) if settings.sample else side_by_side(work, batches, self.device)

    def spans(self, ids: list[int]) -> Iterator[tuple[int, int]]:
        """Where the parts of a line begin and end: the line whole, unless it is longer than a search can bear.

        A part ends after a sentence where it can, else after a word.
        """
        start = 0
        pieces = self.tokenizers.src.pieces(ids) if len(ids) > LONGEST else []
        while len(ids) - start > LONGEST:
            window = range(start + LONGEST, start, -1)
            word = (end for end in window if pieces[end].startswith(SPACE))
            sentence = (
                end
                for end in window
                if pieces[end - 1].endswith(("。", "！", "？"))
                or (pieces[end - 1].endswith((".", "!", "?")) and pieces[end].startswith(SPACE))
            )
            end = next(sentence, None) or next(word, None) or start + LONGEST
            yield start, end
            start = end
        if ids:
            yield start, len(ids)

    def stream(
        self, lines: Iterable[str], buffer: int, attention: bool = False, settings: SearchConfig | None = None
    ) -> Iterator[Translation]:
        """One translation for every line, in order; `buffer` lines are read ahead and held in memory."""
        pending = iter(lines)
        while chunk := list(islice(pending, buffer)):
            yield from self.translate(chunk, attention, settings)

    def batch(self, ids: list[list[int]], attention: bool, settings: SearchConfig) -> list[Translation]:
        """Translations of these pieces, searched together; each has its source pieces for its source."""
        batch = make_batch(ids, [[] for _ in ids]).to(self.device)
        found = self.search(batch, settings)
        best = [hypotheses[0].tokens if hypotheses else [] for hypotheses in found]
        weights = self.forced(ids, best)[1] if attention else [None] * len(ids)
        return [
            Translation(
                "",
                [self.candidate(h) for h in hypotheses] or NOTHING,
                self.tokenizers.src.pieces(pieces),
                self.tokenizers.tgt.pieces(tokens),
                matrix,
            )
            for pieces, hypotheses, tokens, matrix in zip(ids, found, best, weights, strict=True)
        ]

    def search(self, batch: Batch, settings: SearchConfig) -> list[list[Hypothesis]]:
        """Hypotheses of each source, over the shortlist where there is one; samples are of the whole vocabulary."""
        if self.shortlist is None or settings.sample:
            return search(self.step_model, batch.src, batch.src_mask, settings, self.generator)
        assert isinstance(self.step_model, Seq2Seq)  # an ensemble has no shortlist
        listed = Shortlisted(self.step_model, self.shortlist, batch.src, batch.src_mask)
        found = search(listed, batch.src, batch.src_mask, settings, self.generator)
        return [[replace(h, tokens=listed.whole(h.tokens)) for h in hypotheses] for hypotheses in found]

    def force(self, sources: Sequence[str], targets: Sequence[str]) -> list[Translation]:
        """Each given target as if it were the translation, with its forced score and its attention."""
        src, tgt = self.encode_pairs(sources, targets)
        done: dict[int, Translation] = {}
        for rows in forced_batches(src, tgt):
            ids = [src[row] for row in rows], [tgt[row] for row in rows]
            for row, log_prob, weights in zip(rows, *self.forced(*ids), strict=True):
                candidate = Candidate(targets[row], log_prob, log_prob)
                pieces = self.tokenizers.src.pieces(src[row]), self.tokenizers.tgt.pieces(tgt[row])
                done[row] = Translation(sources[row], [candidate], *pieces, weights)
        return [done[row] for row in range(len(src))]

    def forced_scores(self, sources: Sequence[str], targets: Sequence[str]) -> list[float]:
        """Log-probability (nats, end of sentence included) of each given target under the model."""
        src, tgt = self.encode_pairs(sources, targets)
        scores = [0.0] * len(src)
        for rows in forced_batches(src, tgt):
            log_probs, _ = self.forced([src[row] for row in rows], [tgt[row] for row in rows])
            for row, log_prob in zip(rows, log_probs, strict=True):
                scores[row] = log_prob
        return scores

    def encode_pairs(self, sources: Sequence[str], targets: Sequence[str]) -> tuple[list[list[int]], list[list[int]]]:
        """The pieces of sources and targets that belong together."""
        if len(sources) != len(targets):
            raise DataError(f"{len(sources):,} sources but {len(targets):,} targets to score; give one for each")
        src = self.tokenizers.src.encode_batch([clean(text, self.nfc) for text in sources])
        tgt = self.tokenizers.tgt.encode_batch([clean(text, self.nfc) for text in targets])
        return src, tgt

    @torch.inference_mode()
    def forced(
        self, src_ids: list[list[int]], tgt_ids: list[list[int]]
    ) -> tuple[list[float], list[NDArray[np.float32] | None]]:
        """Log-probability of each target, and the attention [L, H, T, S] behind it (None for a model without).

        Row t of the attention chose piece t of the target; the end of both sentences is left out.
        """
        log_probs, found = self.model.forced(make_batch(src_ids, tgt_ids).to(self.device))
        weights: list[NDArray[np.float32] | None] = [None] * len(src_ids)
        if found.shape[1]:
            sizes = [(len(tgt), len(src)) for src, tgt in zip(src_ids, tgt_ids, strict=True)]
            rows = found.float().cpu().numpy()
            weights = [row[:, :, :T, :S] for row, (T, S) in zip(rows, sizes, strict=True)]
        return log_probs.sum(1).tolist(), weights

    def candidate(self, hypothesis: Hypothesis) -> Candidate:
        """A hypothesis as text, on one line whatever the model spells."""
        text = " ".join(self.tokenizers.tgt.decode(hypothesis.tokens).splitlines())
        return Candidate(text, hypothesis.score, hypothesis.log_prob)


def load_together(folders: Sequence[Path], trust: Sequence[str]) -> list[LoadedModel]:
    """The models of one or more run folders, all of which have the tokenizers of the first."""
    loaded = [load_model(folder, trust) for folder in folders]
    for folder, other in zip(folders[1:], loaded[1:], strict=True):
        for side in ("src", "tgt"):
            if getattr(other.tokenizers, side).bytes != getattr(loaded[0].tokenizers, side).bytes:
                raise ConfigError(
                    f"{folder} has another {side} tokenizer than {folders[0]}; models that choose each token together "
                    "need the same pieces: train them on the same corpus with the same tokenizer=…"
                )
    return loaded


def as_one(models: Sequence[Seq2Seq]) -> Seq2Seq | Ensemble:
    """The model itself, or an ensemble of several."""
    return models[0] if len(models) == 1 else Ensemble(models)


def even_batches(rows: list[int], most: int) -> list[list[int]]:
    """Rows in batches of at most `most`, all about as large; the same whatever the number of cores."""
    count = -(-len(rows) // most)
    if count > 1:
        count = min(len(rows), -(-count // SHARED) * SHARED)
    bounds = [number * len(rows) // count for number in range(count + 1)] if count else [0]
    return [rows[start:end] for start, end in pairwise(bounds)]


def forced_batches(src: Sequence[Sequence[int]], tgt: Sequence[Sequence[int]]) -> list[list[int]]:
    """Row numbers of pairs to force together, of similar lengths."""
    src_lengths, tgt_lengths = (np.array([len(ids) + 1 for ids in side], np.int32) for side in (src, tgt))
    order = BatchOrder(src_lengths, tgt_lengths, FORCED_TOKENS, seed=0)
    return [rows.tolist() for rows in order.cut(np.lexsort((src_lengths, tgt_lengths)))]


def load(folder: str | Path | Sequence[str | Path]) -> Translator:
    """The best model of a run folder, or of several together, ready to translate; `Translator.load` takes more."""
    return Translator.load(folder)


def with_n_best(settings: SearchConfig, n_best: int | None) -> SearchConfig:
    """Settings that return `n_best` translations, the beam as wide as that needs."""
    if n_best is None:
        return settings
    return replace(settings, n_best=n_best, beam=max(settings.beam, n_best))
