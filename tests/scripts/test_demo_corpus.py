"""Laws of the demo corpora: deterministic, varied, disjoint splits, far from copying, aligned."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
import sacrebleu

from demo_corpus import corpus, lexicon, numerals, report, tokens, write
from demo_corpus.sentences import Sentences

ROOT = Path(__file__).resolve().parents[2]

SEED = 1
ENDINGS = {"en": ".?!", "de": ".?!", "zh": "。？！"}


@pytest.fixture(scope="module")
def splits() -> dict[str, list[corpus.Pair]]:
    return corpus.generate(SEED)


@pytest.fixture(scope="module")
def everything(splits: dict[str, list[corpus.Pair]]) -> list[corpus.Pair]:
    return [pair for pairs in splits.values() for pair in pairs]


def read(name: str) -> list[str]:
    return (ROOT / "data" / name).read_text(encoding="utf-8").split("\n")[:-1]


@pytest.mark.slow
def test_more_training_pairs_leave_dev_and_test_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "SPLITS", {name: size // 20 for name, size in corpus.SPLITS.items()})
    own = SEED + 1  # generated splits are kept, and the other tests need them whole
    splits, larger = corpus.generate(own), corpus.generate(own, 500)
    assert (larger["dev"], larger["test"]) == (splits["dev"], splits["test"])
    assert larger["train"][:-500] == splits["train"]
    sentences = [pair.en.lower() for pairs in larger.values() for pair in pairs]
    assert len(set(sentences)) == len(sentences)


def test_fewer_pairs_than_none_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        write.main(["--more", "-1"])
    assert stop.value.code == 2
    assert "--more is -1; give 0 or more pairs" in capsys.readouterr().err


@pytest.mark.parametrize("share", ["0", "-0.1", "1.1", "nan"])
def test_a_lexicon_that_is_no_share_is_refused(share: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        write.main(["--lexicon", share])
    assert stop.value.code == 2
    assert f"--lexicon is {share}; give a share above 0, at most 1" in capsys.readouterr().err


@pytest.mark.slow
def test_a_share_of_the_lexicon_is_drawn_from() -> None:
    few, all_of_them = (Sentences(SEED, share) for share in (0.04, 1.0))
    used = []
    for choices in (few, all_of_them):
        pairs = [corpus.draw(choices) for _ in range(300)]
        assert all(corpus.SHORTEST <= corpus.words(pair.en) <= corpus.LONGEST for pair in pairs)
        used.append({lexeme for pair in pairs for lexeme in pair.lexemes})
    assert len(used[0]) < 0.2 * len(used[1])


@pytest.mark.slow
def test_files_are_what_the_seed_gives(splits: dict[str, list[corpus.Pair]]) -> None:
    for name, content in corpus.files(splits).items():
        assert (ROOT / "data" / name).read_bytes() == content, name
        assert b"\r" not in content


@pytest.mark.slow
def test_check_names_the_files_that_differ(
    splits: dict[str, list[corpus.Pair]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(write, "generate", lambda seed, more, lexicon: splits)

    def run(*arguments: str) -> int:
        return write.main(["--out", str(tmp_path), *arguments])

    assert run("--check") == 1
    assert run() == run("--check") == 0
    capsys.readouterr()
    changed = tmp_path / "demo_en_zh" / "test.align"
    changed.write_text("0-0\n")
    assert run("--check") == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert str(changed) in line


@pytest.mark.parametrize("target", ["de", "zh"])
def test_sizes(target: str) -> None:
    folder = f"demo_en_{target}"
    for split, size in corpus.SPLITS.items():
        assert len(read(f"{folder}/{split}.en")) == len(read(f"{folder}/{split}.{target}")) == size
    assert len(read(f"{folder}/test.align")) == corpus.SPLITS["test"]
    assert sum(path.stat().st_size for path in (ROOT / "data" / folder).iterdir()) < 3_000_000


@pytest.mark.slow
def test_no_source_sentence_twice(everything: list[corpus.Pair]) -> None:
    sources = [pair.en.lower() for pair in everything]
    assert len(set(sources)) == len(sources)


@pytest.mark.slow
def test_lexemes_and_clause_types(splits: dict[str, list[corpus.Pair]], everything: list[corpus.Pair]) -> None:
    for language in ("en", "de", "zh"):
        assert len(report.lexeme_counts(everything, language)) >= 1500
    train = report.lexeme_counts(splits["train"], "en")
    held_out = report.lexeme_counts([*splits["dev"], *splits["test"]], "en")
    assert min(train[key] for key in held_out) >= 10
    assert sum(count >= 20 for count in report.type_counts(everything).values()) >= 20


def test_english_words_have_one_reading() -> None:
    assert lexicon.homographs() == []


@pytest.mark.slow
def test_lengths(everything: list[corpus.Pair]) -> None:
    lengths = sorted(corpus.words(pair.en) for pair in everything)
    assert lengths[0] >= 3
    assert lengths[-1] <= 35
    assert 12 <= sum(lengths) / len(lengths) <= 16
    assert lengths[len(lengths) * 3 // 4] >= 19
    assert all(lengths.count(length) >= 50 for length in range(3, 34))


@pytest.mark.slow
def test_large_numbers_are_few(everything: list[corpus.Pair]) -> None:
    thousands = sum("thousand" in pair.en for pair in everything)
    assert 0 < thousands < 0.05 * len(everything)


@pytest.mark.slow
def test_test_set_is_far_from_the_training_set(splits: dict[str, list[corpus.Pair]]) -> None:
    train = [pair.en for pair in splits["train"]]
    assert report.far_share(train, [pair.en for pair in splits["test"]]) >= 0.9


def edits(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    """Levenshtein distance."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


