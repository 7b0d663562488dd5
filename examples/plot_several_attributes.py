"""
Sex and minority at once
========================

Language grades of Dutch pupils: compare every combination of sex and minority, or each attribute on
its own, and look at who is too few to be compared.
"""

# %%
# A data frame of sensitive attributes is all it takes.
import matplotlib.pyplot as plt
from sklearn.preprocessing import StandardScaler

from gferm import FairRegressor
from gferm.datasets import load_pupils
from gferm.plotting import CellRatesDisplay

pupils = load_pupils(sensitive=["sex", "Minority"], as_frame=True)
X, y, s = pupils.data, pupils.target, pupils.sensitive_features
X = StandardScaler().set_output(transform="pandas").fit_transform(X)

models = {}
for name, options in {
    "plain": {"epsilon": None},
    "all combinations": {"intersectional": True},
    "each on its own": {"intersectional": False},
}.items():
    model = FairRegressor(gamma=0.01, y_bins=5, min_cell_size=5, **options)
    models[name] = model.fit(X, y, sensitive_features=s)
    print(
        f"{name:17} {len(model.contrasts_.compared):3} pairs compared, "
        f"{len(model.contrasts_.skipped):2} skipped for lack of rows, "
        f"mean gap {model.violation_:.3f} points, training R² {model.score(X, y):.3f}"
    )

print(models["all combinations"].cells_)

# %%
# The share of each group predicted into its own label bin, before and after.
figure, axes = plt.subplots(1, 2, figsize=(12, 4.5), sharey=True, layout="constrained")
for ax, name in zip(axes, ("plain", "all combinations"), strict=True):
    CellRatesDisplay.from_estimator(models[name], X, y, sensitive_features=s, y_bins=5, ax=ax)
    ax.set_title(name)
plt.show()
