"""The options of a request in DeepL's API. An unsupported option that would change the result is refused."""

from dataclasses import dataclass
from typing import Any, Literal

from nmt.serve.refusal import Refusal

MOST_TEXTS = 50
# values that ask for the default, or for something in which our models have no choice
HARMLESS: dict[str, tuple[str, ...]] = {
    "formality": ("", "default", "prefer_more", "prefer_less"),  # the last two mean: if the model can
    "model_type": ("", "latency_optimized", "prefer_quality_optimized"),
    "tag_handling_version": ("", "v1", "v2"),
}
UNSUPPORTED = (
    "context",
    "custom_instructions",
    "glossary_id",
    "glossary_ids",
    "style_id",
    "translation_memory_id",
    "translation_memory_threshold",
)
KNOWN = {
    *("text", "source_lang", "target_lang", "tag_handling", "split_sentences", "preserve_formatting", "auth_key"),
    *("outline_detection", "splitting_tags", "non_splitting_tags", "ignore_tags", "show_billed_characters"),
    *("enable_beta_languages", *HARMLESS, *UNSUPPORTED),
}


@dataclass(frozen=True)
class Options:
    """A request's texts and how to translate them."""

    texts: list[str]
    source: str  # "auto": detect it for each text
    target: str
    markup: Literal["html", "xml"] | None
    split: Literal["0", "1", "nonewlines"]
    outline: bool
    splitting: frozenset[str]
    non_splitting: frozenset[str]
    ignored: frozenset[str]
    billed: bool  # report how many characters each text has


def options_of(body: dict[str, Any]) -> Options:
    """The options in a request's body. Raises Refusal(400) if one is missing, unknown or unsupported."""
    for name in body:
        if name not in KNOWN:
            raise Refusal(400, f"Parameter '{name}' is not known to this server")
    for name in UNSUPPORTED:
        if body.get(name) not in (None, "", []):
            raise Refusal(400, f"Parameter '{name}' is not supported by this server; leave it out")
    for name, values in HARMLESS.items():
        value = body.get(name)
        if value is not None and value not in values:
            chosen = ", ".join(value for value in values if value)
            raise Refusal(400, f"Value for '{name}' not supported: this server takes {chosen}")
    texts = body.get("text")
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not texts:
        raise Refusal(400, "Parameter 'text' not specified")
    if not all(isinstance(text, str) for text in texts):
        raise Refusal(400, "Value for 'text' not supported: it is a list of texts")
    if len(texts) > MOST_TEXTS:
        raise Refusal(400, f"Too many texts: a request may have {MOST_TEXTS}, and this one has {len(texts)}")
    target = body.get("target_lang")
    if not isinstance(target, str) or not target:
        raise Refusal(400, "Parameter 'target_lang' not specified")
    source = body.get("source_lang") or "auto"
    if not isinstance(source, str):
        raise Refusal(400, "Value for 'source_lang' not supported: it is the code of a language")
    markup = body.get("tag_handling") or None
    if markup not in (None, "html", "xml"):
        raise Refusal(400, "Value for 'tag_handling' not supported: it is html or xml")
    split = str(body.get("split_sentences", "nonewlines" if markup == "html" else "1"))
    if split not in ("0", "1", "nonewlines"):
        raise Refusal(400, "Value for 'split_sentences' not supported: it is 0, 1 or nonewlines")
    flag(body, "preserve_formatting", False)  # we correct nothing, so both values have the same effect
    return Options(
        texts=texts,
        source=source,
        target=target,
        markup=markup,
        split=split,  # type: ignore[arg-type]  # it was checked
        outline=flag(body, "outline_detection", True),
        splitting=_tags(body, "splitting_tags"),
        non_splitting=_tags(body, "non_splitting_tags"),
        ignored=_tags(body, "ignore_tags"),
        billed=flag(body, "show_billed_characters", False),
    )


def flag(body: dict[str, Any], name: str, default: bool) -> bool:
    """An option that is true or false; JSON may send a Boolean, and a form 0 or 1."""
    value = body.get(name)
    if value is None or value == "":
        return default
    written = str(value).lower()
    if written not in ("0", "1", "true", "false"):
        raise Refusal(400, f"Value for '{name}' not supported: it is 0 or 1")
    return written in ("1", "true")


def _tags(body: dict[str, Any], name: str) -> frozenset[str]:
    value = body.get(name)
    given = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(each, str) for each in given):
        raise Refusal(400, f"Value for '{name}' not supported: it is a list of names of elements")
    return frozenset(name.strip() for each in given for name in each.split(",") if name.strip())
