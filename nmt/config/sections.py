"""The sections of a configuration that are not parts: type, limits and meaning of each key; values are in configs/."""

import re
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from nmt.config.keys import Count, Instead, Limits, Mass, NotNegative, Positive, Section, Share, Size, Whole, Workers
from nmt.errors import ConfigError

Paths = str | list[str] | None  # a file, a glob, or a list of them; None = not given
Format = Literal[
    "auto",
    "text",
    "tsv",
    "jsonl",
    "csv",
    "xlsx",
    "parquet",
    "hub",
    "strings",
    "subtitles",
    "tmx",
    "xliff",
    "po",
    "qt",
    "tbx",
    "multiterm",
    "glossary",
    "moses_zip",
    "tatoeba",
    "sgm",
    "wmt_xml",
]
Inline = Literal["strip", "keep"]
Unit = Literal["words", "tokens"]  # the units that word alignments link
SPLITS = ("train", "dev", "test")  # of a corpus
MOST_HYPOTHESES = 10_000  # largest beam
SPECIAL_PIECES = ("<pad>", "<unk>", "<s>", "</s>")  # SentencePiece's names
BYTE_PIECE = re.compile("<0x[0-9A-F]{2}>")

Device = Annotated[
    Literal["auto", "cpu", "cuda"],
    "where tensors live; auto = the GPU if there is one",
    Instead(
        (
            ("gpu", "type cuda, torch's name for a GPU; without one, cpu; auto takes a GPU where there is one"),
            ("mps", "type cpu; of GPUs nmt uses those that torch calls cuda"),
        )
    ),
]
WorkerCount = Annotated[
    Workers | None,
    "threads that compute side by side, without any effect on results; null = one per core, or OMP_NUM_THREADS",
]


@dataclass(frozen=True)
class SplitConfig:
    """Where one split of a corpus is."""

    src: Annotated[
        Paths,
        "formats with a file for each language (text, sgm, strings, subtitles): the source side; a file, a glob or a "
        "list of them, compressed or not",
    ]
    tgt: Annotated[
        Paths,
        "these formats: the target side; line N translates line N of src (sgm: the segment of the same document and "
        "number; strings: the text with the same key; subtitles: what is on the screen at the same time)",
    ]
    files: Annotated[
        Paths,
        "other formats: files with both sides; auto: files of any kind; hub: name of the split",
    ]
    weights: Annotated[
        list[float] | None,
        "training split: a weight for each file or glob of the list, its share of an epoch; with [3,1] three of four"
        " pairs come from the first; null = every pair once per epoch",
    ] = None


@dataclass(frozen=True)
class FilterConfig(Section):
    """Training pairs to drop: each key names one kind of pairs, and the report counts them; null or false = off."""

    WHERE: ClassVar[str] = "data.filters"

    empty: Annotated[bool, "pairs with a side that has no visible character"]
    max_tokens: Annotated[Count | None, "pairs with more pieces on either side, not counting the end of sentence"]
    max_ratio: Annotated[
        Annotated[float, Limits(least=1)] | None,
        "pairs whose longer side has more than this many times the pieces of the shorter",
    ]
    identical: Annotated[bool, "pairs whose source and target are the same"]
    duplicates: Annotated[
        bool | Literal["loose"],
        "pairs that occurred before; the first one stays; loose: also pairs that differ from it only in case, "
        "digits, spaces or punctuation",
    ]
    max_characters: Annotated[Count | None, "pairs with more characters on either side"]
    max_length_ratio: Annotated[
        Annotated[float, Limits(least=1)] | None,
        "pairs whose longer side has more than this many times the letters of the shorter, with 10 added to both;"
        " a character of Chinese, Japanese or Korean counts as 3",
    ]
    max_word: Annotated[
        Count | None, "pairs with a longer word, in characters; not in scripts that write without spaces"
    ]
    min_letters: Annotated[Mass | None, "pairs with a side whose visible characters hold a smaller share of letters"]
    numbers: Annotated[bool, "pairs that do not have the same digits on both sides, in any order"]
    addresses: Annotated[bool, "pairs whose web and mail addresses are not the same on both sides"]
    markup: Annotated[bool, "pairs whose tags (<b>) and character references (&amp;) are not the same on both sides"]
    broken: Annotated[
        bool, "pairs with characters of a wrong encoding: U+FFFD, control characters, UTF-8 read as Latin-1 (Ã¼)"
    ]
    min_language: Annotated[
        Mass | None,
        "pairs with a side whose own language (data.src_lang or data.tgt_lang) has less than this times the"
        " probability of the likeliest language, by py3langid",
    ]


