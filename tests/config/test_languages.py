"""Language codes are checked, and the right one is named where it is clear."""

import pytest

from nmt.config.compose import command_of
from nmt.config.languages import (
    language_of,
    language_of_file,
    refuse_unknown_language,
    shown_languages,
    without_remark,
)
from nmt.errors import ConfigError


@pytest.mark.parametrize("code", ["de", "deu", "ger", "en-GB", "zh_Hans", "yue", "gsw", "sr-Latn", "ZH", "pt_br"])
def test_codes_of_languages_are_taken(code: str) -> None:
    refuse_unknown_language("data.tgt_lang", code)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("german", "de"), ("German", "de"), ("norwegan", "no"), ("greek", "el"), ("chinese", "zh"), ("thai", "th"),
        ("jp", "ja"), ("cn", "zh"), ("gr", "el"), ("cz", "cs"), ("dk", "da"), ("ua", "uk"), ("us", "en"), ("at", "de"),
        ("Deutsch", "de"), ("deutch", "de"), ("español", "es"), ("中文", "zh"), ("mandarin", "zh"), ("thia", "th"),
        ("simplified chinese", "zh-Hans"), ("farsi", "fa"), (" english ", "en"), ("bavarian", "bar"),
        ("jap", "ja"), ("viet", "vi"), ("engl", "en"), ("Port", "pt"), ("chin", "zh"),
    ],
)  # fmt: skip
def test_names_and_countries_lead_to_the_code(wrong: str, right: str) -> None:
    with pytest.raises(ConfigError, match=rf"^data.src_lang={wrong} is not a language code; did you mean '{right}'\?$"):
        refuse_unknown_language("data.src_lang", wrong)


@pytest.mark.parametrize("wrong", ["xx", "zz", "zzz", "", "?", "e", "e" * 50, "und", "mul", "zxx", "und-Latn"])
def test_what_means_nothing_is_refused_without_a_guess(wrong: str) -> None:
    with pytest.raises(ConfigError, match="is not a language code; give a code of ISO 639"):
        refuse_unknown_language("data.src_lang", wrong)


def test_a_command_line_with_an_unknown_code_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^data.tgt_lang=jp is not a language code; did you mean 'ja'\?$"):
        command_of("train", ["data.tgt_lang=jp"])


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("my.en", "en"), ("folder.x/my.de", "de"), ("europarl-v7.de-en.en", "en"), ("parts/*.DE.gz", "de"),
        ("a.en.txt", "en"), ("news.pt_BR", "pt-BR"), ("news.zh-Hans.xz", "zh-Hans"), ("my.en.txt.gz", "en"),
        ("train.src", None), ("train.tgt", None), ("my.deu", None), ("en", None), ("folder.en/my", None),
        ("a.xx", None), ("my.txt", None), ("my.en.tok", None), ("", None), (".", None),
        ("config/locales/en.yml", "en"), ("film.en.hi.srt", "en"), ("film.en.forced.srt", "en"),
        ("zh-Hant-TW.json", "zh-Hant-TW"), ("what_it_is.srt", "is"),
        ("app_pt_BR.arb", "pt-BR"), ("film.de.srt.gz", "de"),
        ("messages-fr.properties", "fr"), ("values-de/strings.xml", None), ("app.json", None),
        ("de/app.json", None), (".yml", None), ("x.en/y.yml", None),
    ],
)  # fmt: skip
def test_names_of_files_say_languages(name: str, code: str | None) -> None:
    assert language_of_file(name) == code


@pytest.mark.parametrize(
    ("words", "languages"),
    [
        (["data.train.src=my.en", "data.train.tgt=my.de"], ("en", "de")),
        (["data.train.src=[a.en,b.en.gz]", "data.train.tgt=[a.zh-Hant,b.zh-Hant]"], ("en", "zh-Hant")),
        (["data.train.src=[a.en,b.fr]", "data.train.tgt=[a.de,b.de]"], (None, None)),
        (["data.train.src=my.en", "data.train.tgt=my.en"], (None, None)),
        (["data.train.src=my.en", "data.train.tgt=my.tgt"], (None, None)),
        (["data.train.src=en/app_en.arb", "data.train.tgt=de/app_de.arb"], ("en", "de")),
        (["data.train.src=en.json", "data.train.tgt=sign_in.json"], (None, None)),
        (["data.train.src=[a.en.srt,b.en.srt]", "data.train.tgt=[a.de.srt,b.de.sdh.srt]"], ("en", "de")),
        (["data.train.src=my.en", "data.train.tgt=my.de", "data.src_lang=en"], ("en", "de")),
        (["data.train.src=my.en", "data.train.tgt=my.de", "data.tgt_lang=nl"], (None, "nl")),
        (["data.train.src=my.en", "data.train.tgt=my.de", "data.src_lang=fr", "data.tgt_lang=nl"], ("fr", "nl")),
        (["data.train.files=my.en"], (None, None)),
    ],
)
@pytest.mark.parametrize("data", [["data=text"], []])
def test_the_names_of_both_training_files_say_what_is_not_typed(
    words: list[str], languages: tuple[str | None, str | None], data: list[str]
) -> None:
    found = command_of("train", [*data, *words]).run.data
    assert (found.src_lang, found.tgt_lang) == languages


@pytest.mark.parametrize(
    ("src", "tgt", "said"),
    [
        ("my.en", "my.gr", "data.src_lang=en data.tgt_lang=el"),
        ("my.eng", "my.ell.gz", "data.src_lang=en data.tgt_lang=el"),
        ("m.english.txt", "m.greek.txt", "data.src_lang=en data.tgt_lang=el"),
        ("train.src", "train.tgt", "data.src_lang=CODE data.tgt_lang=CODE"),
        ("a.tok", "b.txt", "data.src_lang=CODE data.tgt_lang=CODE"),
        ("en/guide.md", "de/guide.md", "data.src_lang=CODE data.tgt_lang=CODE"),
        ("a.gr", "b.gr", "data.src_lang=CODE data.tgt_lang=CODE"),
    ],
)
def test_languages_that_are_not_known_are_asked_for(src: str, tgt: str, said: str) -> None:
    data = command_of("train", [f"data.train.src={src}", f"data.train.tgt={tgt}"]).run.data
    begins = "the languages are not known, so nothing tells whether the text is in another one; type "
    assert shown_languages(data) == begins + said


def test_one_language_that_is_not_known_is_asked_for() -> None:
    words = ["data.train.src=a.src", "data.train.tgt=a.gr", "data.src_lang=en"]
    said = "the language of the target is not known, so nothing tells whether the text is in another one; type "
    assert shown_languages(command_of("train", words).run.data) == f"{said}data.tgt_lang=el"


def test_languages_that_are_known_are_shown() -> None:
    data = command_of("train", ["data.train.src=a.en", "data.train.tgt=a.de"]).run.data
    assert shown_languages(data) == "from en to de (data.src_lang, data.tgt_lang)"


def test_a_remark_in_brackets_is_no_part_of_a_language() -> None:
    assert language_of("German (Germany)") == language_of(" de (x) (y) ") == "de"
    assert language_of("(German)") is None
    for odd in (" " * 10**6, "(" * 10**6, "x" + " (" * 10**6):  # in linear time
        assert without_remark(odd) == odd.strip()
