"""Which tests must notice a change of which file."""

REFERENCE = "references/test_rnn_reference"
TRANSFORMERS = ["model/test_transformer", "laws/test_transformer_laws"]
TESTS = {
    "model/additive": ["model/test_additive", "model/test_scores"],
    "model/scores": ["model/test_scores", REFERENCE, "model/test_attention"],
    "model/sizes": ["model/test_rnn", "model/test_scores", "model/test_attention", "model/test_transformer"],
    "model/attention": ["model/test_attention", REFERENCE, "model/test_transformer"],
    "model/dropout": ["model/test_rnn"],
    "model/rnn": [REFERENCE, "model/test_rnn", "laws/test_laws"],
    "model/positions": TRANSFORMERS,
    "model/transformer_layers": TRANSFORMERS,
    "model/transformer": TRANSFORMERS,
    "model/output_layer": ["search/test_int8", REFERENCE],
    "model/seq2seq": [REFERENCE, "model/test_rnn", "laws/test_laws"],
    "model/interfaces": [REFERENCE, "search/test_beam"],
    "model/build": ["model/test_rnn", "model/test_scores", "model/test_attention", "model/test_transformer", REFERENCE],
    "search/beam": ["search/test_beam", "laws/test_transformer_laws"],
    "search/sampling": ["search/test_beam"],
    "search/hypotheses": ["search/test_beam"],
    "search/ensemble": ["search/test_ensemble"],
    "search/int8": ["search/test_int8"],
    "search/shortlist": ["search/test_shortlist"],
    "training/loss": ["training/test_loss", "training/test_trainer"],
    "training/optim": ["training/test_optim", "training/test_trainer"],
}
TARGETS = {f"nmt/{path}.py": [f"tests/{name}.py" for name in names] for path, names in TESTS.items()}
