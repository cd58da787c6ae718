"""Can BLEU score these references? It counts sequences of one to four words, and is 0 where nothing has four."""

from collections.abc import Iterator, Sequence

from sacrebleu.metrics.bleu import BLEU

from nmt.scoring.word_rules import WordRule, bleu_tokenizer

FEWEST_SEQUENCES = 0.1  # sequences of four words for each reference; BLEU of fewer is mostly chance


def is_countable(references: Sequence[str], word_rule: WordRule) -> bool:
    """Have the references enough sequences of four words for BLEU, which is 0 without them? Terms and labels do not."""
    tokenizer = BLEU(tokenize=bleu_tokenizer(word_rule)).tokenizer
    sequences = sum(max(0, len(tokenizer(reference).split()) - 3) for reference in references)
    return sequences >= FEWEST_SEQUENCES * len(references)


def of_short_references(references: Sequence[Sequence[str]], word_rule: WordRule) -> Iterator[str]:
    """Says that BLEU cannot score references as short as these."""
    if not any(is_countable(reference, word_rule) for reference in references):
        yield "hardly any reference has four words in a row, which BLEU counts; so it says nothing here: look at chrF2"
