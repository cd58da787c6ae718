"""Text in, text out: a trained model for Python users and for every verb that translates."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from nmt.config.sections import SearchConfig
from nmt.data.batch import Batch, make_batch
from nmt.data.batching import even_batches, forced_batches
from nmt.data.text import Cleaning, one_line
from nmt.data.tokenizer import MARK, UNK
from nmt.errors import CheckpointError, ConfigError, DataError, NmtError, counted
from nmt.machine.device import (
    Precision,
    TranslationPrecision,
    choose_device,
    choose_dtype,
    choose_int8,
    keep_bf16_weights_packed,
)
from nmt.machine.progress_bar import progress_bar
from nmt.machine.seeds import derived_seed
from nmt.machine.threads import Workers, workers_on
from nmt.model.seq2seq import Seq2Seq
from nmt.runs.folder import LoadedModel, load_model, refuse_other_pieces
from nmt.runs.shortlist_file import Use, read_shortlist
from nmt.search.beam import StepModel, batch_size, search
from nmt.search.ensemble import Ensemble
from nmt.search.hypotheses import Hypothesis
from nmt.search.int8 import with_int8_decoder
from nmt.search.prefix import Prefix, Prefixes, Spelling
from nmt.search.shortlist import Shortlist, Shortlisted
from nmt.search.steering import UNSTEERED, Steering
from nmt.translation.long_lines import LONGEST_PART, Line, LongLines, read_lines_in_parts
from nmt.translation.notes import Notes
from nmt.translation.sentences import Sentences, cut_line
from nmt.translation.translations import Candidate, Translation, distinct, joined, joined_sentences

CHUNK_SENTENCES = 1024  # sentences translated between two updates of the progress bar


Attention = bool | Literal["words"]  # "words": word links alone, which take little memory

READ_AHEAD = 1 << 22  # characters of lines read ahead, plus at most one line
Forced = tuple[list[float], list[NDArray[np.float32] | None]]  # log-probability and attention of each pair

LONGEST_FORCED = 5000  # the most pieces of either side of a given pair


class Translator:
    """A model ready to translate. Loading one executes nothing from its folder."""

    def __init__(
        self,
        name: str,
        loaded: Sequence[LoadedModel],
        settings: SearchConfig,
        device: torch.device,
        dtype: torch.dtype,
        int8: bool,
        shortlist: Shortlist | None,
        long_lines: LongLines,
        sentences: Sentences,
        seed: int | None,
        workers: Workers,
    ) -> None:
        """`name` is what errors call the model."""
        first = loaded[0]
        self.name = name
        self.config = first.config
        self.checksum = first.checksum
        self.checksums = [each.checksum for each in loaded]
        self.tokenizers = first.tokenizers
        self.members = len(loaded)
        self.has_attention = any(each.config.attention.part is not None for each in loaded)  # in any member
        self.settings = settings
        self.device = device
        self.dtype, self.int8 = dtype, int8
        keep_bf16_weights_packed()
        models = [each.model.eval() for each in loaded]
        stepping = [with_int8_decoder(model) if int8 else model for model in models]  # before weights are rounded
        self.model = as_one(models).to(device, dtype)
        self.step_model: StepModel[Any, Any] = as_one(stepping)
        self.shortlist = None if shortlist is None else shortlist.to(device)
        self.long_lines: LongLines = long_lines
        self.at_once = {"auto": first.usual_sentences, "split": 1, "keep": None}[sentences]  # sentences at a time
        self.cleaning = Cleaning.of(first.config.data)
        self.letter_case = first.letter_case
        self.seed = first.config.seed if seed is None else seed  # for sampling
        self.workers = workers
        self.begin_text("")

    @classmethod
    def load(
        cls,
        folder: str | Path | Sequence[str | Path],
        settings: SearchConfig | None = None,
        trust: Sequence[str] = (),
        device: str = "auto",
        precision: TranslationPrecision = "auto",
        shortlist: Use = "auto",
        long_lines: LongLines = "split",
        sentences: Sentences = "auto",
        seed: int | None = None,
        workers: int | None = None,
    ) -> "Translator":
        """The best model of a run folder, or of several; several models choose each token together (an ensemble).

        `settings` replace the search settings that are stored with the model (with the first of several).
        `trust` names your own packages that parts of the model may come from.
        `shortlist`: search over the run's shortlist? "auto" (if it has one that fits), True (it must have one), False.
        `long_lines`: text that is too long for one search is searched in parts ("split") or cut off ("truncate").
        `sentences` of a line are translated one by one ("split"), together ("keep"), or as many together as the
        training lines usually had ("auto").
        `seed` decides what sampling draws; None: the seed of the run.
        `workers`: threads that search side by side, one batch each; None: as many as torch has threads.
        """
        folders = [Path(each) for each in ([folder] if isinstance(folder, str | Path) else folder)]
        loaded = load_together(folders, trust)
        chosen = choose_device(device)  # type: ignore[arg-type]  # checked inside
        if len(folders) > 1 and shortlist is True:
            raise ConfigError(
                "shortlist=true, but several models have no common shortlist; leave it out, or name one model"
            )
        listed = read_shortlist(folders[0], loaded[0], shortlist) if len(folders) == 1 else None
        factors: Precision = "fp32" if precision == "fp32" else "bf16" if precision == "bf16" else "auto"
        dtype, int8 = choose_dtype(factors, chosen), choose_int8(precision, chosen)
        name = ", ".join(map(str, folders))
        own = settings or loaded[0].config.search
        used = workers_on(chosen, workers)
        return cls(name, loaded, own, chosen, dtype, int8, listed, long_lines, sentences, seed, used)

    @property
    def parameters(self) -> int:
        """The number of parameters."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    @property
    def precision(self) -> str:
        """The precision of products, as text: "fp32" or "bf16", plus ", int8 decoder" for an 8-bit decoder."""
        return ("bf16" if self.dtype == torch.bfloat16 else "fp32") + (", int8 decoder" if self.int8 else "")

    def translate(
        self,
        lines: Sequence[str],
        attention: Attention = False,
        settings: SearchConfig | None = None,
        prefixes: Sequence[str | None] | None = None,
    ) -> list[Translation]:
        """One translation for each line, in order; an empty line has an empty translation.

        White space between sentences, including line ends, is copied from the source if the target's script uses any.
        `attention`: True keeps the attention, "words" only word links, which take little memory.
        `settings` replace the translator's own for this call.
        `prefixes`: the beginning of each translation (None: any). If a prefix ends in a space, its last word is whole;
        otherwise the word may go on. The sentences of a line with a prefix are translated together.
        """
        if isinstance(lines, str):
            raise TypeError('translate takes a list of sentences: translate(["A sentence."])')
        if prefixes is not None and len(prefixes) != len(lines):
            raise DataError(
                f"{counted(len(lines), 'source')} but prefixes for {len(prefixes):,}; give one for each, or None"
            )
        begins = [None] * len(lines) if prefixes is None else prefixes
        cuts = [
            cut_line(line, None if self.cleaning.target(begin or "") else self.at_once)
            for line, begin in zip(lines, begins, strict=True)
        ]
        texts = [self.as_read(text) for cut in cuts for text in cut.texts]
        read = read_lines_in_parts(texts, self.tokenizers.src, self.long_lines)
        begun = self.prefixes_of_parts(
            [begin for begin, cut in zip(begins, cuts, strict=True) for _ in cut.texts], read
        )
        following = iter(read)
        in_parts = [[next(following) for _ in cut.texts] for cut in cuts]
        parts = [part for line in in_parts for text in line for part in text.parts]
        lengths = [sum(len(part) for text in line for part in text.parts) for line in in_parts]
        kept = [
            attention is True and length <= LONGEST_PART
            for length, line in zip(lengths, in_parts, strict=True)
            for text in line
            for _ in text.parts
        ]

        def work(batch: list[int]) -> list[Translation]:
            given = [begun[part] for part in batch]
            steering = Steering(Prefixes(given)) if any(given) else UNSTEERED
            own = None if seeds is None else [seeds[part] for part in batch]
            found = self.batch([parts[part] for part in batch], attention is not False, chosen, steering, own)
            return [each if kept[part] else each.without_attention() for part, each in zip(batch, found, strict=True)]

        chosen = settings or self.settings
        counts = [sum(len(text.parts) for text in line) for line in in_parts]
        seeds = self.seeds_of_next(counts) if chosen.sample else None
        with_prefix = [part for part, prefix in enumerate(begun) if prefix is not None]
        others = [part for part, prefix in enumerate(begun) if prefix is None]
        done = self.side_by_side(work, parts, with_prefix, chosen) | self.side_by_side(work, parts, others, chosen)
        in_order = (done[part] for part in range(len(parts)))
        whole = []
        for line, cut, found in zip(lines, cuts, in_parts, strict=True):
            pairs = zip(cut.texts, found, strict=True)
            sentences = [joined(text, [next(in_order) for _ in own.parts], own.dropped) for text, own in pairs]
            whole.append(joined_sentences(line, sentences, cut.gaps))
        return whole

    def side_by_side(
        self,
        work: Callable[[list[int]], list[Translation]],
        parts: Sequence[list[int]],
        chosen: Sequence[int],
        settings: SearchConfig,
    ) -> dict[int, Translation]:
        """The translations of the chosen parts, by number: workers call `work` on batches of similar lengths."""
        numbers = even_batches([len(parts[part]) for part in chosen], batch_size(settings))
        batches = [[chosen[number] for number in batch] for batch in numbers]
        done: dict[int, Translation] = {}
        for batch, translations in zip(batches, self.workers.each(work, batches), strict=True):
            done.update(zip(batch, translations, strict=True))
        return done

    def begin_text(self, name: str) -> None:
        """The next line is the first of a text of this name; see `seeds_of_next`."""
        self.text_name, self.lines_drawn = os.fsencode(name), 0

    def seeds_of_next(self, counts: Sequence[int]) -> list[int]:
        """What decides the samples of the next lines: a seed for each part of a line; `counts`: the parts of each line.

        They follow from the translator's seed, the name of the text and the numbers of line and part alone.
        """
        seeds = []
        for count in counts:
            self.lines_drawn += 1
            place = (*self.text_name, self.lines_drawn)
            seeds += [derived_seed(self.seed, "samples of a file", *place, part) for part in range(count)]
        return seeds

    def stream(
        self,
        lines: Iterable[str],
        buffer: int,
        attention: Attention = False,
        settings: SearchConfig | None = None,
        prefixes: Iterable[str | None] | None = None,
    ) -> Iterator[Translation]:
        """One translation for every line, in order; at most `buffer` lines are read ahead and held in memory.

        `prefixes`: the beginnings of the translations, as in `translate`, one for each line.
        """
        chunk: list[str] = []
        begun: list[str | None] = []
        room = READ_AHEAD
        for line, prefix in zip(lines, repeat(None) if prefixes is None else prefixes, strict=prefixes is not None):
            chunk.append(line)
            begun.append(prefix)
            room -= len(line)
            if len(chunk) == buffer or room <= 0:
                yield from self.translate(chunk, attention, settings, None if prefixes is None else begun)
                chunk, begun, room = [], [], READ_AHEAD
        if chunk:
            yield from self.translate(chunk, attention, settings, None if prefixes is None else begun)

    def batch(
        self,
        ids: list[list[int]],
        attention: bool,
        settings: SearchConfig,
        steering: Steering = UNSTEERED,
        seeds: Sequence[int] | None = None,
    ) -> list[Translation]:
        """Translations of these pieces, searched together; they have source pieces, but no source text.

        `seeds` decide what sampling draws for each; None: each counts as a line, see `seeds_of_next`.
        """
        found = self.batch_or_none(ids, attention, settings, steering, seeds)
        done = [translation for translation in found if translation is not None]
        if len(done) < len(ids):
            raise not_found(self, None if steering.prefixes is None else steering.prefixes.each[found.index(None)])
        return done

    def batch_or_none(
        self,
        ids: list[list[int]],
        attention: bool,
        settings: SearchConfig,
        steering: Steering,
        seeds: Sequence[int] | None = None,
    ) -> list[Translation | None]:
        """Like `batch`; None for a sentence that was gone before a translation was found."""
        batch = make_batch(ids, [[] for _ in ids]).to(self.device)
        found = self.search(batch, settings, steering, seeds)
        there = [row for row, hypotheses in enumerate(found) if hypotheses]
        best = {row: found[row][0].tokens for row in there}
        weights: dict[int, NDArray[np.float32] | None] = dict.fromkeys(there)
        if attention and there:
            weights = dict(zip(there, self.attention([ids[row] for row in there], list(best.values())), strict=True))
        return [
            Translation(
                "",
                self.candidates(hypotheses, settings),
                self.tokenizers.src.pieces(pieces),
                self.tokenizers.tgt.pieces(best[row]),
                weights[row],
            )
            if hypotheses
            else None
            for row, (pieces, hypotheses) in enumerate(zip(ids, found, strict=True))
        ]

    @cached_property
    def spelling(self) -> Spelling:
        """The spelling of the target's pieces."""
        return Spelling(self.tokenizers.tgt.surfaces())

    def pieces_of_target(self, text: str) -> list[int]:
        """The pieces of a translation, or of a part of one."""
        return self.tokenizers.tgt.encode(self.cleaning.target(text))

    def written(self, text: str) -> str:
        """A translation, or a part of one, as the model would write it."""
        return self.tokenizers.tgt.decode(self.pieces_of_target(text))

    def known_pieces(self, text: str) -> list[int]:
        """Like `pieces_of_target`; refuses a text that the model cannot write."""
        pieces = self.pieces_of_target(text)
        if UNK in pieces:
            raise no_pieces(text)
        return pieces

    def spelled(self, text: str) -> bytes:
        """The bytes that the pieces of a translation, or of a part of one, spell."""
        return self.spelling.of(self.known_pieces(text))

    def prefix(self, text: str) -> Prefix | None:
        """The beginning of a translation, for the search; None for a text without visible characters."""
        pieces, most = self.known_pieces(text), self.model.max_length
        if most is not None and len(pieces) >= most:
            raise too_long(f"{len(pieces):,} pieces", most)
        spelled = self.spelling.of(pieces)
        return self.prefix_of_bytes(spelled, text[-1].isspace()) if spelled else None

    def prefix_of_bytes(self, spelled: bytes, whole: bool) -> Prefix:
        """The prefix of these bytes, which pieces spell; if its last word is `whole`, it may not go on."""
        prefix = Prefix.of(self.spelling, spelled, whole)
        if prefix is None:
            text = spelled.decode(errors="replace").replace(MARK, " ").strip()
            raise no_pieces(text)
        return prefix

    def prefixes_of_parts(self, prefixes: Sequence[str | None] | None, lines: Sequence[Line]) -> list[Prefix | None]:
        """The prefix of each part of these lines, None without one."""
        if prefixes is None:
            return [None for line in lines for _ in line.parts]
        found: list[Prefix | None] = []
        for text, line in zip(prefixes, lines, strict=True):
            prefix = None if text is None else self.prefix(text)
            if prefix is not None and len(line.parts) > 1:
                raise DataError(
                    f"the translation of a line in {len(line.parts):,} parts cannot begin with '{text}'; give it one "
                    "sentence"
                )
            found += [prefix] * len(line.parts)
        return found

    def search(
        self, batch: Batch, settings: SearchConfig, steering: Steering, seeds: Sequence[int] | None = None
    ) -> list[list[Hypothesis]]:
        """Hypotheses of each source, over the shortlist if there is one; `seeds` as in `batch`.

        Sampling, searches with prefixes and searches that are watched use the whole vocabulary.
        """
        if settings.sample and seeds is None:
            seeds = self.seeds_of_next([1] * len(batch.src))
        whole = settings.sample or steering.prefixes is not None or steering.watch is not None
        if self.shortlist is None or whole:
            return search(self.step_model, batch.src, batch.src_mask, settings, seeds, steering)
        assert isinstance(self.step_model, Seq2Seq)  # an ensemble has no shortlist
        listed = Shortlisted(self.step_model, self.shortlist, batch.src, batch.src_mask)
        found = search(listed, batch.src, batch.src_mask, settings, None, steering)
        return [[replace(h, tokens=listed.whole(h.tokens)) for h in hypotheses] for hypotheses in found]

    @torch.inference_mode()
    def attention(self, src: list[list[int]], tgt: list[list[int]]) -> list[NDArray[np.float32] | None]:
        """The attention [L, H, T, S] behind each target, computed a few at a time: it grows with the squared length."""
        done: dict[int, NDArray[np.float32] | None] = {}
        for rows in forced_batches(src, tgt):
            own = [src[row] for row in rows], [tgt[row] for row in rows]
            weights = self.model.attention(make_batch(*own).to(self.device))
            done.update(zip(rows, self._of_pieces(weights, *own), strict=True))
        return [done[row] for row in range(len(src))]

    def no_numbers(self) -> CheckpointError:
        """The error for a model that computes NaN."""
        return CheckpointError(
            f"the model's probabilities are NaN, {self.name}; its weights are damaged or too large: "
            "restore it from a copy, try precision=fp32, or train again"
        )

    def force(self, sources: Sequence[str], targets: Sequence[str], first: int = 1) -> list[Translation]:
        """Each target as if it were the translation, with its forced score and its attention.

        `first`: the number that errors give the first pair.
        """
        src, tgt = self.encode_pairs(sources, targets, first)
        done: dict[int, Translation] = {}
        for rows, found in self.forced_side_by_side(src, tgt):
            for row, log_prob, weights in zip(rows, *found, strict=True):
                candidate = Candidate(targets[row], log_prob, log_prob)
                pieces = self.tokenizers.src.pieces(src[row]), self.tokenizers.tgt.pieces(tgt[row])
                done[row] = Translation(sources[row], [candidate], *pieces, weights)
        return [done[row] for row in range(len(src))]

    def forced_scores(self, sources: Sequence[str], targets: Sequence[str]) -> list[float]:
        """Log-probability of each target given its source, in nats, end of sentence included."""
        return self.log_probs(*self.encode_pairs(sources, targets, first=1))

    def cross_entropy(self, sources: Sequence[str], targets: Sequence[str]) -> float:
        """Cross-entropy of the targets given the sources, in nats per piece, ends of sentences included."""
        src, tgt = self.encode_pairs(sources, targets, first=1)
        return -sum(self.log_probs(src, tgt)) / sum(len(sentence) + 1 for sentence in tgt)

    def log_probs(self, src: list[list[int]], tgt: list[list[int]]) -> list[float]:
        """Log-probability of the pieces of each target given those of its source, in nats, end of sentence included."""
        found = [0.0] * len(src)
        for rows, (log_probs, _) in self.forced_side_by_side(src, tgt):
            for row, log_prob in zip(rows, log_probs, strict=True):
                found[row] = log_prob
        return found

    def forced_side_by_side(self, src: list[list[int]], tgt: list[list[int]]) -> Iterable[tuple[list[int], Forced]]:
        """For each batch, the numbers of its pairs and the result of `forced` for them."""

        def work(rows: list[int]) -> Forced:
            return self.forced([src[row] for row in rows], [tgt[row] for row in rows])

        batches = forced_batches(src, tgt)
        return zip(batches, self.workers.each(work, batches), strict=True)

    def notes(self) -> Notes:
        """A `Notes`, which finds cautions about single lines of this model's translations."""
        return Notes(self.tokenizers.src, self.as_read, self.letter_case)

    def as_read(self, text: str) -> str:
        """A source as the model reads it: cleaned, and in the case that its words have in the training sources.

        A run of an earlier nmt has no record of that case. There, text in capitals is read in lower case if that gives
        fewer pieces; a model of headlines has pieces for capitals.
        """
        cleaned = self.cleaning.source(text)
        usual = self.letter_case.usual(cleaned)
        if self.letter_case.forms or usual == cleaned:
            return usual
        as_typed, lowered = self.tokenizers.src.encode_batch([cleaned, usual])
        return usual if len(lowered) < len(as_typed) else cleaned

    def encode_pairs(
        self, sources: Sequence[str], targets: Sequence[str], first: int
    ) -> tuple[list[list[int]], list[list[int]]]:
        """The pieces of each pair's source and target; refuses lists that do not match and pairs that are too long."""
        if len(sources) != len(targets):
            raise DataError(
                f"{counted(len(sources), 'source')} but {counted(len(targets), 'target')} to score; give one for each"
            )
        src = self.tokenizers.src.encode_batch([self.as_read(text) for text in sources])
        tgt = self.tokenizers.tgt.encode_batch([self.cleaning.target(text) for text in targets])
        for number, pieces in enumerate(map(max, map(len, src), map(len, tgt)), first):
            if pieces > LONGEST_FORCED:  # the attention of a pair is held in memory
                raise DataError(
                    f"pair {number:,} has a side of {pieces:,} pieces; attention and scores of given pairs reach to "
                    f"{LONGEST_FORCED:,}: shorten it, or take it out"
                )
        return src, tgt

    @torch.inference_mode()
    def forced(self, src_ids: list[list[int]], tgt_ids: list[list[int]]) -> Forced:
        """Log-probability of each target, and the attention [L, H, T, S] behind it (None without attention).

        Row t of the attention belongs to piece t of the target; the ends of both sentences are left out.
        """
        log_probs, found = self.model.forced(make_batch(src_ids, tgt_ids).to(self.device))
        if not log_probs.isfinite().all():
            raise self.no_numbers()
        return log_probs.sum(1).tolist(), self._of_pieces(found, src_ids, tgt_ids)

    def _of_pieces(
        self, weights: Float[Tensor, "B L H T S"], src_ids: list[list[int]], tgt_ids: list[list[int]]
    ) -> list[NDArray[np.float32] | None]:
        """Each pair's attention [L, H, T, S] between its pieces; None if the model has none."""
        if weights.shape[1] == 0:
            return [None] * len(src_ids)
        sizes = [(len(tgt), len(src)) for src, tgt in zip(src_ids, tgt_ids, strict=True)]
        rows = weights.float().cpu().numpy()
        return [row[:, :, :T, :S] for row, (T, S) in zip(rows, sizes, strict=True)]

    def candidates(self, hypotheses: Sequence[Hypothesis], settings: SearchConfig) -> list[Candidate]:
        """Hypotheses as text, each on one line, whatever the model spells; without repeated texts unless sampled."""
        texts = (one_line(self.tokenizers.tgt.decode(hypothesis.tokens)) for hypothesis in hypotheses)
        found = [Candidate(text, each.score, each.log_prob) for text, each in zip(texts, hypotheses, strict=True)]
        return found if settings.sample else distinct(found)


