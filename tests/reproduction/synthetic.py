"""Records as the protocol writes them, from rows and predictions that are made up."""

import numpy as np
from reproduction.claim_tables import build_claims, build_verdicts
from reproduction.claims import check_claims
from reproduction.paper import LABEL_BINS, SHARES, methods_of
from reproduction.summary import summarize
from reproduction.tables import build_tables

from gferm.fairness.bins import Bins
from gferm.metrics.chance import chances_of_dgf, dgf_of_counts

N_ROWS, N_FOLDS = 405, 10  # so folds differ in size
DGFS = ("pairs", "all_bins", "sum", "weighted")


def count(label, group, shape):
    table = np.zeros(shape, dtype=int)
    np.add.at(table, (label, group), 1)
    return table


def make_rows(study="binary", seed=0, n=N_ROWS):
    """Make labels in [0, 1] and groups; high labels are rare in the first group."""
    rng = np.random.default_rng(seed)
    n_groups = 2 if study == "binary" else 5
    s = rng.integers(0, n_groups, n)
    y = np.clip(rng.beta(1.3, 3.5 - 1.5 * s / (n_groups - 1), n), 0, 1)
    return y, s, n_groups


def predict(method, y, s, rng):
    """Predict with an error that depends on the method in the way the paper claims."""
    fair = method.epsilon is not None
    noise = 0.09 + 0.01 * (method.learner == "RLS") - 0.004 * method.with_s
    noise += 0.004 * fair + 0.02 * (method.n_bins == 20)
    bias = 0.06 if not fair else 0.02 + 4 * (method.epsilon or 0) - 0.001 * method.n_bins
    if method.epsilon_scale == "sum":
        bias = 0.02
    return np.clip(y + bias * (s / s.max() - 0.5) + rng.normal(0, noise, y.size), 0, 1)


def model_record(method, y, f, s, n_groups):
    bins = Bins.uniform(0, 1, method.n_bins)
    label, hit = bins.assign(y), bins.assign(f) == bins.assign(y)
    counts = count(label, s, (method.n_bins, n_groups))
    hits = count(label[hit], s[hit], counts.shape)
    chances = chances_of_dgf(
        hits, counts, ("all_bins", "weighted"), n_permutations=50, rng=np.random.default_rng(0)
    )
    unfairness = {average: float(dgf_of_counts(hits, counts, average)) for average in DGFS}
    return {
        "alpha": 0.1,
        "gamma": 0.01 if method.learner == "KRLS" else None,
        "inner_error": 9.0,
        "inner_dgf": 0.1,
        "error": 100 * float(np.mean(np.abs(y - f))),
        "dgf": unfairness,
        "dgf_usual": {average: 0.8 * value for average, value in unfairness.items()},
        "gap": unfairness["pairs"] / 3,
        "delta": {
            f"{rows}{average}": unfairness[average] * factor
            for rows, factor in (("", 0.9), ("train_", 0.4))
            for average in ("sum", "pairs")
        },
        "chance": {
            average: {"mean": chance.mean, "high": chance.high, "p": chance.p}
            for average, chance in chances.items()
        },
        "hits": hits.tolist(),
    }


def make_frontier(method, seed):
    rng = np.random.default_rng([*seed, method.learner == "RLS", method.with_s])
    shares = np.array(SHARES)
    price, level, gain, floor = rng.normal([0.8, 9.0, 0.08, 0.1], [0.5, 0.5, 0.04, 0.02])
    error = level + price * (1 - shares) ** 2 + 0.3 * (method.learner == "RLS")
    unfair = floor + gain * shares + 0.02 * method.with_s
    return {
        "epsilon": 0.05,
        "breakpoints": 11,
        "error": error.tolist(),
        "dgf": unfair.tolist(),
        "chance": (0.8 * unfair).tolist(),
    }


def make_records(study="binary", n_repeats=2, data="crime", methods=None):
    """Make the records of a study, fold by fold; every row is held out once a repeat."""
    y, s, n_groups = make_rows(study)
    records = []
    for repeat in range(n_repeats):
        rng = np.random.default_rng([repeat, 7])
        folds = np.array_split(rng.permutation(y.size), N_FOLDS)
        for fold, test in enumerate(folds):
            models = {
                method.key: model_record(
                    method, y[test], predict(method, y[test], s[test], rng), s[test], n_groups
                )
                for method in methods or methods_of(study)
            }
            bins = LABEL_BINS if study == "binary" else (10,)
            records.append(
                {
                    "data": data,
                    "study": study,
                    "repeat": repeat,
                    "fold": fold,
                    "seeds": {"outer": repeat, "inner": fold},
                    "n_train": y.size - test.size,
                    "n_test": test.size,
                    "counts": {
                        str(K): count(
                            Bins.uniform(0, 1, K).assign(y[test]), s[test], (K, n_groups)
                        ).tolist()
                        for K in bins
                    },
                    "models": models,
                    "frontier": {
                        f"{m.learner}, {'with' if m.with_s else 'without'} s": make_frontier(
                            m, (repeat, fold)
                        )
                        for m in methods_of(study)
                        if m.epsilon is None and m.naive
                    },
                }
            )
    return records


def make_sheets():
    """Build every table, whole and of a run that has just begun, with and without the paper."""
    built = []
    for study in ("binary", "continuous"):
        records = make_records(study, n_repeats=1)
        others = [{**record, "data": "pupils"} for record in records]
        for some in (records, records[:1], others):
            summary, findings = summarize(some), check_claims(some)
            built += [*build_tables(summary), build_claims(findings, summary)]
            built += [build_verdicts(findings, summary), build_claims([], summary)]
    return built
