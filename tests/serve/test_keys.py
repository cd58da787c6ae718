"""Keys of a server: only a secret opens, a change is taken up, and no fault of the file opens the door."""

import hmac
import json
import os
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.errors import CheckpointError, ConfigError, DataError
from nmt.serve import keys as keys_module
from nmt.serve.key_changes import add_key, revoke_key
from nmt.serve.keys import FORMAT, LOOK_S, MOST_BYTES, Key, Keys, digest_of, read_entries


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


def unlimited(name: str) -> Key:
    return Key(name, None, None)


def changed(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Writes the file anew with a change of what it holds."""
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def test_a_secret_opens_for_its_key_and_nothing_else_does(path: Path) -> None:
    keys = [Key("weblate", 20_000, 600), Key("cms", None, 1), unlimited("x.y-z_1")]
    secrets = [add_key(path, key) for key in keys]
    assert all(re.fullmatch(r"nmt_[\w-]{43}", secret) for secret in secrets)
    assert len(set(secrets)) == 3
    read = Keys.read(path)
    assert [read.of(secret) for secret in secrets] == keys
    near = [secrets[0][:-1], secrets[0] + " ", secrets[0].swapcase(), digest_of(secrets[0])]
    assert not any(map(read.of, ["", "nmt_", "weblate", "é", "\ud800", "\0", *near]))


@given(st.text(st.characters(exclude_categories=[])))
def test_any_text_has_a_digest(text: str) -> None:
    assert re.fullmatch("[0-9a-f]{64}", digest_of(text))


def test_every_key_is_compared_whatever_the_secret(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = [add_key(path, unlimited(name)) for name in "abc"]
    compared: list[str] = []
    in_constant_time = hmac.compare_digest

    def compare(one: str, other: str) -> bool:
        compared.append(other)
        return in_constant_time(one, other)

    read = Keys.read(path)
    monkeypatch.setattr(keys_module.hmac, "compare_digest", compare)
    for secret in [*secrets, "nmt_wrong"]:
        compared.clear()
        read.of(secret)
        assert sorted(compared) == sorted(map(digest_of, secrets))


def test_the_file_holds_no_secret_and_only_its_owner_reads_it(path: Path) -> None:
    secret = add_key(path, Key("weblate", 5, None))
    assert secret not in path.read_text()
    assert secret.removeprefix("nmt_") not in path.read_text()
    [entry] = read_entries(path)
    assert (entry.sha256, entry.created) == (digest_of(secret), date.today())
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    add_key(path, unlimited("other"))
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(path.parent) == ["keys.json"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_that_root_changes_stays_its_owners(path: Path) -> None:
    add_key(path, unlimited("a"))
    os.chown(path, 1234, 2345)
    add_key(path, unlimited("b"))
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


def test_a_revoked_key_opens_nothing_and_the_others_stay(path: Path) -> None:
    secrets = {name: add_key(path, unlimited(name)) for name in ("a", "b", "c")}
    revoke_key(path, "b")
    read = Keys.read(path)
    assert {name for name, secret in secrets.items() if read.of(secret)} == {"a", "c"}
    revoke_key(path, "a")
    revoke_key(path, "c")
    assert not any(map(Keys.read(path).of, secrets.values()))


def test_a_change_is_taken_up_within_a_second(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, clock = add_key(path, unlimited("first")), Clock()
    read = Keys.read(path, clock)
    second = add_key(path, unlimited("second"))
    revoke_key(path, "first")
    clock.now += LOOK_S
    assert read.of(second) == unlimited("second")
    assert read.of(first) is None
    changed(path, lambda content: content["keys"][0].update(requests_per_minute=7))
    clock.now += LOOK_S
    assert read.of(second) == Key("second", None, 7)
    assert capsys.readouterr() == ("", "")


def test_it_looks_once_a_second_and_reads_what_has_changed_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret, clock, looks, reads = add_key(path, unlimited("a")), Clock(), 0, 0
    read, stat, read_file = Keys.read(path, clock), os.stat, keys_module._read

    def counting_stat(*given: Any) -> os.stat_result:
        nonlocal looks
        looks += 1
        return stat(*given)

    def counting_read(*given: Any) -> Any:
        nonlocal reads
        reads += 1
        return read_file(*given)

    monkeypatch.setattr(keys_module.os, "stat", counting_stat)
    monkeypatch.setattr(keys_module, "_read", counting_read)
    for _ in range(100):  # of 0.1 s
        clock.now += LOOK_S / 10
        assert read.of(secret)
    assert 9 <= looks <= 10
    assert reads == 0
    path.write_bytes(path.read_bytes())
    for _ in range(100):
        clock.now += LOOK_S / 10
        assert read.of(secret)
    assert reads == 1


def spoil_json(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])


def spoil_permissions(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)  # which root cannot open either


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut": (spoil_json, "a damaged file of keys: it is not JSON; restore it from a copy"),
    "empty": (lambda path: path.write_text(""), "it is not JSON"),
    "gone": (Path.unlink, "does not exist; nmt keys file="),
    "folder": (lambda path: (path.unlink(), path.mkdir()), "Is a directory"),
    "pipe": (lambda path: (path.unlink(), os.mkfifo(path)), "is not a file of keys"),
    "circle": (spoil_permissions, "Too many levels of symbolic links); check its permissions and its owner"),
    "opened": (lambda path: path.write_text("[]"), "it does not have exactly the fields format and keys"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_leaves_the_last_good_keys_in_force(path: Path, fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    secret, clock = add_key(path, unlimited("a")), Clock()
    sound, read = path.read_bytes(), Keys.read(path, clock)
    FAULTS[fault][0](path)
    for _ in range(3):
        clock.now += LOOK_S
        assert read.of(secret) == unlimited("a")
        assert read.of("nmt_other") is None
        assert read.of("") is None
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1  # said once, not every second
    assert err.startswith("error: ")
    assert FAULTS[fault][1] in err
    assert err.endswith("; the keys read before it stay in force\n")
    path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
    path.write_bytes(sound)
    other = add_key(path, unlimited("b"))
    clock.now += LOOK_S
    assert read.of(other) == unlimited("b")
    assert capsys.readouterr().err == f"note: {path} can be read again, and its keys are in force\n"


def test_a_file_that_can_be_read_again_is_although_nothing_of_it_has_changed(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, clock = add_key(path, unlimited("a")), Clock()
    read = Keys.read(path, clock)
    second = add_key(path, unlimited("b"))

    def too_many(*given: Any) -> None:
        raise OSError(24, "Too many open files", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(keys_module.os, "open", too_many)
        clock.now += LOOK_S
        assert read.of(second) is None
        assert read.of(first)
    assert "Too many open files" in capsys.readouterr().err
    clock.now += LOOK_S
    assert read.of(second)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_server_does_not_start_without_sound_keys(path: Path, fault: str) -> None:
    add_key(path, unlimited("a"))
    FAULTS[fault][0](path)
    with pytest.raises(DataError, match=re.escape(FAULTS[fault][1])):
        Keys.read(path)


NESTED = "[" * 100_000
DAMAGED: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda content: content.update(format=2), f"its format is 2, and this version of nmt reads {FORMAT}"),
    (lambda content: content.update(format=True), "its format is True"),
    (lambda content: content.update(more=1), "it does not have exactly the fields format and keys"),
    (lambda content: content.update(keys={}), "it does not have exactly the fields format and keys"),
    (
        lambda content: content["keys"].append("x"),
        "key 3 does not have exactly the fields name, sha256, created, characters_per_mi",
    ),
    (lambda content: content["keys"][1].pop("created"), "key 2 does not have exactly the fields name, sha256"),
    (lambda content: content["keys"][0].update(extra=1), "key 1 does not have exactly the fields name, sha256"),
    (lambda content: content["keys"][0].update(name="a/b"), "key 1 has the name 'a/b'"),
    (lambda content: content["keys"][0].update(name=7), "key 1 has the name 7"),
    (lambda content: content["keys"][0].update(sha256="00"), "a has no SHA-256 of 64 hexadecimal digits"),
    (lambda content: content["keys"][0].update(sha256=None), "a has no SHA-256 of 64 hexadecimal digits"),
    (lambda content: content["keys"][0].update(created="soon"), "a was created on 'soon', which is not a date"),
    (lambda content: content["keys"][0].update(created=2026), "a was created on 2026, which is not a date"),
    (lambda content: content["keys"][0].update(requests_per_minute=0), "requests_per_minute of a is 0"),
    (lambda content: content["keys"][0].update(characters_per_minute=1.5), "characters_per_minute of a is 1.5"),
    (lambda content: content["keys"][0].update(characters_per_minute=True), "characters_per_minute of a is True"),
    (lambda content: content["keys"][0].update(characters_per_minute=10**13), "characters_per_minute of a is 10"),
    (lambda content: content["keys"][1].update(name="a"), "a occurs twice"),
    (lambda content: content["keys"].append(content["keys"][0] | {"name": "c"}), "occurs twice"),
]


@pytest.mark.parametrize(("damage", "expected"), DAMAGED)
def test_every_damage_of_the_file_is_told(
    path: Path, damage: Callable[[dict[str, Any]], object], expected: str
) -> None:
    for name in "ab":
        add_key(path, unlimited(name))
    changed(path, damage)
    for action in (Keys.read, read_entries, lambda file: add_key(file, unlimited("c"))):
        with pytest.raises(DataError, match=re.escape(f"{path} is a damaged file of keys: ")) as told:
            action(path)
        assert expected in str(told.value)


@pytest.mark.parametrize("content", [b"\xff", NESTED.encode(), b'{"format": ' + b"1" * 5000 + b', "keys": []}', b"7"])
def test_any_bytes_are_a_clear_error(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(DataError, match="is a damaged file of keys"):
        Keys.read(path)


def test_a_huge_file_is_not_read(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(DataError, match="is not a file of keys; name the one that nmt keys wrote"):
        Keys.read(path)


@given(st.text(), st.text())
def test_names_are_those_that_can_be_typed_and_shown(name: str, more: str) -> None:
    sound = re.fullmatch("[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name + more, re.ASCII) is not None
    assert (keys_module.NAME.fullmatch(name + more) is not None) == sound


def test_a_link_is_followed_and_stays_one(path: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    path.symlink_to(tmp_path / "real" / "keys.json")
    secret = add_key(path, unlimited("a"))
    assert path.is_symlink()
    assert Keys.read(tmp_path / "real" / "keys.json").of(secret)


def test_a_link_that_leads_nowhere_gives_way(path: Path) -> None:
    path.symlink_to(path)
    secret = add_key(path, unlimited("a"))
    assert Keys.read(path).of(secret)


def test_a_file_in_place_of_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match=r"cannot write .*file/below \(Not a directory\); .*another file"):
        add_key(tmp_path / "file" / "below" / "keys.json", unlimited("a"))


def test_revoking_where_no_key_is_left(path: Path) -> None:
    add_key(path, unlimited("a"))
    revoke_key(path, "a")
    with pytest.raises(ConfigError, match="the file holds no key"):
        revoke_key(path, "a")
