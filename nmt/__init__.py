"""Train, evaluate and use translation models: nmt.load("runs/NAME").translate(["A sentence."])."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmt.translations import Translation as Translation
    from nmt.translator import Translator as Translator
    from nmt.translator import load as load

__all__ = ["Translation", "Translator", "load"]


def __getattr__(name: str) -> Any:
    """Loads torch only when it is needed, so that `nmt --help` is immediate."""
    if name in __all__:
        from nmt import translator

        return getattr(translator, name)
    raise AttributeError(f"module 'nmt' has no attribute '{name}'")
