"""Translation in Ray Data: on one process as a function, and on a cluster of two nodes with workers that are killed."""

import os
import re
import shutil
import signal
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from helpers.small_runs import make_run, sentences
from numpy.typing import NDArray

from nmt.errors import DataError
from nmt.translation.ray import TranslateBatch
from nmt.translation.translator import Translator

ROOT = Path(__file__).parents[2]
SHORT = {"beam": 1, "max_length_a": 3.0, "max_length_b": 0.5}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "small", **SHORT)


def column(*values: Any) -> NDArray[Any]:
    return np.array(values, dtype=object)


def test_a_batch_keeps_its_columns_and_gets_one_more(run: Path) -> None:
    texts = ["ein Hund", "", *sentences(5)]
    translator = Translator.load(run, precision="fp32")
    batch = {"english": column(*texts), "id": np.arange(7)}
    found = TranslateBatch(run, "english", "german", precision="fp32")(batch)
    assert list(found) == ["english", "id", "german"]
    assert found["id"].tolist() == list(range(7))
    assert found["german"].tolist() == [each.text for each in translator.translate(texts)]
    wide = replace(translator.settings, beam=4, n_best=2)
    found = TranslateBatch(run, settings=wide, precision="fp32")({"text": column(*texts)})
    assert found["translation"].tolist() == [each.text for each in translator.translate(texts, settings=wide)]


def test_it_uses_one_core_or_as_many_as_it_is_given(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    assert TranslateBatch(run).translator.workers.count == 1
    assert TranslateBatch(run, workers=2).translator.workers.count == 2


@pytest.mark.slow
def test_mistakes_get_one_line(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    translate = TranslateBatch(run)
    with pytest.raises(DataError) as found:
        translate({"src": column("a"), "id": column(1)})
    assert str(found.value) == "these rows have no column 'text'; name the one with the texts, text=…: src, id"
    for value in (None, 3):
        with pytest.raises(DataError) as found:
            translate({"text": column("a", value)})
        assert str(found.value) == f"{value} is not a text, column 'text'; drop such rows, or fill them in"
    assert capsys.readouterr().err == ""
    translate({"text": column("der Hund", "der Hund " * 600)})
    assert capsys.readouterr().err.startswith("caution: in a batch, line 2 has 1,200 pieces; translated in 2 parts")


class Mortal(TranslateBatch):
    """Notes in a folder which process begins each batch; two processes die after theirs, and what they made is lost."""

    def __init__(self, folder: str, model: str) -> None:
        super().__init__(model, precision="fp32")
        self.folder = Path(folder)

    def __call__(self, batch: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        begun = len(list(self.folder.glob("*.batch")))
        (self.folder / f"{os.getpid()}-{os.urandom(4).hex()}.batch").touch()
        found = super().__call__(batch)
        for death in (2, 8):
            with suppress(FileExistsError):
                if begun >= death:
                    (self.folder / f"{death}.death").touch(exist_ok=False)
                    os.kill(os.getpid(), signal.SIGKILL)
        return found


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A Ray cluster of two nodes, with two of Ray's CPUs each; skipped where Ray is not installed."""
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install -e '.[ray]'")
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(map(str, (ROOT, ROOT / "tests"))))
        patch.setenv("RAY_DATA_DISABLE_PROGRESS_BARS", "1")
        cluster = cluster_utils.Cluster(
            initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False}
        )
        try:
            cluster.add_node(num_cpus=2)
            cluster.wait_for_nodes()
            ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
            yield ray
        finally:
            ray.shutdown()
            cluster.shutdown()


@pytest.mark.slow
def test_killed_workers_lose_and_double_nothing(run: Path, cluster: Any, tmp_path: Path) -> None:
    ray = cluster
    assert sum(node["Alive"] for node in ray.nodes()) == 2
    notes, out = tmp_path / "notes", tmp_path / "out"
    notes.mkdir()
    texts = sentences(1000)
    rows = ray.data.from_items([{"id": number, "text": text} for number, text in enumerate(texts)])
    rows.map_batches(
        Mortal,
        fn_constructor_kwargs={"folder": str(notes), "model": str(run)},
        batch_size=50,
        num_cpus=1,
        concurrency=2,
    ).write_parquet(str(out))
    assert len(list(notes.glob("*.death"))) == 2
    workers = Counter(path.name.split("-")[0] for path in notes.glob("*.batch"))
    assert len(workers) >= 4  # two, and one in the place of each that died
    assert sum(workers.values()) > 20  # batches were begun again
    expected = [each.text for each in Translator.load(run, precision="fp32").translate(texts)]
    assert written(out) == list(zip(range(1000), texts, expected, strict=True))


def written(folder: Path) -> list[tuple[Any, ...]]:
    """Rows of the files, sorted."""
    tables = [pq.read_table(path) for path in folder.glob("*.parquet")]
    return sorted(tuple(row.values()) for table in tables for row in table.to_pylist())


@pytest.mark.slow
def test_the_script_of_the_page_runs(run: Path, cluster: Any, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "many-files.md").read_text("utf-8")
    [script] = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    shutil.copytree(run, tmp_path / "runs" / "mine")
    texts = sentences(300)
    (tmp_path / "in").mkdir()
    for part in range(3):
        pq.write_table(pa.table({"text": texts[part::3]}), tmp_path / "in" / f"{part}.parquet")
    assert script.count("/shared/") == 3
    exec(script.replace("/shared/", f"{tmp_path}/"), {})
    expected = [each.text for each in Translator.load(run).translate(texts)]
    assert written(tmp_path / "out") == sorted(zip(texts, expected, strict=True))
