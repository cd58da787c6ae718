"""Language codes: which are valid, and which one a wrong code probably means."""

import difflib
import re
from functools import cache
from typing import TYPE_CHECKING

import langcodes
from langcodes.registry_parser import parse_registry

from nmt.config.file_names import unpacked_name
from nmt.errors import ConfigError

if TYPE_CHECKING:
    from nmt.config.sections import DataConfig, Paths

FILE_CODE = re.compile("[a-z]{2}(-[A-Za-z]{2,4})?")
OF_STRINGS = re.compile(  # suffixes of files with one language, and words of subtitles for people who hear little
    r"(\.(hi|sdh|cc|forced|default))*\.(ya?ml|json|arb|strings|properties|resx|resw|srt|vtt|xml)$", re.IGNORECASE
)
LAST_CODE = re.compile("(?:^|[._/-])([a-z]{2}(?:[-_][A-Z][a-z]{3})?(?:[-_][A-Z]{2})?)$")
OF_NO_LANGUAGE = ("und", "mul", "mis", "zxx")  # unknown, several, one without a code, none
OTHER_NAMES = {  # own names of languages, and common English names that IANA's registry lacks
    "deutsch": "de", "français": "fr", "español": "es", "italiano": "it", "português": "pt", "nederlands": "nl",
    "svenska": "sv", "dansk": "da", "norsk": "no", "suomi": "fi", "polski": "pl", "čeština": "cs", "magyar": "hu",
    "română": "ro", "türkçe": "tr", "русский": "ru", "українська": "uk", "ελληνικά": "el", "עברית": "he",
    "العربية": "ar", "فارسی": "fa", "हिन्दी": "hi", "ไทย": "th", "中文": "zh", "日本語": "ja", "한국어": "ko",
    "mandarin": "zh", "simplified chinese": "zh-Hans", "traditional chinese": "zh-Hant", "chs": "zh-Hans",
    "cantonese": "yue", "farsi": "fa", "slovene": "sl", "castilian": "es", "brazilian": "pt-BR", "flemish": "nl",
}  # fmt: skip
OF_FORMATS = ("md", "ori")  # suffixes that are codes of countries and languages, too
ENGLISH_SPEAKING = ("GB", "US", "AU", "NZ", "IE", "CA")  # langcodes takes English for unknown territories, too


def refuse_unknown_language(key: str, code: str) -> None:
    """Refuses a code that is not in ISO 639 (BCP 47 with a script or region); names the right one if it is clear."""
    is_none = re.split("[-_]", code.lower())[0] in OF_NO_LANGUAGE
    if langcodes.tag_is_valid(code) and not is_none:
        return
    meant = None if is_none else meant_language(code)
    remedy = f"did you mean '{meant}'?" if meant else "give a code of ISO 639, such as en, de or zh, or null"
    raise ConfigError(f"{key}={code} is not a language code; {remedy}")


def language_of(word: str) -> str | None:
    """The code, without region and script, for a language code or an English name in any case: EN, en_US, English."""
    word = without_remark(word).lower()
    code = language_names().get(word)
    if code is not None and len(code) == 2:  # names of rarer languages may be common words
        return code
    if not re.fullmatch("[a-z]{2,3}([-_][a-z]{2,4})?", word) or not langcodes.tag_is_valid(word):
        return None
    return langcodes.Language.get(word).language


def without_remark(word: str) -> str:
    """The word without what follows it in brackets, as in German (Germany)."""
    stem, bracket, _ = word.strip().partition("(")
    return stem.rstrip() if bracket and word.rstrip().endswith(")") else word.strip()


def language_of_file(name: str) -> str | None:
    """The language that the last word of a file's name says: pt-BR for corpus.pt-BR.gz, None for train.src.

    Of strings and subtitles, it is the last word before the suffix: de for app_de.arb and film.de.forced.srt. Only
    codes of two letters count, with or without a script or region: many other words are codes of three letters.
    """
    plain = unpacked_name(name)
    before = OF_STRINGS.sub("", plain)
    if before != plain:
        last = LAST_CODE.search(before)
        return last[1].replace("_", "-") if last and langcodes.tag_is_valid(last[1]) else None
    _, dot, word = plain.rpartition(".")
    code, hyphen, rest = word.replace("_", "-").partition("-")
    tag = f"{code.lower()}{hyphen}{rest}"
    return tag if dot and FILE_CODE.fullmatch(tag) and langcodes.tag_is_valid(tag) else None


