"""
Race and sex at once
====================

Law students' first-year averages: compare every combination of race and sex, or race and sex each
on its own, and look at who is too few to be compared.
"""

# %%
# A data frame of sensitive attributes is all it takes.
import matplotlib.pyplot as plt

from gferm import FairRegressor
from gferm.datasets import load_law
from gferm.plotting import CellRatesDisplay

law = load_law(sensitive=["race", "sex"], as_frame=True)
X, y, s = law.data, law.target, law.sensitive_features

for intersectional in (True, False):
    model = FairRegressor(
        kernel="linear", y_bins=5, intersectional=intersectional, min_cell_size=10, epsilon=0.02
    )
    model.fit(X, y, sensitive_features=s)
    print(
        f"intersectional={intersectional}: {len(model.contrasts_.compared)} pairs compared, "
        f"{len(model.contrasts_.skipped)} skipped for lack of rows, "
        f"mean gap {model.violation_:.3f}, training R² {model.score(X, y):.3f}"
    )
    print(model.cells_, "\n")

# %%
# The rates of the fair model by race: the paper's histogram.
CellRatesDisplay.from_estimator(model, X, y, sensitive_features=s["race"], y_bins=5)
plt.show()
