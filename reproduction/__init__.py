"""The experiments of the paper, and what the library makes of them: ``python -m reproduction``."""


class ExperimentError(ValueError):
    """An experiment cannot go on; the message says why and what to do."""
