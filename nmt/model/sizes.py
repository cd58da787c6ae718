"""Checks that the sizes of parts fit together."""

from nmt.errors import ConfigError


def check_heads(where: str, heads: int, features: int) -> None:
    """Refuses a number of heads that does not divide the number of features of the layers."""
    if features % heads:
        fitting = [str(number) for number in range(1, 2 * heads) if features % number == 0]
        raise ConfigError(
            f"{where}.heads is {heads}, which does not divide the {features} features of its layers; "
            f"set {where}.heads to {' or '.join(fitting)}, or choose another size"
        )


def require_equal_sizes(score: str, d_query: int, d_memory: int) -> None:
    """Refuses sizes that differ, because a dot product needs equal ones; the error says how to get them."""
    if d_query != d_memory:
        raise ConfigError(
            f"attention {score} needs decoder and encoder states of one size, but they have {d_query} and {d_memory}; "
            f"set the decoder's d_hidden (d_model in a Transformer) to {d_memory}, or use attention=general"
        )
