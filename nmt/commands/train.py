"""`nmt train`: a new run, a resumed one, or one that starts from another's weights."""

from nmt.config.verbs import TrainCommand
from nmt.training.run import train_or_resume


def main(command: TrainCommand) -> int:
    """Trains, and returns the exit code."""
    return train_or_resume(command)
