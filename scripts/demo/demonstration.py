"""`make demo`: the same model trained with and without attention, side by side, on sentences that are made on the spot.

    python scripts/demo [--pair en_zh] [words for nmt train, such as train.max_epochs=2]

Safe to repeat and to interrupt: finished trainings are not repeated, stopped ones go on.
"""

import argparse
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from urllib.parse import urlencode

from command_line import SCRIPTS, own_and_words
from nmt.cli.exit_codes import INTERRUPTED
from nmt.config.compose import command_of
from nmt.data.corpus import read_lines, resolve
from nmt.errors import ConfigError
from nmt.figures.attention import attention_figure
from nmt.figures.curves import bleu_by_length_figure
from nmt.figures.figure import save_figure
from nmt.figures.terminal import attention_text
from nmt.machine.safe_files import make_folder, refuse_unwritable, write_atomically
from nmt.machine.signals import SAVED
from nmt.scoring.alignment import source_length
from nmt.scoring.metrics import LengthBucket, bleu_by_length, score_corpus
from nmt.translation.translator import Translator
from processes import ended, started

LEXICON, MORE = 0.04, 12_000  # few words, so that even a model without attention learns them within minutes
RECIPE = (  # in place of what is right for the whole lexicon
    "tokenizer.vocab_size=1500",
    # few words are not learned by heart in so short a training
    *("encoder.dropout=0", "decoder.dropout=0", "model.embed_dropout=0"),
    *("optimizer.lr=0.008", "schedule.warmup=400", "train.batch_tokens=500"),
    *("train.max_epochs=3", "train.validate_every=1000"),
    *("train.parts=1", "train.workers=1"),  # one core for each model
)
SHOWN_LENGTH = 10  # words of the test sentence whose attention is drawn: the first that is translated right
COMPARED_LENGTH = 14  # words of the one to see in both models: the first that only the model with attention gets right
TRIED_LENGTH = 6  # words of the sentences that one may try
LAST_LINES = 5  # of the log of a training that failed


@dataclass(frozen=True)
class Result:
    """One model on the test split."""

    bleu: float
    signature: str
    by_length: list[LengthBucket]
    translations: list[str]


def main(given: Sequence[str]) -> int:
    """Trains both models, then prints what attention changed."""
    arguments, words = parse_arguments(given)
    start = perf_counter()
    refuse_unwritable(arguments.runs, "--runs")
    refuse_other_words(arguments.pair, arguments.runs, words)
    root = corpus(arguments.pair, arguments.runs)
    words = [f"data.root={root}", *RECIPE, *words]
    runs = {name: arguments.runs / f"demo_{arguments.pair}_{name}" for name in ("general", "none")}
    train(arguments.pair, runs, words)
    src_lang, tgt_lang = arguments.pair.split("_")
    sources = list(read_lines(resolve(f"test.{src_lang}", root)))
    reference = list(read_lines(resolve(f"test.{tgt_lang}", root)))
    translators = {name: Translator.load(run) for name, run in runs.items()}
    results = {name: evaluate(t, sources, reference, tgt_lang) for name, t in translators.items()}
    show_scores(results)
    show_longest(results, sources, reference)
    right = {
        name: [found == line for found, line in zip(r.translations, reference, strict=True)]
        for name, r in results.items()
    }
    show_attention(translators["general"], chosen(sources, SHOWN_LENGTH, right["general"]), runs["general"])
    figure = bleu_by_length_figure({f"attention={name}": result.by_length for name, result in results.items()})
    save_figure(figure, runs["general"] / "bleu_by_length.png")
    minutes = (perf_counter() - start) / 60
    print(f"\nPictures: {runs['general']}/attention.png and bleu_by_length.png. All this took {minutes:.1f} minutes.")
    print(what_to_try(resolve(f"train.{src_lang}", root), sources))
    apart = [general and not none for general, none in zip(right["general"], right["none"], strict=True)]
    text = chosen(sources, COMPARED_LENGTH, apart)
    print(next_steps(**runs, link={"from": src_lang, "to": tgt_lang, "compare": runs["none"].name, "text": text}))
    return 0


