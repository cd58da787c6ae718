"""Test helpers refuse what they do not know: a dropped key would let a test pass on something else than it says."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hydra import compose
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.errors import HydraException
from omegaconf import DictConfig, Node, OmegaConf

from helpers import configs_composed_once
from helpers.forked import Forked
from helpers.models import attention_section, model_config, section, small_model
from helpers.small_corpora import data_config, tokenizer_config
from helpers.small_runs import make_run
from helpers.small_transformers import model_of
from helpers.training_runs import run_config
from nmt.config.compose import loader
from nmt.errors import ConfigError

NOWHERE = Path("nowhere")


@pytest.mark.parametrize(
    "build",
    [
        lambda: section("encoder", "rnn", layer=2),
        lambda: section("search", "beam", sample__beam=2),
        lambda: attention_section("dot", rank=2),
        lambda: model_config("dot", rank=2),
        lambda: model_config("multi_head", score="dot", tau=2.0),
        lambda: small_model(decoder__layers=2),
        lambda: model_of(decoder__layers=2),
        lambda: model_of(rank=2),
        lambda: make_run(NOWHERE, data={"langs": "en"}),
        lambda: make_run(NOWHERE, beams=2),
        lambda: run_config(NOWHERE, NOWHERE, train__max_update=2),
        lambda: run_config(NOWHERE, NOWHERE, max_updates=2),
        lambda: data_config("text", langs="en"),
        lambda: tokenizer_config("bpe", pieces=3),
    ],
)
def test_an_unknown_key_is_refused(build: Callable[[], object]) -> None:
    with pytest.raises((KeyError, TypeError, ConfigError), match=r"has no |unexpected keyword|unknown key"):
        build()
    assert not NOWHERE.exists()


def test_a_known_key_arrives_in_every_section_that_has_it() -> None:
    config = model_config("multi_head", score="additive", layers=3, heads=2, input_feeding=True)
    assert config["encoder"]["layers"] == config["decoder"]["layers"] == 3
    assert config["decoder"]["input_feeding"] is True
    assert config["attention"]["heads"] == 2
    assert config["attention"]["score"] == section("attention", "additive", d_attention=12)


def prints(text: str) -> int:
    """What a process does."""
    print(text, os.environ["PLACE"], Path.cwd(), flush=True)
    os.write(2, b"and more")
    return 3


@pytest.mark.slow
def test_a_forked_process_is_where_it_is_put_and_says_what_it_says(tmp_path: Path) -> None:
    process = Forked(prints, "here", cwd=tmp_path, env=os.environ | {"PLACE": "there"})
    assert process.communicate(timeout=240) == (f"here there {tmp_path}\n", "and more")
    assert process.returncode == 3


@pytest.mark.slow
def test_a_forked_process_can_be_killed() -> None:
    process = Forked(time.sleep, 600)
    assert process.poll() is None
    with pytest.raises(TimeoutError):
        process.wait(timeout=0.01)
    process.kill()
    assert process.wait(timeout=240) == -signal.SIGKILL
    process.kill()  # does nothing


WORDS = [
    [],
    ["seed=7", "+extra=1", "encoder.layers=2"],
    ["encoder=transformer", "decoder=transformer", "attention=multi_head", "encoder.d_hidden=8"],
    ["experiment=demo_en_de", "search=greedy", "~schedule.warmup"],
    ["experiment=demo_en_de", "attention=none", "hydra.run.dir=here"],
    ["encoder=transformr"],
    ["attention=dot", "attentio=none"],
    ["seed.seed=7"],
    ["nothing=7"],
]


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_what_is_composed_of_what_was_merged_before_is_the_same(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def made() -> object:
        try:
            config = compose("train", words, return_hydra_config=True)
        except HydraException as error:
            return type(error), str(error)
        return OmegaConf.to_container(config, resolve=False), flags(config)

    def flags(node: Node) -> list[Any]:
        below = node._content if isinstance(node, DictConfig) and isinstance(node._content, dict) else {}
        return [node._metadata.flags, type(node), [flags(each) for each in below.values()]]

    with loader():
        first = made()
        with monkeypatch.context() as second_time:  # nothing is merged anew
            second_time.setattr(ConfigLoaderImpl, "_load_single_config", lambda *given, **named: pytest.fail("merged"))
            second = made()
        monkeypatch.setattr(configs_composed_once, "is_shipped", lambda repo: False)
        anew = made()
    assert first == second == anew