@dataclass(frozen=True)
class DataConfig(Section):
    """A parallel corpus."""

    WHERE: ClassVar[str] = "data"

    format: Annotated[
        Format,
        "how pairs are stored; auto = recognised for each file by its content",
    ]
    root: Annotated[
        str | None, "folder that relative paths start from; null = the current one; bundled:NAME = nmt's own data"
    ]
    src_lang: Annotated[
        str | None,
        "code of the source language (ISO 639), such as en; tmx, xliff, po, qt, tbx, multiterm, glossary, wmt_xml: "
        "which texts are the source; null = as the names of two text files say, such as my.en and my.de",
    ]
    tgt_lang: Annotated[
        str | None,
        "code of the target language; also decides what BLEU counts as a word; null = as the file names say, and the"
        " script decides about words",
    ]
    tokenized: Annotated[
        bool, "the text is tokenised already, so BLEU counts the words between spaces (tokeniser none)"
    ]
    src_column: Annotated[
        str | int | None,
        "tables: name of the source column, nested with dots (translation.en); csv, tsv, xlsx, glossary: or its "
        "number, counted from 0; null = found by the header (src_lang, or source), or the first of two",
    ]
    tgt_column: Annotated[str | int | None, "tables: the same for the target"]
    inline: Annotated[
        Inline,
        "tmx, xliff, strings: inline codes; strip = removed, and their text stays; keep = placeholders <1>, </1>, "
        "<1/>, with the same numbers on both sides",
    ]
    delimiter: Annotated[
        Literal["comma", "semicolon", "tab", "pipe"] | None,
        "csv, tsv, glossary: the separator of columns; null = detected",
    ]
    header: Annotated[bool | None, "csv, tsv, xlsx, glossary: is the first row a header? null = detected"]
    quotes: Annotated[bool | None, "csv, tsv, glossary: do quotes enclose cells, or are they text? null = detected"]
    encoding: Annotated[
        str | None,
        "csv, tsv, glossary, strings, subtitles: the encoding, such as utf-8, utf-16 or cp1252; null = detected",
    ]
    hub: Annotated[str | None, "format hub: id of the dataset"]
    hub_config: Annotated[str | None, "format hub: name of its configuration"]
    hub_revision: Annotated[str | None, "format hub: branch, tag or commit"]
    train: SplitConfig
    dev: SplitConfig
    test: SplitConfig
    dev_size: Annotated[
        Whole, "pairs cut off the training split if no dev split is given, at most a tenth of it; 0 = no dev split"
    ]
    test_size: Annotated[Whole, "the same for the test split"]
    gold: Annotated[
        str | None, "file of word alignments of the test split: i-j, or ipj for a possible link; null = none"
    ]
    gold_units: Annotated[
        Unit, "units that these alignments count: words between spaces; tokens: words, and punctuation by itself"
    ]
    nfc: Annotated[bool, "Unicode NFC on both sides, so that é is one character, however it was typed"]
    plain_source: Annotated[
        bool,
        "replaces typographic quotes, apostrophes and spaces, ligatures and look-alikes in the source with plain "
        "characters",
    ]
    filters: FilterConfig

    def refuse(self) -> None:
        for key, code in (("data.src_lang", self.src_lang), ("data.tgt_lang", self.tgt_lang)):
            if code is not None:
                from nmt.config.languages import refuse_unknown_language  # imports langcodes: 30 ms

                refuse_unknown_language(key, code)
        if self.encoding is not None:
            refuse_unknown_encoding(self.encoding)

    @property
    def has_dev(self) -> bool:
        """Is there a dev split, either given or cut off the training split?"""
        return self.dev.src is not None or self.dev.files is not None or self.dev_size > 0


def refuse_unknown_encoding(name: str) -> None:
    """Refuses a name that is not a text encoding."""
    try:
        "".encode(name)
    except (LookupError, UnicodeError, ValueError):
        raise ConfigError(
            f"data.encoding={name} is not an encoding; set one such as utf-8, utf-16, cp1252 or shift_jis, or null"
        ) from None


