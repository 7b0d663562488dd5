"""The experiments in small, for the machinery around them: 200 rows, two alphas, one gamma."""

from functools import cache, partial

import numpy as np
from reproduction.problems import Problem, Study

from reproduction import learn, paper, plan, problems, records, summary

N_ROWS = 200
LABELS = {"crime": (0.2, 0.4), "pupils": (0.4, 0.6)}  # few bins, so that every fold can be judged
CHANGES = {
    "LAMBDAS": ((paper, learn, records), (0.01, 1.0)),
    "GAMMAS": ((paper, plan), (0.1,)),
    "N_PERMUTATIONS": ((paper, records, summary), 20),
    "N_ALONG": ((paper, records), 10),
}


@cache
def shrunk(name):
    """Take some rows of a dataset, as many of each group."""
    whole, (low, high) = getattr(problems, name)(), LABELS[name]
    rows = np.flatnonzero((whole.y >= low) & (whole.y < high))
    codes = [whole.members(study, 1).cell_codes[0][rows] for study in whole.studies]
    _, group, sizes = np.unique(codes, axis=1, return_inverse=True, return_counts=True)
    chances = 1 / sizes[group] / len(sizes)
    rows = np.sort(np.random.default_rng(0).choice(rows, N_ROWS, replace=False, p=chances))
    studies = {
        key: Study(s.attribute, s.values[rows], s.bins, s.without_s[rows], s.with_s[rows])
        for key, s in whole.studies.items()
    }
    return Problem(whole.name, whole.title, whole.y[rows], studies)


def shrink(patch):
    """Put few rows in place of the data, and small grids in place of the paper's."""
    for name in LABELS:
        patch.setitem(problems.PROBLEMS, name, partial(shrunk, name))
    for name, (modules, value) in CHANGES.items():
        for module in modules:
            patch.setattr(module, name, value)
