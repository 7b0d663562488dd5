"""Some rows of Communities and Crime as a problem of their own, with small grids and few folds."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from reproduction.folds import FoldSet, outer_folds
from reproduction.learn import Learner
from reproduction.paper import KERNELS
from reproduction.plan import Plan
from reproduction.problems import Problem, crime

from gferm import Bins, FairRegressor, FairRegressorCV
from gferm.arrays.device import open_device
from gferm.fairness.bins import uniform_edges
from reproduction import folds, learn, plan, problems, records

ALPHAS = (1e-3, 0.03, 1.0, 30.0)
GAMMAS = (0.003, 0.03, 0.3)
N_ROWS, N_FOLDS = 158, 4  # of 158 rows 39 or 40 are held out, of the others 29 or 30
STUDIES = (problems.BINARY, problems.CONTINUOUS)
CPU = open_device("cpu")


def make_toy(n=N_ROWS, seed=0):
    """Take as many rows of every label, up to 1.0, which closes the last bin."""
    whole, rng = crime(), np.random.default_rng(seed)
    order = rng.permutation(len(whole.y))
    bins = Bins.uniform(0, 1, 20).assign(whole.y[order])
    nth = np.array([np.count_nonzero(bins[:i] == k) for i, k in enumerate(bins)])
    order = rng.permutation(order[np.argsort(nth, kind="stable")[:n]])

    def shorter(study):
        return replace(
            study,
            values=study.values[order],
            without_s=study.without_s[order],
            with_s=study.with_s[order],
        )

    studies = {kind: shorter(study) for kind, study in whole.studies.items()}
    return Problem("toy", "Toy", whole.y[order], studies)


@contextmanager
def small_grids():
    """Use the toy's grids in place of those of the paper."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learn, "LAMBDAS", ALPHAS)
        patch.setattr(records, "LAMBDAS", ALPHAS)
        patch.setattr(plan, "GAMMAS", GAMMAS)
        patch.setattr(folds, "FOLDS", N_FOLDS)
        yield


class Toy:
    """The toy, planned and learned: every kernel, all outer folds of a repeat."""

    def __init__(self, problem=None, studies=STUDIES, repeat=0, device=CPU):
        self.problem = problem or make_toy()
        n = len(self.problem.y)
        with small_grids():
            self.plan = Plan.of(self.problem, studies)
            self.folds = outer_folds(n, repeat)
            learner = Learner(self.plan, device)
            learner.prepare(FoldSet(self.folds, n))
            kernels = [learner.learn(number) for number in range(len(self.plan.kernels))]
            self.learned = [list(models) for models in zip(*kernels, strict=True)]

    def record(self, fold, study):
        with small_grids():
            made = records.FoldRecords(self.plan, self.folds[fold], self.learned[fold])
            return made.record(study)

    def options(self, method):
        """Return the arguments of FairRegressor for a method's constraint."""
        return {
            "kernel": KERNELS[method.learner],
            "y_bins": uniform_edges(0, 1, method.n_bins),
            "s_bins": self.problem.studies[method.study].bins,
            "epsilon_scale": method.epsilon_scale,
        }

    def rows(self, method, rows):
        """Return X, y, s of some rows."""
        study = self.problem.studies[method.study]
        return study.features(method.with_s)[rows], self.problem.y[rows], study.values[rows]

    def search(self, method, fold):
        """Choose and learn the slow way, with the public estimator."""
        train = self.folds[fold].train
        pairs = zip(self.folds[fold].inner_train, self.folds[fold].inner_test, strict=True)
        X, y, s = self.rows(method, train)
        search = FairRegressorCV(
            alphas=ALPHAS,
            gammas=GAMMAS if method.learner == "KRLS" else None,
            epsilons=[method.epsilon],
            unfairness="general_fairness",  # COMPARED but for a factor
            selection="error" if method.naive else "nvp",
            cv=[tuple(np.searchsorted(train, rows) for rows in pair) for pair in pairs],
            **self.options(method),
        )
        return search.fit(X, y, sensitive_features=s)

    def refit(self, method, fold, model):
        """Learn the model of a record on the outer training rows."""
        X, y, s = self.rows(method, self.folds[fold].train)
        settings = {"alpha": model["alpha"], "gamma": model["gamma"], "epsilon": method.epsilon}
        return FairRegressor(**settings, **self.options(method)).fit(X, y, sensitive_features=s)

    def variant_figures(self, method, fold):
        """Return the engine's figures of a method by (gamma, alpha)."""
        family, variant = self.plan.family(method), plan.Variant.of(method)
        return {
            (kernel.gamma, alpha): (figures.inner_error[i], figures.inner_dgf[i])
            for kernel, learned in zip(self.plan.kernels, self.learned[fold], strict=True)
            if kernel.family == family
            for figures in [learned.results[variant]]
            for i, alpha in enumerate(ALPHAS)
        }
