"""JoeyNMT's weights, made from OpenNMT-py's learned ones: the same model, so that both translate alike.

    python -m bench.peers.joeynmt_weights OPENNMT_MODEL JOEYNMT_VOCABULARY JOEYNMT_MODEL

Two things have no place in JoeyNMT and are lost: the bias of the output layer, and the encoder's final cell (its
decoder starts from the final hidden state alone). Runs in OpenNMT-py's environment.
"""

import sys
from pathlib import Path

import torch

RENAMED = {"<pad>": "<blank>"}  # JoeyNMT's pieces by OpenNMT-py's names


def main(source: Path, vocabulary: Path, target: Path) -> None:
    """Reads, renames, writes."""
    stored = torch.load(source, map_location="cpu", weights_only=False)  # it holds its options as an object
    learned, numbers = stored["model"], {piece: i for i, piece in enumerate(stored["vocab"]["src"])}
    pieces = vocabulary.read_text("utf-8").split("\n")[:-1]
    rows = torch.tensor([numbers[RENAMED.get(piece, piece)] for piece in pieces])
    # o_t = tanh(W [a_t ; s_t]) here, [s_t ; a_t] there: the halves change places
    context, state = learned["decoder.attn.linear_out.weight"].chunk(2, dim=1)
    weights = {
        "src_embed.lut.weight": learned["encoder.embeddings.make_embedding.emb_luts.0.weight"][rows],
        "trg_embed.lut.weight": learned["decoder.embeddings.make_embedding.emb_luts.0.weight"][rows],
        "decoder.output_layer.weight": stored["generator"]["weight"][rows],
        "decoder.attention.key_layer.weight": learned["decoder.attn.linear_in.weight"].T,
        "decoder.att_vector_layer.weight": torch.cat([state, context], dim=1),
        "decoder.att_vector_layer.bias": torch.zeros(state.size(0)),
    }
    weights |= {name: weight for name, weight in learned.items() if name.startswith(("encoder.rnn.", "decoder.rnn."))}
    torch.save({"model_state": {name: weight.contiguous() for name, weight in weights.items()}}, target)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
