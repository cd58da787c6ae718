"""What BLEU counts as a word: by the language, or by the script; said in the signature."""

import pytest
from helpers.small_corpora import data_config

from nmt.scoring import word_rules
from nmt.scoring.metrics import bleu, score_corpus
from nmt.scoring.word_rules import CHARACTERS, bleu_tokenizer, lacking, word_rule_of

TEXTS = {
    "thai": ("ฉันรักคุณมาก", "13a", "char"),
    "lao": ("ຂ້ອຍຮັກເຈົ້າ", "13a", "char"),
    "khmer": ("ខ្ញុំស្រឡាញ់អ្នក", "13a", "char"),
    "burmese": ("ငါမင်းကိုချစ်တယ်", "13a", "char"),
    "chinese": ("我愛你們，也愛他們。", "13a", "zh"),
    "japanese": ("私はあなたを愛しています。", "13a", "char"),
    "german": ("Ich liebe dich.", "13a", "13a"),
    "korean": ("나는 너를 사랑해.", "13a", "13a"),  # which has spaces
    "german with a Chinese name": ("Der Name 李 ist häufig.", "13a", "13a"),
    "tibetan": ("བོད་ཡིག་གི་ཚིག", "13a", "char"),
    "javanese": ("ꦲꦏ꧀ꦱꦫꦗꦮ", "13a", "char"),
    "chinese with English words": ("请点击 Settings 然后选择 Privacy", "13a", "zh"),
    "chinese with placeholders": ("{user_name} 已将文件 {file_name} 删除", "13a", "zh"),
    "thai with English words": ("ดาวน์โหลด Microsoft Visual Studio Code", "13a", "char"),
    "japanese with numbers": ("iPhone 15 Proの価格は159,800円です", "13a", "char"),
}


@pytest.mark.parametrize(
    ("codes", "tokeniser"),
    [
        (("zh", "zh-CN", "zh_Hans", "ZH", "zho", "cmn", "yue", "zh-HK"), "zh"),
        (("th", "tha", "th-TH", "lo", "km", "khm", "my", "mya", "bo"), "char"),
        ((None, "de", "en-GB", "vi"), "13a"),
    ],
)
def test_the_tokeniser_follows_the_target_language(codes: tuple[str | None, ...], tokeniser: str) -> None:
    assert {bleu_tokenizer(code) for code in codes} == {tokeniser}


@pytest.mark.parametrize("name", TEXTS)
def test_without_a_language_the_script_decides(name: str) -> None:
    text, _, tokeniser = TEXTS[name]
    data = data_config("text", tgt_lang=None)
    assert bleu_tokenizer(word_rule_of(data, [text, ""])) == tokeniser


@pytest.mark.parametrize(("code", "name"), [("ch", "chinese"), ("tw", "chinese"), ("nod", "thai"), ("de", "thai")])
def test_where_the_language_has_no_rule_the_script_decides(code: str, name: str) -> None:
    text, _, tokeniser = TEXTS[name]
    assert bleu_tokenizer(word_rule_of(data_config("text", tgt_lang=code), [text])) == tokeniser
    assert word_rule_of(data_config("text", tgt_lang=code), [TEXTS["german"][0]]) == code


@pytest.mark.parametrize(("code", "tokeniser"), [("ja", "ja-mecab"), ("jpn", "ja-mecab"), ("ko-KR", "ko-mecab")])
def test_where_a_package_is_missing_characters_count(
    code: str, tokeniser: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = data_config("text", tgt_lang=code)
    monkeypatch.setattr(word_rules, "is_installed", lambda language: True)
    assert word_rule_of(data) == code
    assert lacking(data) is None
    monkeypatch.setattr(word_rules, "is_installed", lambda language: language not in ("ja", "ko"))
    assert word_rule_of(data) == CHARACTERS
    said = lacking(data)
    assert said == (
        f"BLEU counts characters, because sacreBLEU's tok:{tokeniser}, which finds the words of "
        f"data.tgt_lang={code}, is not installed; to count words: pip install 'sacrebleu[{tokeniser[:2]}]'"
    )
    for other in (data_config("text", tgt_lang=code, tokenized=True), data_config("text", tgt_lang="de")):
        assert lacking(other) is None


def test_what_is_installed_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(tokenize: str) -> None:
        if "mecab" in tokenize:
            raise RuntimeError("no MeCab")

    monkeypatch.setattr(word_rules, "BLEU", missing)
    word_rules.is_installed.cache_clear()
    assert word_rules.is_installed("zh")
    assert not word_rules.is_installed("ja")
    word_rules.is_installed.cache_clear()


def test_a_rule_of_the_language_counts_more_than_the_script() -> None:
    assert bleu_tokenizer(word_rule_of(data_config("text", tgt_lang="th"), [TEXTS["chinese"][0]])) == "char"
    tokenised = data_config("text", tgt_lang=None, tokenized=True)
    assert bleu_tokenizer(word_rule_of(tokenised, [TEXTS["thai"][0]])) == "none"


def test_characters_are_counted_and_the_signature_says_so() -> None:
    reference, almost = "ฉันรักคุณมาก", "ฉันรักคุณ"
    assert bleu([almost], [[reference]], None) < 1  # one word, and a wrong one
    assert bleu([almost], [[reference]], CHARACTERS) > 50
    assert "tok:char" in score_corpus([almost], [[reference]], CHARACTERS, intervals=False)[0].signature


def test_no_text_has_no_rule() -> None:
    assert word_rule_of(data_config("text", tgt_lang=None), []) is None
    assert word_rule_of(data_config("text", tgt_lang=None), ["", "  "]) is None