def test_far_share_agrees_with_the_edit_distance() -> None:
    random = Random(0)
    for _ in range(200):
        lines = [" ".join(random.choice("abc") for _ in range(random.randrange(1, 6))) for _ in range(3)]
        near = min(edits(tuple(lines[0].split()), tuple(line.split())) for line in lines[1:]) <= 1
        assert report.far_share(lines[1:], lines[:1]) == (0 if near else 1), lines


def test_names_and_numbers_are_masked() -> None:
    masked = report.masked("Anna's dog saw twenty-three thousand four hundred and five cats and two birds.")
    assert masked == ("<name>'s", "dog", "saw", "<number>", "cats", "and", "<number>", "birds", ".")


@pytest.mark.slow
@pytest.mark.parametrize(("target", "tokenizer"), [("de", "13a"), ("zh", "zh")])
def test_copying_the_nearest_sentence_scores_low(target: str, tokenizer: str) -> None:
    """The baseline: the translation of the training sentence with the nearest TF-IDF vector."""
    train = [Counter(tokens.tokenise(line.lower(), "en")) for line in read(f"demo_en_{target}/train.en")]
    frequency = Counter(word for bag in train for word in bag)
    weight = {word: math.log(len(train) / count) for word, count in frequency.items()}
    postings: dict[str, list[tuple[int, int]]] = {}
    norms = [math.sqrt(sum((n * weight[w]) ** 2 for w, n in bag.items())) for bag in train]
    for index, bag in enumerate(train):
        for word, count in bag.items():
            postings.setdefault(word, []).append((index, count))
    translations = read(f"demo_en_{target}/train.{target}")
    copies = []
    for line in read(f"demo_en_{target}/test.en"):
        scores: dict[int, float] = {}
        for word, count in Counter(tokens.tokenise(line.lower(), "en")).items():
            if frequency[word] < len(train) / 4:
                for index, other in postings.get(word, []):
                    scores[index] = scores.get(index, 0.0) + count * other * weight[word] ** 2
        copies.append(translations[max(scores, key=lambda index: scores[index] / norms[index])])
    bleu = sacrebleu.corpus_bleu(copies, [read(f"demo_en_{target}/test.{target}")], tokenize=tokenizer)
    assert bleu.score <= 40


