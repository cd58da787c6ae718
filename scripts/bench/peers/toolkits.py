"""What is asked of each toolkit: read an epoch, train, translate. Every measurement is a process of its own."""

import json
import shutil
import string
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.peers.environments import PEERS, REPEAT, Workplace
from bench.peers.meter import MARK
from bench.peers.text import SPLITS, Text
from bench.processes import nmt_command
from command_line import SCRIPTS
from nmt.config.compose import CONFIGS
from nmt.data.paths import read_lines
from nmt.errors import NmtError
from nmt.runs.folder import FORMAT
from nmt.scoring.metrics import score_corpus

WARM_UP = 20  # updates before the clock starts
UPDATES, RATE, BATCH_TOKENS = 900, 0.001, 1536  # how the models that translate are trained
FOREVER = 1_000_000_000
ONLY_UPDATES = f"metric=loss bleu_sentences=0 examples=0 patience=null max_epochs=null validate_every={FOREVER}".split()


@dataclass(frozen=True)
class Training:
    """One measurement."""

    tokens_per_s: float  # real target tokens, ends of sentences included
    updates: int
    others: float  # share of the machine that other processes used
    threads: int
    peak_memory_mb: float  # resident


@dataclass(frozen=True)
class Translation:
    """One measurement."""

    sentences_per_s: float
    seconds: float
    pieces: float  # a translation, end of sentence not counted
    bleu: float
    signature: str
    others: float
    threads: int
    peak_memory_mb: float


