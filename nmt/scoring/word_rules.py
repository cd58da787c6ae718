"""What BLEU counts as a word: decided by the target's language, or by the script of the references."""

import re
import sys
from collections import Counter
from collections.abc import Iterable
from functools import cache

from sacrebleu.metrics.bleu import BLEU

from nmt.config.sections import DataConfig
from nmt.errors import ConfigError
from nmt.scoring.alignment import spaceless
from nmt.scoring.cautions import scripts_of

WordRule = str | None  # a language (ISO 639), or TOKENIZED or CHARACTERS; None: sacreBLEU's default
TOKENIZED = "tokenized"  # the text is tokenised already: words are between spaces
CHARACTERS = "characters"  # each character is a word: for scripts without spaces that sacreBLEU has no tokeniser for

# ISO 639 codes (two and three letters) of the languages with their own way to count words
_LANGUAGES = {
    code: rule
    for rule, codes in {
        "zh": "zh zho chi cmn yue wuu hak gan hsn lzh",
        "ja": "ja jpn",
        "ko": "ko kor",
        CHARACTERS: "th tha lo lao km khm my mya bur shn bo bod tib dz dzo",
    }.items()
    for code in codes.split()
}
_WORD = re.compile(r"[^\W\d_]\w*")
HARDLY = 0.02  # largest share of other letters in Chinese text, such as kana in a name
_TOKENIZERS = {TOKENIZED: "none", CHARACTERS: "char", "zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}


def word_rule_of(data: DataConfig, references: Iterable[str] = ()) -> WordRule:
    """What counts as a word in the references: by the corpus's language if it has a rule, else by their script.

    Without the package that finds the words of the language, characters count. `lacking` says so.
    """
    if data.tokenized:
        return TOKENIZED
    if language_of(data.tgt_lang) in _TOKENIZERS:
        return data.tgt_lang if is_installed(language_of(data.tgt_lang)) else CHARACTERS
    return rule_of_script(references) or data.tgt_lang


def rule_of_script(texts: Iterable[str]) -> WordRule:
    """For text mostly in scripts without spaces: zh if its letters are Han, else CHARACTERS; None for other text.

    A word in another script counts as much as a character without spaces.
    """
    without: list[str] = []
    words = 0
    for text in texts:
        without += [character for character in text if spaceless(character)]
        words += len(_WORD.findall("".join(" " if spaceless(character) else character for character in text)))
    if len(without) <= words:
        return None
    letters = scripts_of(Counter(without))
    return CHARACTERS if letters.total() - letters["CJK"] > HARDLY * len(without) else "zh"


@cache
def is_installed(language: str) -> bool:
    """Can sacreBLEU find the words of this language, one of those with a rule?"""
    try:
        BLEU(tokenize=_TOKENIZERS[language])
    except (RuntimeError, ImportError):
        return False
    return True


def lacking(data: DataConfig) -> str | None:
    """A line for people if the target's language has words that only a missing package finds."""
    language = language_of(data.tgt_lang)
    if data.tokenized or language not in _TOKENIZERS or is_installed(language):
        return None
    return (
        f"BLEU counts characters, because sacreBLEU's tok:{_TOKENIZERS[language]}, which finds the words of "
        f"data.tgt_lang={data.tgt_lang}, is not installed; to count words: pip install 'sacrebleu[{language}]'"
    )


def say_lacking(data: DataConfig) -> None:
    """Prints that line, if there is one."""
    if (line := lacking(data)) is not None:
        print(line, file=sys.stderr)


def bleu_tokenizer(word_rule: WordRule) -> str:
    """sacreBLEU's tokeniser for a target language (ISO 639 code), for TOKENIZED text or for CHARACTERS.

    Raises ConfigError if the tokeniser needs a package that is missing.
    """
    name = _TOKENIZERS.get(language_of(word_rule), "13a")
    try:
        BLEU(tokenize=name)
    except (RuntimeError, ImportError) as error:
        extra = f"sacrebleu[{language_of(word_rule)}]"
        raise ConfigError(
            f"BLEU for target language '{word_rule}' needs sacreBLEU's '{name}' tokeniser, "
            f"data.tgt_lang={word_rule}; install it with: pip install '{extra}'"
        ) from error
    return name


def language_of(word_rule: WordRule) -> str:
    """The language behind a rule: zh-CN, zh_Hans and cmn are all zh."""
    primary = (word_rule or "").replace("_", "-").split("-")[0].lower()
    return _LANGUAGES.get(primary, primary)
