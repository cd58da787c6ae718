"""Plain data against annotations: right values arrive unchanged, every wrong one is named with its key."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from nmt.config.check import read, read_known
from nmt.config.keys import Size
from nmt.config.parts import ENCODERS, OPTIMIZERS, SCHEDULES, SCORES, Group, read_part
from nmt.config.plain import overlay, plain
from nmt.errors import ConfigError


@dataclass(frozen=True)
class Inner:
    rate: float | None


@dataclass(frozen=True)
class Section:
    count: int
    share: float
    on: bool
    kind: Literal["one", "two"]
    files: str | list[str] | None
    inner: Inner


class Part:
    def __init__(self, d_query: int, rank: Size, bias: bool = True) -> None:
        self.sizes = (d_query, rank, bias)


RIGHT: dict[str, Any] = {
    "count": 3,
    "share": 0.5,
    "on": True,
    "kind": "one",
    "files": None,
    "inner": {"rate": None},
}


@pytest.mark.slow
@given(
    st.integers(),
    st.one_of(st.integers(-1000, 1000), st.floats(allow_nan=False)),
    st.booleans(),
    st.sampled_from(["one", "two"]),
    st.one_of(st.none(), st.text(), st.lists(st.text())),
    st.one_of(st.none(), st.floats(allow_nan=False)),
)
def test_right_values_arrive_unchanged(
    count: int, share: float, on: bool, kind: str, files: str | list[str] | None, rate: float | None
) -> None:
    values = {"count": count, "share": share, "on": on, "kind": kind, "files": files, "inner": {"rate": rate}}
    section = read(Section, values, "s")
    assert isinstance(section.share, float)
    assert (section.count, section.share, section.on, section.kind, section.files, section.inner.rate) == (
        *(count, share, on, kind),
        *(files, rate),
    )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"count": 1.5}, "s.count=1.5 is not possible; it must be a whole number"),
        ({"count": True}, "s.count=true is not possible"),
        ({"count": None}, "s.count=null is not possible"),
        ({"count": "many"}, "s.count='many' is not possible"),
        ({"share": False}, "s.share=false is not possible; it must be a number"),
        ({"on": 1}, "s.on=1 is not possible; it must be true or false"),
        ({"kind": "tow"}, "s.kind='tow' is not possible; did you mean 'two'?"),
        ({"files": 7}, "quote it: s.files='\"7\"'"),
        ({"files": ["a", 1]}, "a text or a list, each item a text or null"),
        ({"inner": {"rate": "x"}}, "s.inner.rate='x' is not possible; it must be a number or null"),
        ({"inner": {"rat": 1}}, "unknown key 's.inner.rat'; did you mean 'rate'?"),
        ({"inner": {}}, "s.inner.rate has no value"),
        ({"inner": 3}, "s.inner=3 is not a section"),
        ({"cuont": 3}, "unknown key 's.cuont'; did you mean 'count'?"),
    ],
)
def test_wrong_values_are_named(change: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(Section, {**RIGHT, **change}, "s")
    assert expected in str(caught.value)


def test_arguments_of_a_part() -> None:
    group = Group("attention", ("d_query",), "nmt.model")
    group.register(Part)
    name = f"{__name__}.Part"
    trust = [name.split(".")[0]]
    assert read_part({"class": name, "rank": 2}, "attention", group, trust).arguments == {"rank": 2}
    for section, expected in [
        ({}, "attention.rank has no value"),
        ({"rank": "2"}, "attention.rank='2' is not possible; it must be a whole number"),
        ({"rank": 0}, "attention.rank is 0; it must be at least 1"),
        ({"rank": 2, "bais": True}, "unknown key 'attention.bais'; did you mean 'bias'?"),
        ({"rank": 2, "d_query": 4}, "attention.d_query=4 is derived from other parts; leave it out"),
    ]:
        with pytest.raises(ConfigError) as caught:
            read_part({"class": name, **section}, "attention", group, trust)
        assert expected in str(caught.value)


def test_a_value_that_is_not_there_is_named() -> None:
    assert read_known(Inner, {"rate": None, "other": 1}) == Inner(None)
    with pytest.raises(ConfigError, match=r"^rate has no value; type rate=<value>$"):
        read_known(Inner, {"other": 1})


def test_classes_are_found_inside_nmt_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nmt.model.rnn import RnnEncoder

    assert ENCODERS.find("RnnEncoder", "encoder", []) is RnnEncoder
    text = "from nmt.config.parts import ENCODERS\n\n\n@ENCODERS.register\nclass Mine: ...\n\n\nclass Other: ...\n"
    (tmp_path / "my_parts.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    for name, expected in [
        ("RnnEncodr", "did you mean 'RnnEncoder'?"),
        ("rnn.RnnEncoder", "is not a part of nmt; did you mean 'RnnEncoder'?"),
        ("Tensor", "is not one of nmt's encoder classes"),
        ("os.system", "type trust=[os]"),
        ("my_parts.Mine", "type trust=[my_parts]"),
        ("../my_parts.Mine", "is not a part of nmt"),
        ("nmt.model.rnn.RnnEncoder", "is not one of nmt's encoder classes"),
        ("AdamW", "choose from: RnnEncoder, RnnSelfAttentionEncoder, TransformerEncoder"),  # of another group
    ]:
        with pytest.raises(ConfigError) as caught:
            ENCODERS.find(name, "encoder", [])
        assert f"encoder.class='{name}'" in str(caught.value)
        assert expected in str(caught.value)
    for no_text in (1, ["RnnEncoder"], {}):
        with pytest.raises(ConfigError, match=r"^encoder\.class=.* is not text; write the name of a class"):
            read_part({"class": no_text}, "encoder", ENCODERS, [])
    assert ENCODERS.find("my_parts.Mine", "encoder", None) is None  # for a stored run the error comes when it is built
    assert "my_parts" not in sys.modules  # a refused package is not even imported
    found = ENCODERS.find("my_parts.Mine", "encoder", ["my_parts"])
    assert found is not None
    assert found.__name__ == "Mine"
    with pytest.raises(
        ConfigError, match=r"my_parts\.Other' is not a registered encoder; did you mean 'my_parts\.Mine'"
    ):
        ENCODERS.find("my_parts.Other", "encoder", ["my_parts"])
    with pytest.raises(ConfigError, match="cannot be imported"):
        ENCODERS.find("not_there.Mine", "encoder", ["not_there"])
    del ENCODERS.members["my_parts.Mine"], sys.modules["my_parts"]


@pytest.mark.parametrize(
    ("group", "name", "right"),
    [
        (SCORES, "AttentionScore", "ScaledDot"), (SCORES, "InnerProduct", "General"), (SCORES, "MultiHead", "Dot"),
        (SCHEDULES, "Schedule", "Plateau"), (SCHEDULES, "AdamW", "Constant"), (OPTIMIZERS, "Constant", "AdamW"),
    ],
)  # fmt: skip
def test_abstract_classes_and_those_of_other_groups_are_refused(group: Group, name: str, right: str) -> None:
    with pytest.raises(ConfigError, match=rf"^x\.class='{name}' is not one of nmt's {group.name} classes; .*"):
        group.find(name, "x", [])
    with pytest.raises(ConfigError) as caught:
        group.find("Nothing", "x", [])
    assert right in str(caught.value)


def test_references_are_resolved_and_resolvers_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert plain(OmegaConf.create({"a": {"b": 1}, "c": "${a.b}", "d": ["x${a.b}"]})) == {
        "a": {"b": 1},
        "c": 1,
        "d": ["x1"],
    }
    monkeypatch.setenv("SECRET", "hidden")
    for bad in [
        "${oc.env:SECRET}",
        "x${oc.env:SECRET}",
        "${a.${oc.env:SECRET}}",
        "${oc.decode:'${oc.env:SECRET}'}",
    ]:
        for config in ({"a": bad}, {"a": {"b": [bad]}}):
            with pytest.raises(ConfigError, match="asks a resolver") as caught:
                plain(OmegaConf.create(config))
            assert "hidden" not in str(caught.value)
    with pytest.raises(ConfigError, match=r"a\.b has no value; type a\.b=<value>"):
        plain(OmegaConf.create({"a": {"b": "???"}}))
    with pytest.raises(ConfigError, match="nothing"):
        plain(OmegaConf.create({"a": "${nothing}"}))


def test_only_what_is_typed_changes() -> None:
    stored = {"search": {"beam": 5, "alpha": 1.0}, "data": {"root": "r"}}
    typed = {"search.beam": 8, "model": "m", "data.root": "q"}
    assert overlay(stored, typed, ["search"]) == {"search": {"beam": 8, "alpha": 1.0}, "data": {"root": "r"}}
    assert overlay(stored, {"search": {"beam": 1}}, ["search"])["search"] == {"beam": 1}
    assert stored["search"]["beam"] == 5