def chosen(sources: Sequence[str], length: int, fits: Sequence[bool]) -> str:
    """The first sentence of this many words that fits; else the first of this length, else the first of all."""
    of_length = [number for number, source in enumerate(sources) if source_length(source) == length]
    return sources[next((number for number in of_length if fits[number]), (of_length or [0])[0])]


DEFAULT = Path("runs/demo_en_de_general")  # what make serve serves without words, beside the model without attention


def what_to_try(train: Path, sources: Sequence[str]) -> str:
    """Which words the models know, and some sentences of these words."""
    words = {word for line in read_lines(train) for word in re.findall(r"[\w'-]+", line.lower())}
    some = [sentence for sentence in sources if source_length(sentence) == TRIED_LENGTH][:3]
    known = f"The models know the {len(words):,} words of {train}, and no others. Sentences to try:"
    return "\n".join(["", known, *(f"  {sentence}" for sentence in some)])


def next_steps(general: Path, none: Path, link: Mapping[str, str]) -> str:
    """What to type after the demo; `link` has the fields of the page's link."""
    serve = "make serve" if general == DEFAULT else f'make serve ARGS="models=[{general},{none}]"'
    steps = {
        serve: "the same in the browser: both models side by side, and where they look. Then open\n"
        f"      http://127.0.0.1:5000/#{urlencode(link)}",
        f'make interactive ARGS="model={general}"': "type sentences; :attention shows where the model looks",
        f'make evaluate ARGS="model={general}"': "BLEU, chrF and TER with confidence intervals",
        "make tensorboard": "the learning curves",
        'make train ARGS="data.train.src=my.en data.train.tgt=my.de name=mine"': "your own two files",
    }
    return "\n".join(["\nType next:", *(f"  {step}\n      {what}" for step, what in steps.items())])


