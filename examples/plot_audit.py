"""
Auditing a predictor
====================

Crime rates of communities, predicted by a plain and by a fair model. Do they treat communities
alike whose share of black inhabitants is low and high, is a difference more than noise, and where
is it? An audit takes the predictions of any model, of whatever library.
"""

# %%
# Half of the rows to learn from, the other half to judge by. The attribute is split at 0.06 of its
# own scale, as in the paper; names make the pictures speak.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

import gferm
from gferm.datasets import load_crime
from gferm.metrics import cell_rates
from gferm.plotting import CalibrationByGroupDisplay, CellRatesDisplay, GapDisplay

crime = load_crime()
groups = np.where(crime.sensitive_features == 1, "racepctblack > 0.06", "racepctblack ≤ 0.06")
X, X_test, y, y_test, s, s_test = train_test_split(
    crime.data, crime.target, groups, test_size=0.5, random_state=0
)
predictions = {}
for name, epsilon in {"plain": None, "fair": 0.0}.items():
    model = gferm.FairRegressor(gamma=0.1, alpha=0.3, epsilon=epsilon, y_bins=crime.y_bins)
    predictions[name] = model.fit(X, y, sensitive_features=s).predict(X_test)
held_out = {"sensitive_features": s_test, "y_bins": crime.y_bins}

# %%
# The figures, each with its interval and with what chance alone would give.
audits = {name: gferm.audit(y_test, f, **held_out) for name, f in predictions.items()}
print(audits["plain"])

# %%
# And those of the fair model.
print(audits["fair"])

# %%
# The share of each group predicted into its own label bin: the paper's histogram. The last bins
# hold one or two rows of a group, so their bars say nothing; the intervals show it.
figure, axes = plt.subplots(1, 2, figsize=(13, 4.6), sharey=True, layout="constrained")
for ax, (name, f) in zip(axes, predictions.items(), strict=True):
    CellRatesDisplay(cell_rates(y_test, f, **held_out)).plot(ax, intervals=True)
    ax.set_title(name)

# %%
# The gap of the mean predictions in every label bin. A dot outside its grey band is more than what
# shuffled groups give.
figure, axes = plt.subplots(1, 2, figsize=(13, 4.6), sharex=True, layout="constrained")
for ax, (name, audit) in zip(axes, audits.items(), strict=True):
    GapDisplay.from_audit(audit, of="prediction", ax=ax)
    ax.set_title(name)

# %%
# What a prediction means: a model that closes the gap at equal outcome need not promise the same
# outcome to both groups at equal prediction.
figure, axes = plt.subplots(1, 2, figsize=(11, 5), sharex=True, sharey=True, layout="constrained")
for ax, (name, f) in zip(axes, predictions.items(), strict=True):
    CalibrationByGroupDisplay.from_predictions(y_test, f, sensitive_features=s_test, ax=ax)
    ax.set_title(name)
plt.show()
