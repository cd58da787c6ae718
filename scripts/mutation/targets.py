"""Which tests must notice a change of which file."""

REFERENCE = "references/test_rnn_reference"
DEVICES = "laws/test_devices"
TRANSFORMERS = ["model/test_transformer", DEVICES, "laws/test_transformer_laws"]
TESTS = {
    "model/additive": ["model/test_additive", "model/test_scores"],
    "model/scores": ["model/test_scores", "model/test_attention", REFERENCE],
    "model/linear": ["model/test_linear", "model/test_attention"],
    "model/sizes": ["model/test_rnn", "model/test_scores", "model/test_attention", "model/test_transformer"],
    "model/attention": ["model/test_attention", "model/test_transformer", REFERENCE, DEVICES],
    "model/dropout": ["model/test_dropout", "model/test_rnn"],
    "model/rnn": ["model/test_seq2seq", "model/test_rnn", REFERENCE, DEVICES],
    "model/output_layer": ["search/test_int8", REFERENCE],
    "model/seq2seq": ["model/test_seq2seq", "model/test_rnn", REFERENCE, DEVICES],
    "model/interfaces": [REFERENCE],
    "model/build": [
        "model/test_build",
        "model/test_rnn",
        "model/test_scores",
        "model/test_attention",
        "model/test_transformer",
        REFERENCE,
    ],
    "model/positions": ["model/test_seq2seq", *TRANSFORMERS],
    "model/transformer_layers": TRANSFORMERS,
    "model/transformer": TRANSFORMERS,
    "training/loss": ["training/test_loss"],
    "training/recipe": ["training/test_recipe"],
    "training/judgement": ["training/test_judgement"],
    "training/optim": ["training/test_optim"],
    "training/tree_sum": ["training/test_tree_sum"],
    "training/step": ["training/test_step", "training/test_peers"],
    "search/beam": ["search/test_beam", "search/test_prefix"],
    "search/sampling": ["search/test_beam"],
    "search/hypotheses": ["search/test_beam", "search/test_prefix"],
    "search/ensemble": [DEVICES, "search/test_ensemble"],
    "search/int8": ["search/test_int8"],
    "search/int8_kernels": ["search/test_int8"],
    "search/prefix": ["search/test_prefix"],
    "search/shortlist": [DEVICES, "search/test_shortlist"],
}
TARGETS = {f"nmt/{path}.py": [f"tests/{name}.py" for name in names] for path, names in TESTS.items()}
