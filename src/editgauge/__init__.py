"""EditGauge measures how good text-guided image edits are: was the edit made, did the rest stay, are there artifacts.

The verbs of the command line are functions here, with the same words:

    import editgauge

    editgauge.score("before.png", "after.png", "make the cat black", edit_type="color", subject="cat", to="black")
    run = editgauge.run("sample", outcomes={"mine": "outcomes/"}, protocol=["preservation"], out="run")
    editgauge.report("run", out="report")

Everything is imported when it is first used, so `import editgauge` is cheap.
"""

from importlib import import_module as _import_module

from editgauge import _face

__version__ = "0.1.0"
__all__ = sorted(_face.FACE)


def __getattr__(name: str) -> object:
    if name not in _face.FACE:
        raise AttributeError(f"module 'editgauge' has no attribute '{name}'")
    module, _, attribute = _face.FACE[name].partition(":")
    found = _import_module(module)
    return getattr(found, attribute) if attribute else found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
