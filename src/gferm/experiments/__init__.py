"""The experiments of the paper, and one for its theorem, on data that anybody can get."""
