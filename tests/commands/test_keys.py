"""`nmt keys`: what is printed where, one line for each mistake, and many processes at once."""

import fcntl
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nmt.cli.main import main
from nmt.config.compose import command_of
from nmt.machine import safe_files
from nmt.serve import key_changes
from nmt.serve.keys import Key, Keys, read_entries

ROOT = Path(__file__).parents[2]


def typed(capsys: pytest.CaptureFixture[str], path: Path, *words: str, code: int = 0) -> tuple[str, str]:
    """What standard output and standard error show."""
    capsys.readouterr()
    assert main(["keys", f"file={path}", *words]) == code
    out, err = capsys.readouterr()
    return out, err


def test_the_secret_is_printed_once_alone_on_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "new" / "keys.json"
    out, err = typed(capsys, path, "add=weblate", "characters_per_minute=20000", "requests_per_minute=600")
    assert out.endswith("\n")
    assert Keys.read(path).of(out[:-1]) == Key("weblate", 20_000, 600)
    assert err == "caution: this is the only time that the secret of weblate is shown; keep it\n"
    listed = typed(capsys, path)
    assert out[:-1] not in "".join(listed)
    assert listed[1] == ""


def test_the_list_and_a_revocation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "keys.json"
    typed(capsys, path, "add=weblate", "characters_per_minute=20000")
    typed(capsys, path, "add=cms", "requests_per_minute=6")
    today = read_entries(path)[0].created.isoformat()
    rows = [re.split("  +", line.strip()) for line in typed(capsys, path)[0].splitlines()]
    assert rows == [
        ["name", "created", "characters per minute", "requests per minute"],
        ["weblate", today, "20,000", "—"],
        ["cms", today, "—", "6"],
    ]
    assert typed(capsys, path, "revoke=weblate") == ("", "weblate is revoked\n")
    assert "weblate" not in typed(capsys, path)[0]
    typed(capsys, path, "revoke=cms")
    note = f"note: {path} holds no key; nmt keys file={path} add=NAME makes one\n"
    assert typed(capsys, path) == ("", note)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["add=weblate"], "add=weblate, but {path} has a key of that name; choose another, or revoke that one first: "),
        (["revoke=weblat"], "revoke='weblat', but {path} has no key of that name; did you mean 'weblate'?"),
        (["revoke=x"], "revoke='x', but {path} has no key of that name; choose from: weblate"),
        (["revoke=\x1b"], "revoke='\\x1b', but"),
        (["add=a", "revoke=b"], "add and revoke are both given; type one after the other"),
        (["characters_per_minute=5"], "characters_per_minute=5 is for a new key; name it, add=NAME, or leave charac"),
        (["revoke=weblate", "requests_per_minute=5"], "requests_per_minute=5 is for a new key; name it, add=NAME"),
        (["add=a", "requests_per_minute=0"], "requests_per_minute is 0; it must be at least 1, or null"),
        (["add=a b"], "add='a b' cannot name a key; take up to 64 of a-z"),
        (["add=../a"], "add='../a' cannot name a key"),
        (["add=ключ"], "add='ключ' cannot name a key"),
        (["add=-a"], "add='-a' cannot name a key"),
        (["add=''"], "add='' cannot name a key"),
        (["add=" + "a" * 65], "cannot name a key"),
        (["add=7"], "quote it: add='\"7\"'"),
        (["ad=x"], "unknown key 'ad'; did you mean 'add'?"),
        (["remove=x"], "unknown key 'remove'"),
    ],
)
def test_mistakes_get_one_line_and_change_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], expected: str
) -> None:
    path = tmp_path / "keys.json"
    typed(capsys, path, "add=weblate")
    before = path.read_bytes()
    out, err = typed(capsys, path, *words, code=2)
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert expected.format(path=path) in err
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["keys.json"]


@pytest.mark.parametrize("words", [[], ["revoke=a"]])
def test_a_file_that_is_missing_or_damaged_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    path = tmp_path / "keys.json"
    out, err = typed(capsys, path, *words, code=2)
    missing = f"error: {path} does not exist; nmt keys file={path} add=NAME makes it with a first key\n"
    assert (out, err) == ("", missing)
    assert not path.exists()
    path.write_text("{")
    out, err = typed(capsys, path, *words, code=2)
    damaged = f"error: {path} is a damaged file of keys: it is not JSON; restore it from a copy\n"
    assert (out, err) == ("", damaged)


def test_a_full_disk_is_told_and_leaves_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "keys.json"
    typed(capsys, path, "add=a")
    before = path.read_bytes()

    def full(beside: Path, path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(safe_files, "put_in_place", full)
    out, err = typed(capsys, path, "add=b", code=2)
    told = f"error: cannot write {path} (No space left on device); make room, or write elsewhere\n"
    assert (out, err) == ("", told)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["keys.json"]


@pytest.mark.parametrize(
    ("given", "folder"), [(None, "~/.config/nmt"), ("here", "~/.config/nmt"), ("/etc/me", "/etc/me/nmt")]
)
def test_the_file_is_where_the_user_keeps_settings(
    monkeypatch: pytest.MonkeyPatch, given: str | None, folder: str
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    if given is not None:
        monkeypatch.setenv("XDG_CONFIG_HOME", given)
    assert command_of("keys", []).file == f"{folder}/keys.json"
    assert command_of("keys", ["file=./auto"]).file == "./auto"


def test_a_home_folder_is_understood(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert main(["keys", "add=a"]) == 0
    assert (tmp_path / ".config" / "nmt" / "keys.json").is_file()


def test_many_commands_at_once_lose_no_key(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    script = "import sys; from pathlib import Path; from nmt.serve.key_changes import add_key, revoke_key\n"
    script += "from nmt.serve.keys import Key\nnumber = sys.argv[2]\nfor n in range(10):\n"
    script += "    print(add_key(Path(sys.argv[1]), Key(f'k{number}-{n}', None, None)))\n"
    script += "    if n % 2: revoke_key(Path(sys.argv[1]), f'k{number}-{n}')\n"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(path), str(number)], stdout=subprocess.PIPE, text=True, env=environment
        )
        for number in range(4)
    ]
    secrets = [process.communicate(timeout=60)[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    keys = Keys.read(path)
    for number, printed in enumerate(secrets):
        names = [None if (key := keys.of(secret)) is None else key.name for secret in printed]
        assert names == [None if n % 2 else f"k{number}-{n}" for n in range(10)]
    assert os.listdir(tmp_path) == ["keys.json"]


def test_a_file_that_another_process_holds_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_changes, "WAIT_S", 0.05)
    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    out, err = typed(capsys, tmp_path / "keys.json", "add=a", code=2)
    assert out == ""
    assert err.startswith(f"error: another process has locked {tmp_path} for ")
    os.close(handle)
    assert os.listdir(tmp_path) == []


def test_where_nothing_can_be_locked_a_note_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_changes, "take_lock", lambda handle: None)
    out, err = typed(capsys, tmp_path / "keys.json", "add=a")
    assert out.startswith("nmt_")
    path = tmp_path / "keys.json"
    assert err.startswith(f"note: {path} is on a file system without locks: run one nmt keys at a time\n")