@dataclass(frozen=True)
class TokenizerConfig(Section):
    """SentencePiece models, trained on the training split alone."""

    WHERE: ClassVar[str] = "tokenizer"

    model: Annotated[Literal["unigram", "bpe", "char", "word"], "kind of pieces"]
    joint: Annotated[bool, "one vocabulary for both sides (required for model.tie=all)"]
    vocab_size: Annotated[Size, "pieces per model, including 4 special ones and, with byte_fallback, 256 bytes"]
    character_coverage: Annotated[Mass, "share of the characters in the training text that get a piece"]
    byte_fallback: Annotated[bool, "writes any other character as its UTF-8 bytes, so that every text can be restored"]
    user_defined_symbols: Annotated[
        list[str], "texts that are always one piece, such as [<br>,{name}], on both sides; vocab_size counts them"
    ]
    split_digits: Annotated[bool, "each digit is its own piece, so that numbers of any length are spelled alike"]
    normalization: Annotated[
        Literal["identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf"],
        "identity = none beyond data.nfc; the others rewrite characters, such as full-width ones",
    ]
    sampling_alpha: Annotated[
        Positive | None,
        "draws segmentations in training (Kudo 2018): 0.1 to 0.5, smaller = more varied; bpe: the dropout "
        "probability, such as 0.1; null = off",
    ]
    max_sentences: Annotated[
        Count, "most training sentences shown to SentencePiece, drawn at random, whatever the seed"
    ]

    def refuse(self) -> None:
        symbols = self.user_defined_symbols
        for symbol in symbols:
            if symbol in SPECIAL_PIECES or (self.byte_fallback and BYTE_PIECE.fullmatch(symbol)):
                raise ConfigError(
                    f"tokenizer.user_defined_symbols has {symbol!r}, the name of a piece that every tokenizer has; "
                    "leave it out"
                )
            if not symbol or symbols.count(symbol) > 1 or re.search(r"[\s▁]", symbol):
                raise ConfigError(
                    f"tokenizer.user_defined_symbols has {symbol!r}; give texts that differ, without spaces and ▁"
                )
        if symbols and self.model == "word":
            raise ConfigError(
                f"tokenizer.user_defined_symbols={symbols} is set, but with tokenizer.model=word spaces alone part "
                "pieces; set it to [], or take another model"
            )
        smallest = 4 + 256 * self.byte_fallback + len(symbols) + 1
        if self.vocab_size < smallest:
            needing = ["special pieces", *["bytes"] * self.byte_fallback, *["user-defined symbols"] * bool(symbols)]
            raise ConfigError(
                f"tokenizer.vocab_size={self.vocab_size} is too small: {' and '.join(needing)} alone need"
                f" {smallest - 1}; set at least {smallest}"
            )
        if self.sampling_alpha is None:
            return
        if self.model in ("char", "word"):
            raise ConfigError(
                f"tokenizer.sampling_alpha={self.sampling_alpha} is set, but tokenizer.model={self.model} has one"
                " segmentation only; set it to null"
            )
        if self.model == "bpe" and self.sampling_alpha >= 1:
            raise ConfigError(
                f"tokenizer.sampling_alpha={self.sampling_alpha} is a probability with tokenizer.model=bpe; set it"
                " below 1, or to null (off)"
            )


@dataclass(frozen=True)
class ModelConfig(Section):
    """Sizes that belong to no single part."""

    WHERE: ClassVar[str] = "model"

    d_embed: Annotated[Size, "size of a token's vector"]
    embed_dropout: Annotated[Share, "dropout on these vectors, with one mask per sequence"]
    word_dropout: Annotated[Share, "probability that an input token's vector is zero, in training"]
    tie: Annotated[
        Literal["none", "target", "all"],
        "shared tables; target: target embeddings and output layer; all: source embeddings too (joint vocabulary)",
    ]


