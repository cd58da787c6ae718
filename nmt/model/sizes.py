"""Sizes that a part can have."""

from nmt.errors import ConfigError


def check_rnn(where: str, layers: int, d_hidden: int, dropout: float) -> None:
    """Refuses sizes that no RNN can have."""
    require_positive(f"{where}.layers", layers, MOST_LAYERS)
    require_positive(f"{where}.d_hidden", d_hidden)
    require_share(f"{where}.dropout", dropout)


def check_heads(where: str, heads: int, features: int) -> None:
    """Refuses heads that do not divide the features of their layer."""
    require_positive(f"{where}.heads", heads)
    if features % heads:
        fitting = [str(number) for number in range(1, 2 * heads) if features % number == 0]
        raise ConfigError(
            f"{where}.heads is {heads}, which does not divide the {features} features of its layers; "
            f"set {where}.heads to {' or '.join(fitting)}, or choose another size"
        )


def require_equal_sizes(score: str, d_query: int, d_memory: int) -> None:
    """A dot product needs vectors of one size; says how to get them."""
    if d_query != d_memory:
        raise ConfigError(
            f"attention {score} needs decoder and encoder states of one size, but they have {d_query} and {d_memory}; "
            f"set the decoder's d_hidden (d_model in a Transformer) to {d_memory}, or use attention=general"
        )


MOST_LAYERS = 1_000


def require_positive(key: str, value: int, most: int = 1_000_000) -> None:
    """Refuses sizes below 1, and those of no model, before memory is asked for."""
    if value < 1:
        raise ConfigError(f"{key} is {value}; it must be at least 1")
    if value > most:
        raise ConfigError(f"{key} is {value}; it must be at most {most:,}")


def require_share(key: str, value: float) -> None:
    """Refuses what is no share of units that can be dropped."""
    if not 0 <= value < 1:
        raise ConfigError(f"{key} is {value}; it must lie in [0, 1)")
