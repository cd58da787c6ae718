"""`python scripts/bench` measures everything, `python scripts/bench PART` one part."""

import sys
from pathlib import Path

PARTS = {
    "train": "bench.train",
    "busy": "bench.busy",
    "busy_translation": "bench.busy_translation",
    "workers": "bench.workers",
    "network": "bench.network",
    "on_paper": "bench.on_paper",
    "translate": "bench.translate",
    "data": "bench.data",
    "scale": "bench.scale",
    "precision": "bench.precision",
    "recipes": "bench.recipes",
    "noise": "bench.noise",
    "sentences": "bench.sentences",
    "cleaned": "bench.cleaned",
    "cautions": "bench.cautions",
    "replay": "bench.replay",
    "typed": "bench.typed",
    "tmx": "bench.tmx",
    "serve": "bench.serve",
    "peers": "bench.peers.compare",
    "time_to_bleu": "bench.peers.time_to_bleu",
}

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # scripts/: its folders are packages
    from command_line import run

    sys.exit(run("bench", PARTS, sys.argv[1:]))
