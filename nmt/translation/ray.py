"""Translation in Ray Data: a class for `map_batches`; every worker of the cluster makes one instance.

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
    """Adds a column of translations to batches of rows; a batch has a NumPy array for each column."""

    def __init__(
        self,
        model: str | Path | Sequence[str | Path],
        text: str = "text",
        translation: str = "translation",
        settings: SearchConfig | None = None,
        precision: TranslationPrecision = "auto",
        workers: int = 1,
    ) -> None:
        """`model`, `settings` and `precision` are as in `Translator.load`; every machine must reach the model's folder.

        `text` names the column of the texts, `translation` the new column.
        `workers`: the number of threads; give the same number as `num_cpus`, the instance's share of the cluster.
        """
        keep_freed_memory()
        self.translator = Translator.load(model, settings, precision=precision, workers=workers)
        self.notes = self.translator.notes()
        self.text, self.translation = text, translation

    def __call__(self, batch: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The columns of the batch and the new column, which has a string for each row, in order."""
        if self.text not in batch:
            columns = ", ".join(batch)
            raise DataError(f"these rows have no column '{self.text}'; name the one with the texts, text=…: {columns}")
        texts = batch[self.text].tolist()
        for value in texts:
            if not isinstance(value, str):
                raise DataError(f"{value!r} is not a text, column '{self.text}'; drop such rows, or fill them in")
        found = self.notes.noted(self.translator.translate(texts), lambda line: caution(f"in a batch, {line}"))
        return {**batch, self.translation: np.array([each.text for each in found], dtype=object)}