@dataclass(frozen=True)
class TrainConfig(Section):
    """The training loop."""

    WHERE: ClassVar[str] = "train"

    batch_tokens: Annotated[Count, "most tokens in a batch: pairs times the length of the longest side"]
    accumulate: Annotated[Count, "batches per update"]
    parts: Annotated[
        Count,
        "parts of each batch; one worker computes a part, and any number of workers gives the same weights, bit "
        "for bit; null = chosen when a run begins, from the cores and batch_tokens",
    ]
    max_updates: Annotated[Count | None, "most updates; null = until max_epochs or early stopping"]
    max_epochs: Annotated[Count | None, "most epochs; null = until max_updates or early stopping"]
    label_smoothing: Annotated[Share, "share of the probability that is spread over all pieces"]
    consistency: Annotated[
        NotNegative,
        "R-Drop (Liang et al. 2021): reads every batch twice with different dropout, and adds the divergence of "
        "the two predictions, times this, to the loss; 1 to 5; 0 = off, which halves the time",
    ]
    lowercase_share: Annotated[
        Share,
        "share of the sources that are read in lower case, for a model that must also read text without its capitals",
    ]
    init_range: Annotated[
        Positive | None,
        "all matrices, and the biases of linear layers and RNNs, start uniformly between ± this (Luong et al. 2015: "
        "0.1); null = each layer's default",
    ]
    clip_norm: Annotated[Positive | None, "largest gradient norm: a larger gradient is scaled down to it; null = off"]
    on_nonfinite: Annotated[
        Literal["stop", "skip"],
        "when loss or gradient is infinite or NaN: stop the run, or skip the update (it changes nothing and is "
        "counted; 20 in a row stop the run)",
    ]
    precision: Annotated[
        Literal["auto", "fp32", "bf16"],
        "precision of matrix products; auto = bf16 if the machine multiplies it natively; bf16 is refused on a "
        "machine that cannot run an LSTM in it",
    ]
    device: Device
    workers: WorkerCount
    peer_timeout_s: Annotated[
        Count, "with torchrun: seconds that a process waits for another one before it gives up and names that process"
    ]
    validate_every: Annotated[Count | None, "updates between validations; null = once per epoch"]
    bleu_sentences: Annotated[Whole | None, "dev sentences translated at each validation; null = all; 0 = none"]
    metric: Annotated[
        Literal["bleu", "loss"],
        "decides which checkpoint is best; bleu: below 1 BLEU and between equal scores, the dev loss decides",
    ]
    patience: Annotated[
        Count | None,
        "validations after the warm-up without a new best or a lower dev loss before training stops; null = off",
    ]
    keep_best: Annotated[Count, "checkpoints kept besides the last one"]
    average_best: Annotated[bool, "ends with the average of the kept checkpoints if it is better on dev"]
    log_every: Annotated[Count, "updates between log lines and tensorboard points"]
    examples: Annotated[Whole, "fixed dev sentences shown in tensorboard"]

    def refuse(self) -> None:
        if self.max_updates is None and self.max_epochs is None and self.patience is None:
            raise ConfigError(
                "train.max_updates, train.max_epochs and train.patience are all null; set one to end the run"
            )
        if self.metric == "bleu" and self.bleu_sentences == 0:
            raise ConfigError("train.metric is bleu, but train.bleu_sentences is 0; set train.metric=loss")


@dataclass(frozen=True)
class SearchConfig(Section):
    """How translations are searched for."""

    WHERE: ClassVar[str] = "search"

    beam: Annotated[Annotated[int, Limits(least=1, most=MOST_HYPOTHESES)], "open hypotheses per sentence; 1 = greedy"]
    n_best: Annotated[
        Annotated[int, Limits(least=1, most=10 * MOST_HYPOTHESES)],
        "hypotheses returned, best first; at most beam (sampling: the number of draws)",
    ]
    length_penalty: Annotated[
        Literal["average", "wu", "none"],
        "average: log_prob / length^alpha; wu: log_prob / ((5 + length) / 6)^alpha (Wu et al. 2016, eq. 14)",
    ]
    alpha: Annotated[
        Annotated[float, Limits(least=0, most=5)],
        "exponent of the length penalty, whose length includes the end of sentence; 0 = no penalty",
    ]
    coverage_penalty: Annotated[
        NotNegative, "beta of Wu et al. 2016, eq. 14: penalises source positions that get little attention; 0 = off"
    ]
    max_length_a: Annotated[
        Annotated[float, Limits(least=0, most=100_000)],
        "a translation has at most a + b * source length tokens, not counting the end of sentence on either side",
    ]
    max_length_b: Annotated[Annotated[float, Limits(least=0, most=100)], "b in a + b * source length"]
    no_repeat_ngram: Annotated[
        Count | None, "size of the n-grams that may occur only once in a translation; null = off"
    ]
    sample: Annotated[bool, "draws n_best translations at random instead of searching"]
    temperature: Annotated[
        Annotated[float, Limits(least=1e-6, most=1e6)], "sampling: below 1 = sharper than the model, above 1 = flatter"
    ]
    top_k: Annotated[Count | None, "sampling: draws from the k likeliest tokens (Fan et al. 2018); null = from all"]
    top_p: Annotated[
        Mass | None,
        "sampling: draws from the likeliest tokens whose probabilities sum to this (nucleus, Holtzman et al. 2020); "
        "null = from all",
    ]
    batch_sentences: Annotated[
        Count,
        "sentences searched together at beam 5; other beams search the same number of hypotheses together; more is "
        "faster and needs more memory",
    ]

    def refuse(self) -> None:
        if not self.sample and self.n_best > self.beam:
            raise ConfigError(
                f"search.n_best={self.n_best} is more than search.beam={self.beam}; give search.beam={self.n_best} "
                "with it, or search=sample"
            )
        if self.max_length_a + self.max_length_b == 0:
            raise ConfigError(
                "search.max_length_a=0 and search.max_length_b=0 leave no room for a translation; raise one of them"
            )
