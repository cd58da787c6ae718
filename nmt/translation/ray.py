"""Translation in Ray Data: a class for `map_batches`, of which every worker of a cluster makes one.

    texts.map_batches(TranslateBatch, fn_constructor_kwargs={"model": "runs/mine"}, num_cpus=1, concurrency=4)

Ray itself is not imported here.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt.config.sections import SearchConfig
from nmt.errors import DataError
from nmt.machine.allocator import keep_freed_memory
from nmt.machine.device import TranslationPrecision
from nmt.translation.notes import caution
from nmt.translation.translator import Translator


class TranslateBatch:
    """Adds a column of translations to batches of rows, which have a NumPy array for each column."""

    def __init__(
        self,
        model: str | Path | Sequence[str | Path],
        text: str = "text",
        translation: str = "translation",
        settings: SearchConfig | None = None,
        precision: TranslationPrecision = "auto",
        workers: int = 1,
    ) -> None:
        """`model`, `settings` and `precision` are those of `Translator.load`; every machine must reach the folder.

        `text` names the column of the texts, `translation` the new column.
        `workers`: as many as its share of the cluster's CPUs, `num_cpus`.
        """
        keep_freed_memory()
        self.translator = Translator.load(model, settings, precision=precision, workers=workers)
        self.notes = self.translator.notes()
        self.text, self.translation = text, translation

    def __call__(self, batch: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The columns of the batch and the new one: strings, in the order of the rows."""
        if self.text not in batch:
            columns = ", ".join(batch)
            raise DataError(f"the rows have no column '{self.text}'; name the one with the texts, text=…: {columns}")
        texts = batch[self.text].tolist()
        for value in texts:
            if not isinstance(value, str):
                raise DataError(f"{value!r} is not a text, column '{self.text}'; drop such rows, or fill them in")
        found = self.notes.noted(self.translator.translate(texts), lambda line: caution(f"in a batch, {line}"))
        return {**batch, self.translation: np.array([each.text for each in found], dtype=object)}
