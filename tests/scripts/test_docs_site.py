"""The documentation site: the reference that is made from the program is whole, and a strict build has no warning."""

import re
from pathlib import Path

import pytest
import yaml

from command_line import ROOT
from docs import choices, commands, everything, formulas, http_api, python_api
from docs.markdown import plain
from docs.site import CONFIG, build, is_site
from nmt.cli.main import VERBS
from nmt.cli.run import all_keys
from nmt.config.compose import CONFIGS
from nmt.errors import NmtError


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return commands.pages()


def keys_on(page: str) -> list[str]:
    return re.findall(r'^\| <code id="([^"]+)">', page, re.MULTILINE)


@pytest.mark.parametrize("verb", VERBS)
def test_a_verbs_page_names_every_key_once(verb: str, pages: dict[str, str]) -> None:
    listed = keys_on(pages[f"reference/commands/{verb}.md"])
    words = re.findall(r"^\| <code>(\w+)</code>", pages[f"reference/commands/{verb}.md"], re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert sorted({*listed, *words}) == sorted(set(all_keys(verb)))


def test_a_folder_with_other_files_is_not_emptied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(SystemExit) as stopped:
        everything.main(["--output", str(tmp_path)])
    assert stopped.value.code == 2
    assert f"--output {tmp_path} has other files; name a new folder, or that of a site" in capsys.readouterr().err
    assert is_site(tmp_path / "notes.txt") is False
    (tmp_path / "sitemap.xml").write_text("")
    assert is_site(tmp_path)


def test_settings_of_a_space_say_what_they_take(pages: dict[str, str]) -> None:
    rows = re.findall(
        r'^\| <code id="space\.[^"]*\.(\w+)">[^|]*\|[^|]*\| ([^|]*) \|', pages["reference/commands/tune.md"], re.M
    )
    assert {"low", "high", "log"} <= {name for name, _ in rows}
    assert {takes for name, takes in rows if name in ("low", "high")} == {"number"}


def test_a_callable_object_is_not_shown_as_its_constructor() -> None:
    assert "translate_batch(batch: " in python_api.page()


@pytest.mark.parametrize("verb", VERBS)
def test_every_key_says_what_it_takes_and_means(verb: str, pages: dict[str, str]) -> None:
    rows = re.findall(r"^\| <code id=.*$", pages[f"reference/commands/{verb}.md"], re.MULTILINE)
    cells = [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in rows]
    assert rows
    assert all(len(each) == 4 and all(each) for each in cells if not each[0].startswith('<code id="space.')), cells


def test_the_list_of_commands_has_every_verb(pages: dict[str, str]) -> None:
    assert re.findall(r"\]\((\w+)\.md\)", pages["reference/commands/index.md"]) == list(VERBS)


def test_every_choice_of_every_group_has_its_section() -> None:
    files = {path.relative_to(CONFIGS).with_suffix("") for path in CONFIGS.glob("*/**/*.yaml")}
    named = re.findall(r"^### `(\w+)=([\w/]+)`", choices.page(), re.MULTILINE)
    assert {Path(group, choice) for group, choice in named} == {path for path in files if path.parts[0] != "base"}


@pytest.mark.parametrize("public", [each for among in python_api.PUBLIC.values() for each in among], ids=str)
def test_public_names_are_on_the_page_of_python(public: python_api.Public) -> None:
    page = python_api.page()
    assert f"### {public.name} {{" in page
    for method in public.methods:
        assert f"#{public.module}.{public.name}.{method} }}" in page


def test_the_page_of_http_has_every_route(tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "required": ["text"],
        "properties": {"text": {"type": "string", "description": "A text."}},
    }
    answer = {
        "description": "Done.",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Answer"}}},
    }
    route = {
        "tags": ["own"],
        "summary": "Do it.",
        "responses": {"200": answer, "404": {"$ref": "#/components/responses/Gone"}},
    }
    api = {
        "openapi": "3.1.0",
        "info": {"description": "An API."},
        "tags": [{"name": "own", "description": "Our own."}],
        "paths": {"/v1/do": {"post": route}},
        "components": {"schemas": {"Answer": schema}, "responses": {"Gone": {"description": "Gone."}}},
    }
    path = tmp_path / "openapi.yaml"
    path.write_text(yaml.safe_dump(api), "utf-8")
    page = http_api.page(path)
    assert "### POST /v1/do {" in page
    assert "| <code>200</code> | Done. | [Answer](#Answer) |" in page
    assert "| <code>404</code> | Gone. |" in page
    assert "| <code>text</code> *required* | string | A text. |" in page
    assert "serve.md" in http_api.page(tmp_path / "missing.yaml")


def test_the_page_of_http_is_made_from_the_servers_description() -> None:
    page = http_api.page()
    api = yaml.safe_load(http_api.DESCRIPTION.read_text("utf-8"))
    routes = [(verb, path) for path, verbs in api["paths"].items() for verb in verbs if verb in http_api.VERBS]
    named = re.findall(r"^### (GET|POST|PUT|DELETE) (\S+) ", page, re.MULTILINE)
    assert sorted(named) == sorted((verb.upper(), plain(path)) for verb, path in routes)
    assert all(f"### {name} {{ #{name} }}" in page for name in api["components"]["schemas"])


def test_formulas_are_found_and_code_and_money_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formulas, "mathml", lambda tex, alone: f"<{tex}{'!' if alone else ''}>")
    kept: dict[str, str] = {}
    marked = formulas.taken_out("A $x_1$ costs 5$ or $ 6, $HOME is it.\n\n$$ y\n= 2 $$\n", kept)
    assert formulas.put_in(marked, kept) == "A <x_1> costs 5$ or $ 6, $HOME is it.\n\n< y\n= 2 !>\n"
    assert list(kept.values()) == ["<x_1>", "< y\n= 2 !>"]


def test_nothing_is_loaded_from_elsewhere() -> None:
    settings = CONFIG.read_text("utf-8")
    assert "font: false" in settings
    assert "://" not in re.sub(r"#.*", "", settings)


def test_without_mkdocs_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("docs.site.find_spec", lambda name: None)
    with pytest.raises(
        NmtError, match=r"^mkdocs-material is not installed; type make docs, or pip install -e '.\[docs\]'$"
    ):
        build(tmp_path / "site")


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_works_from_the_disk(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="mkdocs-material is not installed: pip install -e '.[docs]'")
    assert build(tmp_path / "site") == 0
    html = {
        path: path.read_text("utf-8") for path in (tmp_path / "site").rglob("*.html") if "comparisons" not in path.parts
    }
    assert tmp_path / "site" / "reference" / "commands" / "train.html" in html
    assert "<math" in html[tmp_path / "site" / "explanation" / "scores.html"]
    for path, text in html.items():
        loaded = re.findall(r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="?([^"> ]+)', text)
        assert not [address for address in loaded if "://" in address], path
        assert "formula0formula" not in text
    assert (tmp_path / "site" / "search" / "search_index.js").is_file()
    assert not (ROOT / "scripts" / "docs" / "site").exists()