def parse_arguments(given: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Our options, and the words that go to `nmt train` as they are."""
    parser = argparse.ArgumentParser(prog="python scripts/demo", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pair", choices=["en_de", "en_zh"], default="en_de", help="which demo corpus")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder for the two runs")
    return own_and_words(parser, given)


def refuse_other_words(pair: str, runs: Path, words: Sequence[str]) -> None:
    """Refuses words that nmt does not know, and other words than those of the models that are there."""
    command_of("train", [f"experiment=demo_{pair}", "name=demo", *words])
    typed = "".join(f"{word}\n" for word in words)
    file = runs / f"demo_{pair}.words"
    before = file.read_text("utf-8") if file.exists() else ""
    if before != typed and any(runs.glob(f"demo_{pair}_*/manifest.json")):
        shown = " ".join(before.split("\n")).strip() or "none"
        raise ConfigError(
            f"the models in {runs} were trained with other words ({shown}); give those, or another --runs"
        )
    make_folder(runs)
    write_atomically(file, typed.encode())


def corpus(pair: str, runs: Path) -> str:
    """The folder of the corpus, which is made where it is missing; the same bytes on every machine."""
    folder = runs / "demo_corpus"
    if not folder.exists():
        print(f"=== Making sentences of {LEXICON:.0%} of the demo grammar's lexicon: {folder} ===", flush=True)
        unfinished = folder.with_name("demo_corpus.unfinished")
        script = SCRIPTS / "demo_corpus"
        make = [sys.executable, str(script), "--out", str(unfinished)]
        run_or_exit([*make, "--lexicon", str(LEXICON), "--more", str(MORE)])
        unfinished.rename(folder)
    return str((folder / f"demo_{pair}").resolve())


def train(pair: str, runs: Mapping[str, Path], words: Sequence[str]) -> None:
    """Trains the demo recipe with each attention, both at the same time, and shows the first training."""
    (shown, run), (other, beside) = runs.items()
    log = beside.with_name(f"{beside.name}.log")
    print(f"\n=== {pair.replace('_', ' to ')}, attention={shown}: {run} ===")
    print(f"=== attention={other} is trained at the same time: {beside}, in {log} ===", flush=True)
    with (
        left_to_children(),
        open(log, "a") as file,
        started(training(pair, other, beside, words), stdout=file, stderr=subprocess.STDOUT) as second,
    ):
        code = ended(training(pair, shown, run, words))
        if code == 0 and second.poll() is None:
            print(f"\nattention={other} is not finished yet; what it does is in {log}", flush=True)
        if code not in (0, SAVED, INTERRUPTED):  # after Ctrl-C, the other one is saving, too
            second.terminate()
    if code == 0 and second.returncode:
        print(*log.read_text().splitlines()[-LAST_LINES:], sep="\n", file=sys.stderr)
    if code or second.returncode:
        sys.exit(code or second.returncode)


def training(pair: str, attention: str, run: Path, words: Sequence[str]) -> list[str]:
    """The command for a run: new, continued, or found finished."""
    given = [f"experiment=demo_{pair}", f"attention={attention}", f"name={run.name}", f"runs_dir={run.parent}", *words]
    if (run / "manifest.json").exists():
        given = [f"resume={run}"]
    return [sys.executable, "-m", "nmt.cli.main", "train", *given]


@contextmanager
def left_to_children() -> Iterator[None]:
    """Ctrl-C is left to the processes that are started: they save what they have."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def run_or_exit(command: Sequence[str]) -> None:
    """Runs a process, and ends with its exit code where it fails."""
    with left_to_children():
        code = ended(command)
    if code:
        sys.exit(code)


def evaluate(translator: Translator, sources: list[str], reference: list[str], tgt_lang: str) -> Result:
    """BLEU of the model, over all and by source length."""
    translations = [translation.text for translation in translator.translate(sources)]
    bleu = score_corpus(translations, [reference], tgt_lang, intervals=False)[0]
    lengths = [source_length(sentence) for sentence in sources]
    by_length = bleu_by_length(lengths, translations, [reference], tgt_lang)
    return Result(bleu.score, bleu.signature, by_length, translations)


def show_scores(results: dict[str, Result]) -> None:
    """A table: BLEU of both models, over all and in quarters of the source length."""
    with_attention, without = results["general"], results["none"]
    rows = [("all sentences", with_attention.bleu, without.bleu)]
    for bucket, other in zip(with_attention.by_length, without.by_length, strict=True):
        rows.append((f"{bucket.low} to {bucket.high} words", bucket.bleu, other.bleu))
    print("\n=== What attention is for: BLEU on 500 test sentences ===\n")
    print(f"{'source length':<18}{'with attention':>16}{'without':>10}{'difference':>12}")
    for name, a, b in rows:
        print(f"{name:<18}{a:>16.1f}{b:>10.1f}{a - b:>+12.1f}")
    print(f"\n{with_attention.signature}")


def show_longest(results: dict[str, Result], sources: list[str], reference: list[str]) -> None:
    """The longest test sentence, as both models translate it."""
    longest = max(range(len(sources)), key=lambda i: source_length(sources[i]))
    print("\n=== The longest test sentence ===\n")
    print(f"source     {sources[longest]}\nreference  {reference[longest]}")
    print(f"with       {results['general'].translations[longest]}")
    print(f"without    {results['none'].translations[longest]}")


def show_attention(translator: Translator, sentence: str, run: Path) -> None:
    """Where the model looked, in the terminal and as a picture."""
    translation = translator.translate([sentence], attention=True)[0]
    print(f"\n=== Attention: {sentence} ===\n")
    print(attention_text(*translation.word_attention))
    save_figure(attention_figure(*translation.word_attention), run / "attention.png")
