"""Run folders of small random models, as `nmt train` leaves them, for everything that uses a finished model."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from helpers.models import model_config, run_config_of
from helpers.small_corpora import tokenizer_config
from nmt.data.letter_case import LetterCase
from nmt.data.tokenizer import Tokenizer, TokenizerPair
from nmt.data.train_tokenizers import train_tokenizer
from nmt.model.build import build_model
from nmt.runs.folder import create_run
from nmt.runs.tensors import parameters_of, write_tensors

GERMAN = "der die ein Hund Haus sieht schläft Mann heute grünes 12 , . spät".split()
CHINESE = "我 们 今 天 去 学 校 ， 。 他 看 见 了 一 只 狗".split()


def sentences(count: int, seed: int = 1, words: list[str] = GERMAN, joint: str = " ") -> list[str]:
    """Random sentences of 1 to 12 words."""
    rng = random.Random(seed)
    return [joint.join(rng.choices(words, k=rng.randint(1, 12))) for _ in range(count)]


def small_tokenizer() -> Tokenizer:
    """Few pieces, and bytes, so that a random model writes anything."""
    texts = sentences(200) + sentences(200, words=CHINESE, joint="")
    return train_tokenizer(iter(texts), tokenizer_config("bpe", vocab_size=340, byte_fallback=True), 1, [])


def make_run(
    folder: Path, attention: str = "general", seed: int = 0, data: dict[str, Any] | None = None,
    train: dict[str, Any] | None = None, letter_case: LetterCase | None = None,
    usual_sentences: int = 1, known: Sequence[Path] = (), **search: Any,
) -> Path:  # fmt: skip
    """A run folder whose model is random; `data`, `train`, `search`: changes to these sections.

    `known`: files with hashes of its training pairs.
    """
    about = {"src_lang": "en", "tgt_lang": "de"} | (data or {})
    short = {"max_length_a": 4.0, "max_length_b": 1.0} | search
    stored = run_config_of(
        model_config(attention) | {"name": folder.name, "data": about, "train": train or {}, "search": short}
    )
    tokenizer = small_tokenizer()
    torch.manual_seed(seed)
    model = build_model(stored, tokenizer.vocab_size, tokenizer.vocab_size)
    with torch.no_grad():
        for parameter in model.parameters():  # far from the small initial values, so that errors show
            parameter.mul_(3.0)
    folder.mkdir(parents=True, exist_ok=True)
    create_run(folder, stored, TokenizerPair(tokenizer, tokenizer), letter_case or LetterCase(), usual_sentences, known)
    write_tensors(folder / "model.safetensors", parameters_of(model))
    return folder
