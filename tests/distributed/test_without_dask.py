"""Without dask, gferm works and says what is missing."""

import subprocess
import sys


def test_without_dask():
    code = """
import sys
import gferm
assert not any(name.split(".")[0] in ("dask", "distributed") for name in sys.modules)
sys.modules["dask"] = None
try:
    import gferm.distributed
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'gferm[distributed]'" in done.stdout
