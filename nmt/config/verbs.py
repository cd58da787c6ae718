"""The command of each verb: one frozen object, read from the composed configuration and the typed changes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import PurePath
from typing import Annotated, Any, Literal

from nmt.config.changes import Changes
from nmt.config.check import convert
from nmt.config.keys import Count, Folder, Limits, Mass, Positive, Section, Seed, Share, Size, Whole, Workers, hints_of
from nmt.config.run import CacheDir, RunConfig, read_run_config
from nmt.config.sections import DataConfig, Device, Unit, WorkerCount
from nmt.config.times import seconds_of
from nmt.config.unread import refuse_unread
from nmt.errors import ConfigError

ORIGIN = re.compile("[a-z][a-z0-9+.-]*://[^/?#\\sA-Z]+|null")  # null: pages in files
Trust = Annotated[list[str], "your own packages that parts may come from"]
Model = Annotated[Folder, "run folder, for example runs/first"]
Models = Annotated[Folder | list[str], "run folder, for example runs/first; several models choose each token together"]
Precisions = Annotated[
    Literal["auto", "float", "fp32", "bf16", "int8"],
    "auto = the fastest: bf16 if the machine multiplies it natively, and 8-bit integers in the decoder of a search "
    "if the processor is faster with them (VNNI, AMX, AVX2); float = the same without integers",
]
Shortlisting = Annotated[
    bool | Literal["auto"],
    "search over the run's shortlist: auto (if the run has one that fits its weights), true (it must have one: nmt"
    " shortlist), false; samples, lines with a prefix and scores of given texts use the whole vocabulary",
]
Input = Annotated[str | list[str] | None, "file, glob or list of them; null = standard input"]


@dataclass(frozen=True)
class TrainCommand(Section):
    """nmt train, nmt prepare."""

    run: RunConfig
    recipe: Annotated[
        Literal["auto"] | None,
        "auto = chooses every setting that you do not type, to suit the corpus, and prints it; null = the values in "
        "configs/; an experiment is a recipe of its own",
    ]
    budget: Annotated[
        str | int | float | None,
        "time for the whole command, such as 30m or 1h30m; it and the speed of this machine decide the size of the "
        "model, the passes and the length of the training; null = as long as training pays",
    ]
    resume: Annotated[Folder | None, "folder of a run to continue, with its stored configuration"]
    resume_with: Annotated[
        str | list[str],
        "keys of that configuration that may change, such as [train.max_epochs,optimizer.lr]; the change is stored",
    ]
    trust: Trust
    changes: Changes

    def refuse(self) -> None:
        refuse_outside_runs(self.run.name)
        if self.resume is not None and self.run.init_from is not None:
            raise ConfigError(
                "resume and init_from are both given; resume goes on with a run, init_from starts a new one"
            )
        if self.budget is not None:
            seconds_of("budget", self.budget)
            if self.resume is not None:
                raise ConfigError(
                    f"budget={self.budget} is for a new run, and resume={self.resume} ends where that run was "
                    "planned to end"
                )
            ends = [
                key for key in ("train.max_updates", "train.max_epochs") if self.changes.values.get(key) is not None
            ]
            if ends:
                raise ConfigError(f"budget={self.budget} and {ends[0]} both say when to end; leave one of them out")
        if self.resume is None and self.resume_with:
            raise ConfigError(f"resume_with={self.resume_with} is for a run that goes on; name it: resume=runs/NAME")


@dataclass(frozen=True)
class CompareCommand(TrainCommand):
    """nmt compare: one job of its sweep."""

    split: Annotated[
        Literal["test", "dev"], "split of the corpus on which the runs are scored; dev for choosing settings"
    ]
    output: Annotated[
        str | None,
        "folder for page, table and figures; null = made from the words you type, in comparisons/ of runs_dir",
    ]


@dataclass(frozen=True)
class TuneCommand(TrainCommand):
    """nmt tune."""

    trials: Annotated[Whole, "runs in total, including those of earlier calls; 0 = only draw the pictures"]
    time_limit: Annotated[
        str | int | float | None,
        "time such as 90m or 2h, counted from the start of this call, after which no trial begins; null = none",
    ]
    startup: Annotated[
        Count, "first trials, with random settings and without pruning; later ones use TPE and the median rule"
    ]
    space: Annotated[dict[str, Any], "ranges and choices"]

    def refuse(self) -> None:
        for key in ("budget", "resume", "resume_with", "init_from"):
            if getattr(self.run if key == "init_from" else self, key):
                why = "all trials are as long" if key == "budget" else "every trial is a new run"
                instead = "; time_limit= ends a study" if key == "budget" else ""
                raise ConfigError(f"{key} is for nmt train; leave it out: {why}{instead}")
        super().refuse()
        if self.time_limit is not None:
            seconds_of("time_limit", self.time_limit)
        if not self.run.data.has_dev:
            raise ConfigError(
                "data.dev_size=0 leaves no dev sentences to choose settings by; raise it, or give data.dev.src and "
                "data.dev.tgt"
            )


@dataclass(frozen=True)
class ModelCommand(Section):
    """Every verb that uses finished models."""

    model: Models
    trust: Trust
    device: Device
    precision: Precisions
    workers: WorkerCount
    changes: Changes


@dataclass(frozen=True)
class TranslationCommand(ModelCommand):
    """Every verb that translates."""

    shortlist: Shortlisting
    long_lines: Annotated[
        Literal["split", "truncate"],
        "text of more than 1,000 pieces that is translated at once (see sentences); split: in parts, cut where a "
        "sentence, a clause or a word ends; truncate: only its first 1,000 pieces; stderr names such lines",
    ]
    sentences: Annotated[
        Literal["auto", "split", "keep"],
        "split: a line of several sentences is translated sentence by sentence, and joined again; keep: as a whole; "
        "auto: in groups of as many sentences as the median line of the model's training data has",
    ]
    seed: Annotated[Seed | None, "decides what search.sample=true draws; null = a new one each time, printed on stderr"]


@dataclass(frozen=True)
class EvaluateCommand(TranslationCommand):
    """nmt evaluate."""

    src: Annotated[
        str | None,
        "file to translate: text, or a test set in SGML or IWSLT's XML; or a file with its translations: WMT's "
        "XML, TSV, CSV, xlsx, TMX, XLIFF, PO, TBX, MultiTerm; null = the corpus's own split",
    ]
    ref: Annotated[str | list[str] | None, "its reference, or several: [A,B]; null if src holds it"]
    test_set: Annotated[str | None, "a test set that sacreBLEU knows by name, such as wmt14"]
    split: Annotated[Literal["train", "dev", "test"], "which split of the corpus"]
    output: Annotated[str | None, "folder for hypotheses and scores; null = evaluations/ in the run"]
    intervals: Annotated[bool, "95 % confidence intervals by bootstrap"]
    compare_with: Annotated[Folder | list[str] | None, "run folder of a second model: paired bootstrap"]
    gold: Annotated[
        str | None, "file with word alignments of the references: i-j sure, ipj possible; null = the corpus's own"
    ]
    gold_units: Annotated[
        Unit | None,
        "units that gold counts: words, or tokens (punctuation by itself); null = data.gold_units on the corpus's own "
        "test split, else words",
    ]
    gold_reverse: Annotated[bool, "gold puts the target language first"]
    cache_dir: CacheDir

    def refuse(self) -> None:
        if self.src is not None and self.test_set is not None:
            raise ConfigError("src and test_set are both given; evaluate on one of them")
        for key, value in (("src", self.src), ("test_set", self.test_set)):
            if value is not None and "split" in self.changes.values:
                raise ConfigError(f"{key}={value} and split={self.split} are both given; leave one of them out")
        if self.src is None and self.ref is not None:
            raise ConfigError("src is not given, but ref is; evaluating on files needs both, src=FILE ref=FILE")
        if self.gold is None and (self.gold_reverse or self.gold_units is not None):
            key = "gold_reverse" if self.gold_reverse else "gold_units"
            raise ConfigError(f"{key} describes a file with gold alignments; name it, gold=FILE, or leave {key} out")


@dataclass(frozen=True)
class TranslateCommand(TranslationCommand):
    """nmt translate."""

    input: Input
    output: Annotated[
        str | None,
        "file, written whole or not at all; or a folder (an existing one, or FOLDER/) that gets a file of the "
        "same name for each input, and keeps the files that it has; null = standard output",
    ]
    shard: Annotated[
        str | Count | None,  # a number is refused like other texts that are not i/n
        "i/n: every n-th input file in the order of their names, from the i-th on, into the folder output; null = "
        "all files; a file that another process is translating is skipped",
    ]
    format: Annotated[Literal["text", "jsonl"], "text, or jsonl: scores, n-best and alignments as well"]
    n_best: Annotated[
        Count | None,
        "translations per line, fewer where several spell the same text; widens the beam if needed; null = "
        "search.n_best; above 1 jsonl only",
    ]
    alignments: Annotated[bool, "jsonl: word alignments, and the words that they join"]
    prefixes: Annotated[
        str | None,
        "file with the beginning of each line's translation (an empty line: any); after a space at the end, the "
        "last word is whole, else it may go on",
    ]
    buffer: Annotated[Count, "lines read ahead, so that lines of similar length are translated together"]

    def refuse(self) -> None:
        if self.alignments and self.format == "text":
            raise ConfigError("alignments=true needs format=jsonl, because plain text has no place for them")
        if self.shard is not None and not self.output:
            raise ConfigError(f"shard={self.shard} divides files, whose translations go to a folder; add output=FOLDER")
        _ = self.share

    @property
    def share(self) -> slice:
        """The slice of the input files, in the order of their names, that this process translates."""
        if self.shard is None:
            return slice(None)
        numbers = re.fullmatch("([0-9]{1,9})/([0-9]{1,9})", str(self.shard))
        if numbers is None or not 1 <= int(numbers[1]) <= int(numbers[2]):
            raise ConfigError(
                f"shard={self.shard} is not possible; give i/n with i from 1 to n, for example shard=3/16"
            )
        return slice(int(numbers[1]) - 1, None, int(numbers[2]))


@dataclass(frozen=True)
class VisualiseCommand(TranslationCommand):
    """nmt visualise."""

    model: Model
    input: Input
    tgt: Annotated[str | None, "file with a translation of every line, drawn instead of the model's; null = search"]
    tgt_text: Annotated[str | list[str] | None, "the same, typed: one text, or a list with one for every line"]
    output: Annotated[str | None, "folder; null = visualisations/ in the run folder"]
    format: Annotated[
        Literal["png", "svg", "html"], "png, svg (files for every line), or html (one page with all lines)"
    ]
    layer: Annotated[Count | None, "from 1; null = the mean of all, with a panel for each"]
    head: Annotated[Count | None, "from 1; null = the mean of all, with a panel for each"]

    def refuse(self) -> None:
        if self.tgt is not None and self.tgt_text is not None:
            raise ConfigError("tgt and tgt_text are both given; leave one out")
        searching = self.changes.within("search", "shortlist")
        if searching and (self.tgt is not None or self.tgt_text is not None):
            raise ConfigError(f"{searching[0]} is for searching, and the translations are given; leave one of them out")


@dataclass(frozen=True)
class AlignCommand(ModelCommand):
    """nmt align."""

    model: Model
    src: Annotated[str, "file with one sentence per line"]
    tgt: Annotated[str, "its translations, line by line"]
    output: Annotated[str | None, "file, written whole or not at all; null = standard output"]
    units: Annotated[
        Unit,
        "units that links count, from 0: words (between spaces; characters in scripts without spaces), or tokens "
        "(punctuation by itself)",
    ]
    rule: Annotated[
        Literal["argmax", "threshold"],
        "argmax: links each target unit to the source unit with the most attention; threshold: to every source unit "
        "with at least threshold=… of it",
    ]
    threshold: Annotated[Mass | None, "rule=threshold: smallest share of a target unit's attention"]
    layer: Annotated[Count | None, "layer of attention, from 1; null = the mean of all"]
    head: Annotated[Count | None, "head of attention, from 1; null = the mean of all"]
    reverse_model: Annotated[Folder | None, "run folder of a model of the other direction, to align with both models"]
    symmetrise: Annotated[
        Literal["intersection", "union", "grow-diag-final-and"] | None, "how the two directions are joined"
    ]

    def refuse(self) -> None:
        if self.rule == "threshold" and self.threshold is None:
            raise ConfigError("rule=threshold needs the least weight of a link; add, for example, threshold=0.2")
        if self.rule == "argmax" and self.threshold is not None:
            raise ConfigError(
                f"threshold={self.threshold} has no effect with rule=argmax; add rule=threshold, or leave it out"
            )
        if self.reverse_model is not None and self.symmetrise is None:
            raise ConfigError(
                "reverse_model is given, but not how both directions are joined; add symmetrise=grow-diag-final-and, "
                "for example"
            )
        if self.reverse_model is None and self.symmetrise is not None:
            raise ConfigError(
                f"symmetrise={self.symmetrise} joins two directions; name a model of the other one, reverse_model=RUN"
            )


@dataclass(frozen=True)
class InteractiveCommand(TranslationCommand):
    """nmt interactive."""

    history: Annotated[
        str | None,
        "file for the sentences that you type; auto = history in $XDG_CACHE_HOME/nmt, or in ~/.cache/nmt if that is "
        "not set; null = no file",
    ]


@dataclass(frozen=True)
class KeysCommand(Section):
    """nmt keys."""

    file: Annotated[
        str,
        "file of the keys; auto = keys.json in $XDG_CONFIG_HOME/nmt, or in ~/.config/nmt if that is not set",
    ]
    add: Annotated[
        str | None,
        "name of a new key: up to 64 letters a-z and A-Z, digits, dots, dashes and underscores; its secret is printed "
        "once, and kept nowhere",
    ]
    revoke: Annotated[str | None, "name of a key that servers must no longer accept"]
    characters_per_minute: Annotated[Count | None, "add: characters that the key may translate; null = no limit"]
    requests_per_minute: Annotated[Count | None, "add: requests that the key may send; null = no limit"]

    def refuse(self) -> None:
        if self.add is not None and self.revoke is not None:
            raise ConfigError("add and revoke are both given; type one after the other")
        for key in ("characters_per_minute", "requests_per_minute"):
            if self.add is None and (value := getattr(self, key)) is not None:
                raise ConfigError(f"{key}={value} is for a new key; name it, add=NAME, or leave {key} out")


@dataclass(frozen=True)
class ServeCommand(Section):
    """nmt serve."""

    model: Annotated[Folder | None, "run folder of the model to serve, for example runs/first"]
    models: Annotated[
        list[str] | None, "run folders of several models; the first of each direction is the default for it"
    ]
    languages: Annotated[
        list[str] | None, "direction of each model, such as [en-de,zh-Hant>en]; null = as the runs say (data.src_lang)"
    ]
    trust: Trust
    device: Device
    precision: Precisions
    workers: WorkerCount
    shortlist: Shortlisting
    changes: Changes
    host: Annotated[str, "address to listen on; 127.0.0.1 = this machine only, 0.0.0.0 = all its networks"]
    port: Annotated[int, Limits(least=0, most=65_535), "port to listen on; 0 = a free one, which is printed"]
    processes: Annotated[Workers, "processes that share the port, each with its own models and workers"]
    timeout_s: Annotated[Positive, "seconds after which the server gives up a request and drops its work"]
    file_timeout_s: Annotated[Positive, "seconds after which the server gives up an uploaded file"]
    queue_pieces: Annotated[
        Count, "most source pieces in the queue; beyond that, requests get 503 and the time to try again"
    ]
    cache_mb: Annotated[Whole, "megabytes of memory for translations of earlier sentences; 0 = no cache"]
    characters: Annotated[Count, "most characters in one request"]
    texts: Annotated[Count, "most texts in one request"]
    n_best: Annotated[Count, "most translations of a sentence that a request may ask for"]
    body_mb: Annotated[Count, "most megabytes in the body of a request, and in an uploaded file"]
    body_timeout_s: Annotated[Positive, "seconds within which a request must arrive"]
    keys: Annotated[str | None, "file of keys, made by nmt keys; auto = its default file; null = keys are not checked"]
    require_key: Annotated[bool, "refuse requests without a key"]
    characters_per_minute: Annotated[
        Count | None, "characters that each address may send without a key; null = no limit"
    ]
    requests_per_minute: Annotated[
        Count | None, "requests that each address may send without a valid key; null = no limit"
    ]
    trust_proxy: Annotated[list[str], "addresses of proxies whose X-Forwarded-For names the client"]
    origins: Annotated[list[str], "other sites whose pages may call the server, such as https://example.org"]
    page: Annotated[bool, "serve the page for browsers at /"]
    suggestions: Annotated[bool, "keep improvements that users send, in suggestions.jsonl in the run folder"]
    metrics: Annotated[bool, "serve figures for Prometheus at /metrics"]
    metrics_token: Annotated[
        str | None, "token that Prometheus must send, as Authorization: Bearer TOKEN; null = none is needed"
    ]
    log: Annotated[
        Literal["json"] | None, "json: a line for each request on stdout, with lengths, times and status, never text"
    ]
    watch_s: Annotated[
        Positive | None, "seconds between checks for changed models on disk to reload; null = reload on SIGHUP only"
    ]

    def refuse(self) -> None:
        if (self.model is None) == (self.models is None):
            both = "are both given" if self.model is not None else "are both missing"
            raise ConfigError(
                f"model and models {both}; name one run folder, model=runs/NAME, or several, models=[A,B]"
            )
        if self.models is not None and not self.models:
            raise ConfigError("models is an empty list; name run folders, models=[runs/en_de,runs/de_en]")
        if self.require_key and self.keys is None:
            raise ConfigError("require_key=true needs the keys; add keys=auto, and make one with nmt keys add=NAME")
        for address in self.trust_proxy:
            try:
                usual = str(ip_address(address))
            except ValueError:
                raise ConfigError(f"trust_proxy={address} is not an IP address; give one such as 127.0.0.1") from None
            if usual != address:
                raise ConfigError(f"trust_proxy={address} is not in the usual form; write it as {usual}")
        if "*" in self.origins:
            raise ConfigError("origins=[*] would let every site call; name the sites, such as https://example.org")
        for site in self.origins:
            if not ORIGIN.fullmatch(site):
                raise ConfigError(
                    f"origins={site} is not as browsers write a site: scheme, host and port in lower case, without a "
                    "slash at the end; write it so, such as https://example.org"
                )
        if self.metrics_token is not None and not self.metrics:
            raise ConfigError("metrics_token is given, and metrics=false; leave one of them out")

    @property
    def folders(self) -> list[str]:
        """The run folders as they were typed."""
        return [self.model] if self.model is not None else list(self.models or [])


@dataclass(frozen=True)
class ShortlistCommand(ModelCommand):
    """nmt shortlist."""

    model: Model
    best: Annotated[Count, "target pieces kept for each source piece: those to which attention links it most"]
    frequent: Annotated[Whole, "most frequent target pieces, which every sentence may use"]
    sentences: Annotated[Count | None, "most training pairs that are read, drawn at random; null = all"]
    seed: Annotated[Seed, "decides which pairs are drawn"]
    cache_dir: CacheDir


@dataclass(frozen=True)
class AverageCommand(Section):
    """nmt average."""

    model: Annotated[list[str], "run folders whose weights to average; all began with the same weights (init_from)"]
    weights: Annotated[list[float] | None, "a number for each run, its part of the mean; null = the same for all"]
    name: Annotated[Folder, "folder of the new run inside runs_dir; it has the configuration of the last model"]
    runs_dir: Annotated[Folder, "where runs are kept"]
    trust: Trust

    def refuse(self) -> None:
        refuse_outside_runs(self.name)


@dataclass(frozen=True)
class CleanCommand(Section):
    """nmt clean."""

    data: DataConfig
    output: Annotated[
        Folder, "folder for the pairs that stay and the report, new or empty; written whole or not at all"
    ]
    samples: Annotated[Whole, "pairs shown in the report for each filter that dropped them, drawn at random"]
    seed: Annotated[Seed, "decides which pairs are drawn"]
    scorer: Annotated[
        Folder | None, "run folder of a model of these languages, which scores the pairs; null = no pair is scored"
    ]
    scorer_reverse: Annotated[
        Folder | None,
        "run folder of a model of the other direction: pairs are scored by both, |a - b| + (a + b) / 2 for the two "
        "cross-entropies (dual conditional cross-entropy, Junczys-Dowmunt 2018)",
    ]
    max_end_surprise: Annotated[
        Positive | None,
        "scorer: drops pairs whose target ends where the model expects it to continue: nats of the end of "
        "sentence, such as 2; with scorer_reverse the source's end counts too",
    ]
    max_contrast: Annotated[
        Positive | None,
        "scorer: drops pairs whose target is hardly likelier given its own source than given the source of another "
        "pair: largest ratio of the two cross-entropies, such as 0.9; doubles the work; with scorer_reverse the "
        "higher ratio of both directions counts",
    ]
    max_cross_entropy: Annotated[Positive | None, "scorer: drops pairs with a higher score, in nats per piece"]
    drop_worst: Annotated[
        Share | None, "scorer: drops this share of the pairs that the filters leave: the pairs with the highest scores"
    ]
    trust: Trust
    device: Device
    workers: WorkerCount
    cache_dir: CacheDir

    def refuse(self) -> None:
        for side in ("src", "tgt"):
            if getattr(self.data, f"{side}_lang") is None:
                raise ConfigError(
                    f"data.{side}_lang is null, but it names the file of that side; give it, for example "
                    f"data.{side}_lang={'en' if side == 'src' else 'de'}"
                )
        if self.data.src_lang == self.data.tgt_lang:
            raise ConfigError(
                f"data.src_lang and data.tgt_lang are both {self.data.src_lang}, and name one file; make them differ"
            )
        for key in ("max_tokens", "max_ratio"):
            if (value := getattr(self.data.filters, key)) is not None:
                raise ConfigError(
                    f"data.filters.{key}={value} counts pieces, which nmt clean does not make; use "
                    f"data.filters.{'max_characters' if key == 'max_tokens' else 'max_length_ratio'}"
                )
        if self.data.train.weights is not None:
            raise ConfigError(
                f"data.train.weights={self.data.train.weights} is for training; nmt clean reads each pair once, leave "
                "it out"
            )
        limits = ("max_end_surprise", "max_contrast", "max_cross_entropy", "drop_worst")
        given = [key for key in limits if getattr(self, key) is not None]
        if self.scorer is None:
            for key in ("scorer_reverse", *given):
                if (value := getattr(self, key)) is not None:
                    raise ConfigError(f"{key}={value} needs a model of these languages; name one, scorer=runs/NAME")
        elif not given:
            raise ConfigError(
                f"scorer={self.scorer} scores the pairs, but no limit says which to drop; give one of "
                f"{', '.join(limits)}, for example drop_worst=0.1"
            )
        elif self.max_cross_entropy is not None and self.drop_worst is not None:
            raise ConfigError("max_cross_entropy and drop_worst are both given; leave one of them out")


@dataclass(frozen=True)
class AttentionsCommand(Section):
    """nmt attentions."""

    d_query: Annotated[Size, "size of the decoder's state"]
    d_memory: Annotated[Size, "size of the encoder's states, both directions together"]
    format: Annotated[Literal["text", "markdown"], "text, or markdown"]


@dataclass(frozen=True)
class StatusCommand(Section):
    """nmt status."""

    model: Model


@dataclass(frozen=True)
class DoctorCommand(Section):
    """nmt doctor."""

    self_test: Annotated[bool, "train a small model and translate with it"]
    runs_dir: Annotated[Folder, "where runs would be kept"]
    cache_dir: CacheDir
    device: Device
    workers: WorkerCount


COMMANDS: dict[str, type[Section]] = {
    "prepare": TrainCommand,
    "train": TrainCommand,
    "compare": CompareCommand,
    "tune": TuneCommand,
    "evaluate": EvaluateCommand,
    "translate": TranslateCommand,
    "interactive": InteractiveCommand,
    "serve": ServeCommand,
    "keys": KeysCommand,
    "shortlist": ShortlistCommand,
    "average": AverageCommand,
    "align": AlignCommand,
    "clean": CleanCommand,
    "visualise": VisualiseCommand,
    "attentions": AttentionsCommand,
    "status": StatusCommand,
    "doctor": DoctorCommand,
}


def refuse_outside_runs(name: str) -> None:
    """Refuses the name of a run that is no folder inside runs_dir: an empty one would be runs_dir itself."""
    path = PurePath(name)
    if not path.parts or ".." in path.parts or path.is_absolute():
        raise ConfigError(f"name={name} is no folder inside runs_dir; give one such as name=first")


def keys_of(verb: str) -> list[str]:
    """The top-level keys of the verb's configuration, without sections that only change the model's stored ones."""
    keys: list[str] = []
    for name, hint in hints_of(COMMANDS[verb]).items():
        if hint is not Changes:
            keys += hints_of(RunConfig) if hint is RunConfig else [name]
    return keys


def read_command(verb: str, settings: Mapping[str, Any], changes: Changes) -> Any:
    """The command of the verb, of its class in COMMANDS; `settings` is its whole configuration as plain data."""
    cls = COMMANDS[verb]
    found: dict[str, Any] = {}
    for name, hint in hints_of(cls).items():
        if hint is RunConfig:
            values = {key: settings[key] for key in hints_of(RunConfig) if key in settings}
            trust = convert(settings["trust"], Trust, "trust")
            found[name] = read_run_config(values, trust)
        elif hint is Changes:
            found[name] = changes
        elif name not in settings:
            raise ConfigError(f"{name} has no value; type {name}=<value>")
        else:
            found[name] = convert(settings[name], hint, name)
    if settings.get("resume") is None:  # a resumed run keeps its stored corpus
        for value in found.values():
            if isinstance(value, RunConfig | DataConfig):
                refuse_unread(value if isinstance(value, DataConfig) else value.data, changes)
    return cls(**found)