def hinted_language(name: str) -> str | None:
    """The language that a file's name hints at without its code: el for x.gr, x.ell and x.greek.txt."""
    words = unpacked_name(name).rpartition("/")[2].split(".")[1:]
    for word in map(str.lower, reversed(words[-2:])):
        if word in OF_FORMATS:
            continue
        if re.fullmatch("[a-z]{2}", word) and (meant := language_of(word) or meant_language(word)):
            return meant
        if re.fullmatch("[a-z]{3}", word) and len(code := langcodes.standardize_tag(word)) == 2:
            return code
        if len(code := (language_names() | OTHER_NAMES).get(word, "")) == 2:
            return code
    return None


def hint_of(files: "Paths | None") -> str | None:
    """The language that the name of a file, or of the first of several, hints at."""
    first = files if isinstance(files, str) else next(iter(files or ()), None)
    return None if first is None else hinted_language(first)


def shown_languages(data: "DataConfig") -> str:
    """A line with the languages of a corpus; if they are not known, what would make them known."""
    known = {"src": data.src_lang, "tgt": data.tgt_lang}
    missing = [side for side, code in known.items() if code is None]
    if not missing:
        return f"from {data.src_lang} to {data.tgt_lang} (data.src_lang, data.tgt_lang)"
    files = {"src": data.train.src, "tgt": data.train.tgt}
    hints = {side: code or hint_of(files[side]) for side, code in known.items()}
    clear = hints["src"] != hints["tgt"]  # the name of a format hints at a language on both sides
    words = " ".join(f"data.{side}_lang={hints[side] if clear and hints[side] else 'CODE'}" for side in missing)
    what = (
        "the languages are"
        if len(missing) == 2
        else f"the language of the {'source' if missing == ['src'] else 'target'} is"
    )
    return f"{what} not known, so nothing tells whether the text is in another one; type {words}"


def name_beside_language(name: str) -> str:
    """What is left of the name of a file of strings or subtitles without its language: app_ for en/app_de.arb."""
    before = OF_STRINGS.sub("", unpacked_name(name).rpartition("/")[2])
    return LAST_CODE.sub("", before)


def meant_language(word: str) -> str | None:
    """The code that a wrong one probably means: the main language of a country, or a language given by its name."""
    word = word.strip()
    if re.fullmatch("[A-Za-z]{2}", word):
        language = langcodes.Language.make(territory=word.upper()).maximize().language
        return None if language == "en" and word.upper() not in ENGLISH_SPEAKING else language
    if len(word) < 2:
        return None
    names = language_names() | OTHER_NAMES
    common = {name: code for name, code in names.items() if len(code) == 2 or name in OTHER_NAMES}
    begun = [name for name in common if len(word) > 2 and name.startswith(word.lower())]
    if begun:  # jap, viet
        return names[min(begun, key=len)]
    for known, cutoff in ((common, 0.75), (names, 0.85)):  # a rare language must be spelled better
        if close := difflib.get_close_matches(word.lower(), known, n=1, cutoff=cutoff):
            return names[close[0]]
    return None


@cache
def language_names() -> dict[str, str]:
    """English name in lower case -> code, from IANA's registry; for a name of several languages, the shortest code."""
    found: dict[str, str] = {}
    for entry in parse_registry():  # type: ignore[no-untyped-call]
        if entry["Type"] == "language" and "Subtag" in entry:
            descriptions = entry["Description"]
            for description in descriptions if isinstance(descriptions, list) else [descriptions]:
                name = re.sub(r"\s*\(.*?\)|^modern\s+", "", description.lower())
                code = found.setdefault(name, entry["Subtag"])
                if len(entry["Subtag"]) < len(code):
                    found[name] = entry["Subtag"]
    return found


@cache
def language_name(code: str) -> str:
    """The English name for a language code, with its script and region: Chinese (Hant); an invalid code unchanged."""
    if not langcodes.tag_is_valid(code):
        return code
    language = langcodes.Language.get(code)
    of_code = (name for name, each in language_names().items() if each == language.language)
    name = next(of_code, code)
    more = [each for each in (language.script, language.territory) if each]
    return name.title() + (f" ({', '.join(more)})" if more else "")
