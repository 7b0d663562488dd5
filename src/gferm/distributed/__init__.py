"""Learn from dask arrays and data frames, where their partitions are: `fit`, `search`, `predict`.

    partitions → what they agree on → a Summary of each → their sum → model
                                      … of each fold    → their sums → every setting judged

Only numbers about the rows travel: what bins need, landmarks, and sums whose size has nothing to do
with the number of rows. Whatever scheduler is active does the work: threads, or the workers of a
`dask.distributed.Client`.
"""

try:
    import dask.array
    import dask.delayed  # noqa: F401
except ImportError as error:
    raise ImportError("gferm.distributed needs dask: pip install 'gferm[distributed]'") from error

from gferm.distributed.dask_source import fit, search
from gferm.distributed.predictions import predict

__all__ = ["fit", "predict", "search"]
