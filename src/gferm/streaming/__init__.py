"""Learn from more rows than fit into memory, a chunk at a time: `fit_stream`, `search_stream`."""

from gferm.streaming.arrow import ArrowSource
from gferm.streaming.chunks import Chunk
from gferm.streaming.learn_by_sums import fit_stream, search_stream
from gferm.streaming.parquet import ParquetSource

__all__ = ["ArrowSource", "Chunk", "ParquetSource", "fit_stream", "search_stream"]
