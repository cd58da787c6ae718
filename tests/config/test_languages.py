"""Language codes are checked, and the right one is named where it is clear."""

import pytest

from nmt.config.compose import command_of
from nmt.config.languages import refuse_unknown_language
from nmt.errors import ConfigError


@pytest.mark.parametrize("code", ["de", "deu", "ger", "en-GB", "zh_Hans", "yue", "gsw", "sr-Latn", "ZH", "pt_br"])
def test_codes_of_languages_are_taken(code: str) -> None:
    refuse_unknown_language("data.tgt_lang", code)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("german", "de"), ("German", "de"), ("norwegan", "no"), ("greek", "el"), ("chinese", "zh"), ("thai", "th"),
        ("jp", "ja"), ("cn", "zh"), ("gr", "el"), ("cz", "cs"), ("dk", "da"), ("ua", "uk"), ("us", "en"), ("at", "de"),
    ],
)  # fmt: skip
def test_names_and_countries_lead_to_the_code(wrong: str, right: str) -> None:
    with pytest.raises(ConfigError, match=rf"^data.src_lang={wrong} is not a language code; did you mean '{right}'\?$"):
        refuse_unknown_language("data.src_lang", wrong)


@pytest.mark.parametrize("wrong", ["xx", "zz", "zzz", "", "?", "Deutsch", "e" * 50])
def test_what_means_nothing_is_refused_without_a_guess(wrong: str) -> None:
    with pytest.raises(ConfigError, match="is not a language code; give a code of ISO 639"):
        refuse_unknown_language("data.src_lang", wrong)


def test_a_command_line_with_an_unknown_code_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^data.tgt_lang=jp is not a language code; did you mean 'ja'\?$"):
        command_of("train", ["data.tgt_lang=jp"])
