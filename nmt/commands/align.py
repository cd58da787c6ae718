"""`nmt align`: word alignments of given sentence pairs."""

import sys

from tqdm import tqdm

from nmt.config.sections import DataConfig
from nmt.config.verbs import AlignCommand
from nmt.data.streams import output_file
from nmt.errors import ConfigError
from nmt.machine.home import expanded
from nmt.scoring.alignment import pharaoh
from nmt.translation.align import Extraction, aligned, check_model, count_pairs, read_pairs
from nmt.translation.open import open_scorer


def main(command: AlignCommand) -> int:
    """Prints the links of every pair of lines, as "i-j i-j …"."""
    layer, head = (None if number is None else number - 1 for number in (command.layer, command.head))
    how = Extraction(command.units, command.threshold, layer, head)
    total = count_pairs(command.src, command.tgt)
    refuse_read_files(command)
    translator = open_scorer(command)
    check_model(translator, how, f"model={command.model}")
    other = None
    if (reverse := command.reverse_model) is not None:
        other = open_scorer(command, reverse, "reverse_model")
        check_model(other, how, f"reverse_model={reverse}")
        check_directions(translator.config.data, other.config.data, reverse)
    pairs = read_pairs(command.src, command.tgt)
    hidden = command.output is None and sys.stdout.isatty()  # the printed links show the progress
    bar = tqdm(total=total, unit=" pairs", leave=False, disable=hidden or None, dynamic_ncols=True)
    with bar, output_file(command.output) as file:
        for found in aligned(translator, other, pairs, how, command.symmetrise):
            print(pharaoh(found), file=file, flush=True)
            bar.update()
    return 0


def refuse_read_files(command: AlignCommand) -> None:
    """Refuses an output file that is one of the files read."""
    output = None if command.output is None else expanded(command.output)
    for key, name in (("src", command.src), ("tgt", command.tgt)):
        if output is not None and output.is_file() and output.samefile(expanded(name)):
            raise ConfigError(f"{key}={name} would be replaced, output={command.output}; choose another output=")


def check_directions(data: DataConfig, reverse: DataConfig, named: str) -> None:
    """Refuses a second model whose languages are known not to be the reverse of the first model's."""
    src, tgt, back = data.src_lang, data.tgt_lang, [reverse.src_lang, reverse.tgt_lang]
    if None not in (src, tgt, *back) and back != [tgt, src]:
        raise ConfigError(
            f"the model translates {back[0]} to {back[1]}, reverse_model={named}; name one of {tgt} to {src}"
        )
