"""Tests whether sentences are in their language, by py3langid (Lui and Baldwin 2012)."""

from collections.abc import Callable
from functools import cache
from importlib.metadata import version as installed_version
from typing import Any

import langcodes

from nmt.config.sections import DataConfig
from nmt.errors import ConfigError

PACKAGE = "py3langid"


def in_other_language(data: DataConfig, least: float) -> Callable[[str, str], bool]:
    """A test: is the language of either side less than `least` times as likely as the likeliest language?

    Refuses a language that is not given or that the package does not know.
    """
    src, tgt = (_label(data, side) for side in ("src", "tgt"))
    likelihoods = identifier().rank

    def test(source: str, target: str) -> bool:
        for text, language in ((source, src), (target, tgt)):
            ranked = likelihoods(text)  # likeliest first
            if dict(ranked)[language] < least * ranked[0][1]:
                return True
        return False

    return test


def version() -> str:
    """The version of the package, which decides the result."""
    return installed_version(PACKAGE)


@cache
def identifier() -> Any:
    """The identifier with all languages of the package. It is shared: call `set_languages` only on a copy."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # nothing else needs this import

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def _label(data: DataConfig, side: str) -> str:
    """The package's name for the language of a side."""
    code = getattr(data, f"{side}_lang")
    if code is None:
        raise ConfigError(
            f"data.filters.min_language={data.filters.min_language} needs the language of both sides; give"
            f" data.{side}_lang, such as data.{side}_lang=en, or set the filter to null"
        )
    language = str(langcodes.Language.get(code).language)
    if language not in identifier().labels:
        raise ConfigError(
            f"data.{side}_lang={code} is not a language that {PACKAGE} knows; set data.filters.min_language=null"
        )
    return language