def no_pieces(text: str) -> ConfigError:
    """The error for a text that the model cannot write."""
    return ConfigError(f"the model has no pieces to write '{text.strip()}'; begin the translation in other words")


def not_found(translator: Translator, prefix: Prefix | None) -> NmtError:
    """The error where a search finds nothing: there is no room for the prefix, or the model computes NaN."""
    most = translator.model.max_length
    if prefix is not None and most is not None and len(prefix) > most:
        return too_long(f"up to {len(prefix):,} pieces", most)
    return translator.no_numbers()


def too_long(pieces: str, most: int) -> ConfigError:
    """The error for a prefix that has more pieces than a model writes."""
    return ConfigError(f"the prefix has {pieces}, and this model writes {most:,} at most; shorten it")


def load_together(folders: Sequence[Path], trust: Sequence[str]) -> list[LoadedModel]:
    """The models of one or more run folders; refuses a model whose tokenizers are not the first model's."""
    loaded = [load_model(folder, trust) for folder in folders]
    for folder, other in zip(folders[1:], loaded[1:], strict=True):
        remedy = (
            "models that choose each token together need the same pieces: train them on the same corpus with the same "
            "tokenizer=…"
        )
        refuse_other_pieces(folder, other, folders[0], loaded[0], remedy)
    return loaded


def as_one(models: Sequence[Seq2Seq]) -> Seq2Seq | Ensemble:
    """The model itself, or an ensemble of several."""
    return models[0] if len(models) == 1 else Ensemble(models)


def load(folder: str | Path | Sequence[str | Path]) -> Translator:
    """The best model of a run folder, or of several together, ready to translate; `Translator.load` has options."""
    return Translator.load(folder)


def with_n_best(settings: SearchConfig, n_best: int | None) -> SearchConfig:
    """Settings that return `n_best` translations, with a beam that is wide enough; samples need none."""
    if n_best is None:
        return settings
    return replace(settings, n_best=n_best, beam=settings.beam if settings.sample else max(settings.beam, n_best))


def translate_all(translator: Translator, sources: Sequence[str], say: Callable[[str], None]) -> list[str]:
    """Best translations; a terminal shows the progress, and `say` gets the cautions about single lines."""
    texts = []
    with progress_bar(len(sources), "sentences") as bar:
        for translation in translator.notes().noted(translator.stream(sources, CHUNK_SENTENCES), say):
            texts.append(one_line(translation.text))
            bar.update()
    return texts
