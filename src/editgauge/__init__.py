"""EditGauge evaluates text-guided image edits: was the change made, did everything else stay, is it well made.

Every command of the command line is a function with the same options:

    import editgauge

    editgauge.score("before.png", "after.png", "make the cat black", edit_type="color", subject="cat", to="black")
    run = editgauge.run("sample", outcomes={"mine": "outcomes/"}, protocol=["preservation"], out="run")
    editgauge.report("run", out="report")

Everything is imported when it is first used, so `import editgauge` is cheap.
"""

from importlib import import_module as _import_module

from editgauge import _public

__version__ = "0.2.0"
__all__ = sorted(_public.PUBLIC_NAMES)  # noqa: PLE0605 - the stub lists the names


def __getattr__(name: str) -> object:
    path = _public.PUBLIC_NAMES.get(name) or _public.EXTENSION_NAMES.get(name)
    if path is None:
        raise AttributeError(f"module 'editgauge' has no attribute '{name}'")
    module_name, _, attribute = path.partition(":")
    module = _import_module(module_name)
    return getattr(module, attribute) if attribute else module


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
