"""From configuration to objects: the only place that does so. Sizes that follow from other parts are passed here."""

from collections.abc import Mapping, Sequence
from functools import partial

from torch import nn

from nmt.config.check import read_section
from nmt.config.parts import Config, checked, part
from nmt.config.sections import AttentionConfig, ModelConfig
from nmt.errors import ConfigError
from nmt.model.attention import AttentionFactory, AttentionLayer, ScoreFactory
from nmt.model.output_layer import Output
from nmt.model.scores import AttentionScore
from nmt.model.seq2seq import Embedding, Seq2Seq
from nmt.model.sizes import require_positive, require_share

DECODER_SIZES = ("embedding", "attention", "d_embed", "d_memory", "d_output")  # what a decoder is given here


def build_model(config: Config, src_vocab: int, tgt_vocab: int, trust: Sequence[str] = ()) -> Seq2Seq:
    """A freshly initialised model for vocabularies of these sizes."""
    sizes = read_section(ModelConfig, config["model"], "model")
    require_positive("model.d_embed", sizes.d_embed)
    require_share("model.embed_dropout", sizes.embed_dropout)
    require_share("model.word_dropout", sizes.word_dropout)
    src_embedding, tgt_embedding = embeddings(config, sizes, src_vocab, tgt_vocab)
    encoder = part(config["encoder"], "encoder", trust, {"d_embed": sizes.d_embed})
    decoder_class, arguments = checked(config["decoder"], "decoder", trust, DECODER_SIZES)
    decoder = decoder_class(
        embedding=tgt_embedding,
        attention=attention_factory(config["attention"], trust),
        d_embed=sizes.d_embed,
        d_memory=encoder.d_memory,
        d_output=None if sizes.tie == "none" else sizes.d_embed,
        **arguments,
    )
    output = Output(decoder.d_output, tgt_vocab)
    nn.init.zeros_(output.bias)
    if sizes.tie != "none":
        output.weight = tgt_embedding.table.weight
    return Seq2Seq(src_embedding, encoder, decoder, output)


def embeddings(config: Config, sizes: ModelConfig, src_vocab: int, tgt_vocab: int) -> tuple[Embedding, Embedding]:
    """Source and target embedding: one and the same where all three tables are tied."""
    target = Embedding(tgt_vocab, sizes.d_embed, sizes.embed_dropout, sizes.word_dropout)
    if sizes.tie != "all":
        return Embedding(src_vocab, sizes.d_embed, sizes.embed_dropout, sizes.word_dropout), target
    if not config["tokenizer"]["joint"]:
        raise ConfigError(
            "model.tie is all, but tokenizer.joint is false: two vocabularies cannot share one table; "
            "set tokenizer.joint=true or model.tie=target"
        )
    return target, target


def attention_factory(section: Config, trust: Sequence[str]) -> AttentionFactory | None:
    """Makes attention layers for decoders of any size; None for `attention=none`, whose class is null."""
    own = {key: value for key, value in section.items() if key != "normaliser"}
    common = {key: value for key, value in section.items() if key == "normaliser"}
    normaliser = read_section(AttentionConfig, common, "attention").normaliser
    if "class" in own and own["class"] is None:
        changed = [key for key in own if key != "class"] + ["normaliser"] * (normaliser != "softmax")
        if changed:
            raise ConfigError(f"attention.{changed[0]} is set, but attention=none has no parameters; remove it")
        return None
    if "score" in own:  # a layer that builds the scores of its heads itself, for the size of a head
        if not isinstance(own["score"], Mapping):
            raise ConfigError(
                f"attention.score={own['score']!r} is not a section; type attention@attention.score={own['score']}"
            )
        own["score"] = score_factory(own["score"], "attention.score", trust)
        layer, arguments = checked(own, "attention", trust, ("d_query", "d_memory", "normaliser"))
        return partial(layer, normaliser=normaliser, **arguments)
    score = score_factory(own, "attention", trust)
    return lambda d_query, d_memory: AttentionLayer(score(d_query, d_memory), normaliser)


def score_factory(section: Config, where: str, trust: Sequence[str]) -> ScoreFactory:
    """Makes the score that a section describes, for queries and states of any size."""
    found, arguments = checked(section, where, trust, ("d_query", "d_memory"))

    def build(d_query: int, d_memory: int) -> AttentionScore:
        built = found(d_query=d_query, d_memory=d_memory, **arguments)
        if not isinstance(built, AttentionScore):
            raise ConfigError(
                f"{where}.class={section['class']} is not a score; choose one, such as model.scores.ScaledDot"
            )
        return built

    return build