@dataclass(frozen=True)
class Toolkits:
    """Ours and the peers of these keys, whose environments are set up."""

    place: Workplace
    text: Text
    keys: list[str]
    precision: str  # of ours; the peers know fp32 alone on a processor
    train_words: list[str]  # more words for `nmt train` where its speed is measured
    translate_words: list[str]  # and for `nmt translate`

    def wrapper(self, key: str, what: str, *words: object) -> dict[str, float]:
        """What a peer's wrapper measured in the peer's environment."""
        command = [self.place.python(key), "-m", f"bench.peers.run_{key}", *words]
        return measured(self.place.run(what, f"{key}-{words[0]}", command, path=str(SCRIPTS)), what)

    def ours(self, verb: str, *words: str) -> dict[str, float]:
        """What the same measured of ours."""
        command = [sys.executable, "-m", "bench.peers.run_nmt", verb, *words]
        return measured(self.place.run(f"nmt {verb}", f"nmt-{verb}", command), f"nmt {verb}")

    def config(self, key: str, name: str, **changes: object) -> Path:
        """The peer's configuration, NAME in the folder; `changes` to how its speed of training is measured."""
        place, text = self.place, self.text.folder
        values: dict[str, object] = {"vocabulary": text / f"vocabulary.{key}", "every": FOREVER, "kept": 1}
        values |= {"learning_rate": 0.0005, "batch_tokens": 4096}
        values |= files_of(key, text)
        if key == "joeynmt":
            values |= {"folder": place.folder / "joeynmt" / name, "model": None, "beam": 5}
        else:
            values |= {"sentences": self.text.sentences, "input_feed": 0, "model": place.folder / "opennmt" / name}
            values |= {"updates": FOREVER}
        path = place.folder / "configs" / f"{key}-{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(render(Path(__file__).with_name(f"{key}.yaml").read_text("utf-8"), values | changes), "utf-8")
        return path

    def take_censuses(self) -> None:
        """Makes sure that the peers read what we read; once for a text."""
        for key in self.keys:
            self.place.once(f"census-{key}", self.text.fingerprint, self.text.folder, partial(self.take_census, key))

    def take_census(self, key: str) -> None:
        """Refuses a peer that reads other tokens than we do."""
        peer, text = PEERS[key], self.text
        found = self.wrapper(key, f"{peer.name} reading", "count", self.config(key, "train"), str(text.sentences))
        wanted = {"sentences": text.sentences, "tokens": text.tokens, "unknown": 0}
        if differing := [name for name in wanted if found[name] != wanted[name]]:
            shown = ", ".join(f"{found[name]:,} {name} instead of {wanted[name]:,}" for name in differing)
            raise NmtError(f"{peer.name} reads {shown} in {text.folder}; delete that folder and run this again")

    def train(self, key: str | None, feeding: bool, seconds: float) -> Training:
        """The speed of training the reference model; None: ours."""
        meter = f"{seconds:g}", str(WARM_UP)
        if key is None:
            with tempfile.TemporaryDirectory() as runs:
                words = [f"runs_dir={runs}", f"decoder.input_feeding={str(feeding).lower()}"]
                words += [f"train.max_updates={FOREVER}", f"train.precision={self.precision}", *self.train_words]
                figures = self.ours("train", *meter, *self.words(), *words)
        else:
            changes = {"input_feed": int(feeding)} if key == "opennmt" else {}
            config = self.config(key, "train", **changes)
            figures = self.wrapper(key, f"{PEERS[key].name} training", "train", config, *meter)
        return Training(**figures)  # type: ignore[arg-type]  # counts are whole

    def words(self) -> list[str]:
        """For `nmt train`: the reference model, with nothing beside the updates."""
        place = self.place
        data = [f"data.root={place.multi30k}", f"cache_dir={place.cache}", "name=reference", "train.device=cpu"]
        bare = [f"train.{setting}" for setting in ONLY_UPDATES]
        return ["experiment=reference", *data, *bare]

    def make_models(self) -> None:
        """The models that translate; JoeyNMT's is OpenNMT-py's."""
        recipe = json.dumps([self.text.fingerprint, UPDATES, RATE, BATCH_TOKENS])
        self.place.once("model-opennmt", recipe, self.model("opennmt"), self.train_opennmt)
        if "joeynmt" in self.keys:
            self.place.once("model-joeynmt", recipe, self.model("joeynmt"), self.convert)
        recipe += f"{FORMAT} " + (CONFIGS / "experiment" / "reference.yaml").read_text("utf-8")
        self.place.once("model-nmt", recipe, self.model(None), self.train_ours)
        shortlist = self.model(None) / "shortlist.safetensors"
        settings = recipe + (CONFIGS / "shortlist.yaml").read_text("utf-8")
        self.place.once("shortlist-nmt", settings, shortlist, self.learn_shortlist)

    def model(self, key: str | None) -> Path:
        """Where the trained model lies; None: ours."""
        if key is None:
            return self.place.folder / "runs" / "reference"
        name = f"translating_step_{UPDATES}.pt" if key == "opennmt" else "translating.ckpt"
        return self.place.folder / key / name

    def train_opennmt(self) -> None:
        """Some minutes."""
        changes = {"learning_rate": RATE, "batch_tokens": BATCH_TOKENS, "updates": UPDATES, "every": UPDATES}
        config = self.config("opennmt", "translating", **changes)
        command = [self.place.python("opennmt"), "-m", "onmt.bin.train", "-config", config]
        self.place.run(f"{PEERS['opennmt'].name} training", "opennmt-model", command, path="")

    def convert(self) -> None:
        """Seconds."""
        vocabulary, model = self.text.folder / "vocabulary.joeynmt", self.model("joeynmt")
        model.parent.mkdir(exist_ok=True)
        words = ["-m", "bench.peers.joeynmt_weights", self.model("opennmt"), vocabulary, model]
        command = [self.place.python("opennmt"), *words]
        self.place.run("giving JoeyNMT the weights", "joeynmt-model", command, path=str(SCRIPTS))

    def train_ours(self) -> None:
        """Some minutes, by the same recipe."""
        run = self.model(None)
        shutil.rmtree(run, ignore_errors=True)
        recipe = [f"train.max_updates={UPDATES}", f"train.batch_tokens={BATCH_TOKENS}", f"optimizer.lr={RATE}"]
        recipe += ["optimizer.beta2=0.999", "schedule=constant"]
        command = nmt_command("train", *self.words(), f"runs_dir={run.parent}", *recipe)
        self.place.run("nmt train", "nmt-model", command)

    def learn_shortlist(self) -> None:
        """Of our model, from the training split; some seconds."""
        words = [f"model={self.model(None)}", f"cache_dir={self.place.cache}"]
        self.place.run("nmt shortlist", "nmt-shortlist", nmt_command("shortlist", *words))

    def translate(self, key: str | None, beam: int, shortlist: bool) -> Translation:
        """The speed of translating the test split, and what came out; None: ours, with its `shortlist` or without."""
        folder = self.place.folder / "translations"
        folder.mkdir(exist_ok=True)
        if key is None:
            lines, pieces, figures = self.translate_ours(beam, shortlist, folder / f"nmt.{beam}")
        else:
            segmented, figures = self.translate_peer(key, beam, folder / f"{key}.{beam}")
            lines, pieces = self.text.decode(segmented), sum(len(line.split()) for line in segmented)
        references = list(read_lines(self.place.multi30k / f"{SPLITS['test']}.de"))
        if len(lines) != len(references):
            raise NmtError(f"{len(lines):,} translations of {len(references):,} sentences, in {folder}; {REPEAT}")
        bleu = score_corpus(lines, [references], "de", intervals=False)[0]
        return Translation(
            sentences_per_s=len(lines) / figures["seconds"],
            pieces=pieces / len(lines),
            bleu=bleu.score,
            signature=bleu.signature,
            **figures,  # type: ignore[arg-type]  # threads are whole
        )

    def translate_ours(self, beam: int, shortlist: bool, output: Path) -> tuple[list[str], float, dict[str, float]]:
        """Lines of text, their pieces, figures."""
        source = self.place.multi30k / f"{SPLITS['test']}.en"
        files = [f"model={self.model(None)}", f"input={source}", f"output={output}"]
        words = [f"search.beam={beam}", f"shortlist={str(shortlist).lower()}", f"precision={self.precision}"]
        words += ["device=cpu", *self.translate_words]
        figures = self.ours("translate", *files, *words)
        pieces, read = figures.pop("tgt_pieces"), figures.pop("src_pieces")
        if read != self.text.test_src_pieces:
            raise NmtError(
                f"our model reads {read:,} pieces of {source} instead of {self.text.test_src_pieces:,}; "
                f"delete {self.model(None)} and run this again"
            )
        return list(read_lines(output)), pieces, figures

    def translate_peer(self, key: str, beam: int, output: Path) -> tuple[list[str], dict[str, float]]:
        """Lines of pieces, figures."""
        what, test = f"{PEERS[key].name} translating", self.text.folder / "test"
        if key == "joeynmt":
            (self.place.folder / key / "translating").mkdir(parents=True, exist_ok=True)  # for its log
            config = self.config(key, "translating", dev=None, test=test, model=self.model(key), beam=beam)
            figures = self.wrapper(key, what, "translate", config, output)
            return list(read_lines(Path(f"{output}.test"))), figures
        words = opennmt_words(self.model(key), Path(f"{test}.src"), output, beam)
        figures = self.wrapper(key, what, "translate", *words)
        return list(read_lines(output)), figures


def files_of(key: str, text: Path) -> dict[str, object]:
    """What the peer's configuration calls the files of segmented text in a folder."""
    if key == "joeynmt":
        return {split: text / split for split in SPLITS}
    return {f"{split}_{side}": text / f"{split}.{side}" for split in SPLITS for side in ("src", "tgt")}


def opennmt_words(model: Path, source: Path, output: Path, beam: int) -> list[object]:
    """For OpenNMT-py's translation."""
    words = ["-model", model, "-src", source, "-output", output, "-beam_size", beam]
    return [*words, "-batch_size", 64, "-batch_type", "sents", "-max_length", 100, "-length_penalty", "avg"]


def render(template: str, values: dict[str, object]) -> str:
    """The template with its $words filled in, as YAML."""
    return string.Template(template).substitute({key: as_yaml(value) for key, value in values.items()})


def as_yaml(value: object) -> str:
    """A value as YAML, which holds all of JSON."""
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)


def measured(said: str, what: str) -> dict[str, float]:
    """The figures in what a measured process said."""
    for line in reversed(said.splitlines()):
        if line.startswith(MARK):
            figures: dict[str, float] = json.loads(line.removeprefix(MARK))
            return figures
    raise NmtError(f"{what} ended without a measurement; {REPEAT}")