@pytest.mark.slow
@pytest.mark.parametrize("target", ["de", "zh"])
def test_alignments(target: str, splits: dict[str, list[corpus.Pair]]) -> None:
    """In range, and nearly every sentence has a link at every content word."""
    content = content_words(target)
    complete = 0
    lines = zip(*(read(f"demo_en_{target}/test.{end}") for end in ("en", target, "align")), strict=True)
    for source, translation, alignment in lines:
        left, right = tokens.tokenise(source, "en"), tokens.tokenise(translation, target)
        links = [tuple(map(int, link.split("-"))) for link in alignment.split()]
        assert all(0 <= i < len(left) and 0 <= j < len(right) for i, j in links)
        linked_left, linked_right = {i for i, _ in links}, {j for _, j in links}
        bare = [t for i, t in enumerate(left) if i not in linked_left and t.lower() in content_words("en")]
        if target == "de":
            bare += [t for j, t in enumerate(right) if j not in linked_right and t in content]
        else:
            bare += [t for j, t in enumerate(right) if j not in linked_right and t not in "，。？！、吗"]
        complete += not bare
    assert complete >= 0.99 * corpus.SPLITS["test"]


@cache
def content_words(language: str) -> set[str]:
    if language == "en":
        lexemes = [*lexicon.NOUNS, *lexicon.VERBS, *lexicon.ADJECTIVES]
        return {form.split()[0].lower() for lexeme in lexemes for form in lexicon.english_forms(lexeme)}
    nouns = {form for noun in lexicon.NOUNS for form in (noun.de, noun.plural_de) if form}
    return nouns | {verb.participle_de for verb in lexicon.VERBS} | {phrase.de for phrase in lexicon.PHRASES}


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "de", "zh"])
def test_text_is_clean(language: str, everything: list[corpus.Pair]) -> None:
    for pair in everything:
        line = getattr(pair, language)
        assert line[-1] in ENDINGS[language]
        assert line == line.strip()
        pieces = tokens.tokenise(line, language)
        if language == "zh":
            assert not any(c.isspace() or c in ",.?!" for c in line)
        else:
            assert tokens.join([tokens.Token(piece) for piece in pieces]) == line
            assert line[0].isupper()
            assert "  " not in line
        assert not any(a == b and a in "，、," for a, b in pairwise(pieces)), line


@pytest.mark.parametrize("target", ["de", "zh"])
def test_readme_shows_pairs_of_the_corpus(target: str) -> None:
    pairs = set(zip(read(f"demo_en_{target}/test.en"), read(f"demo_en_{target}/test.{target}"), strict=True))
    shown = (ROOT / "data" / "README.md").read_text(encoding="utf-8").split("\n- ")[1:]
    samples = [tuple(sample.split("\n\n")[0].rstrip("\n").split("\\\n  ")) for sample in shown]
    assert sum(sample in pairs for sample in samples) == 5


def test_numbers_in_words() -> None:
    assert numerals.german_number(23_405) == "dreiundzwanzigtausendvierhundertfünf"
    assert numerals.english_number(23_405) == "twenty-three thousand four hundred and five"
    assert numerals.chinese_number(23_405, True) == "两万三千四百零五"
    for language in (
        numerals.english_number,
        numerals.german_number,
        lambda n: numerals.chinese_number(n, False),
    ):
        sample = [*range(1, 3000), *range(9_990, 1_000_000, 977)]
        assert len({language(n) for n in sample}) == len(set(sample))


def test_verb_forms() -> None:
    """Separable prefixes close main clauses, join subordinate ones, and take ge and zu inside."""
    close = next(verb for verb in lexicon.VERBS if verb.en == "close")
    assert (close.prefix, close.er_form, close.past_de, close.participle_de) == (
        "zu",
        "macht",
        "machte",
        "zugemacht",
    )
    repair = next(verb for verb in lexicon.VERBS if verb.en == "repair")
    assert (repair.er_form, repair.participle_de) == ("repariert", "repariert")
