"""Train, evaluate and use translation models: nmt.load("runs/NAME").translate(["A sentence."])."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmt.translation.translations import Translation as Translation
    from nmt.translation.translator import Translator as Translator
    from nmt.translation.translator import load as load

__all__ = ["Translation", "Translator", "load"]


def __getattr__(name: str) -> Any:
    """Loads torch only when it is needed, so that `nmt --help` is immediate."""
    if name in __all__:
        from nmt.translation import translator

        return getattr(translator, name)
    raise AttributeError(f"module 'nmt' has no attribute '{name}'")
