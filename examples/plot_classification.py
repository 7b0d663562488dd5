"""
Equalized odds on COMPAS
========================

Who is wrongly called a future offender, and what does it cost to treat groups alike? A logistic
regression, linear and with a kernel, from no constraint to a strict one.
"""

# %%
# The plain model calls white defendants dangerous less often, at equal outcome.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from gferm import FairClassifier
from gferm.datasets import load_compas
from gferm.metrics import equalized_odds_difference
from gferm.plotting import COLORS

compas = load_compas()
X = StandardScaler().fit_transform(compas.data)
y, s = compas.target, compas.sensitive_features
X, X_test, y, y_test, s, s_test = train_test_split(X, y, s, test_size=0.3, random_state=0)


def share_called(model, label):
    """Share of each group that is predicted to reoffend, among those whose true label this is."""
    predicted = model.predict(X_test) == "yes"
    return [predicted[(y_test == label) & (s_test == group)].mean() for group in np.unique(s)]


models = {}
for name, epsilon in {"plain": None, "fair": 0.0}.items():
    model = FairClassifier("log_loss", kernel="rbf", epsilon=epsilon)
    models[name] = model.fit(X, y, sensitive_features=s)
    print(f"{name:5} accuracy {model.score(X_test, y_test):.3f}, solved by {model.solver_}")
print(models["fair"].cells_)

# %%
# Every epsilon between the two is a model of its own. Which price is right is not ours to say.
curves = {}
for kernel in ("linear", "rbf"):
    largest = FairClassifier("log_loss", kernel=kernel, epsilon=None)
    gap = largest.fit(X, y, sensitive_features=s).violation_
    points = []
    for share in (0.0, 0.1, 0.2, 0.35, 0.5, 0.75, 0.999):
        model = FairClassifier("log_loss", kernel=kernel, epsilon=share * gap)
        predicted = model.fit(X, y, sensitive_features=s).predict(X_test)
        odds = equalized_odds_difference(y_test, predicted, sensitive_features=s_test)
        points.append((odds, accuracy_score(y_test, predicted)))
    curves[kernel] = np.array(points)

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
places = np.arange(4) + np.array([0.0, 0.0, 0.3, 0.3])
for q, group in enumerate(np.unique(s)):
    heights = [share_called(models[n], label)[q] for label in ("no", "yes") for n in models]
    left.bar(places + (q - 0.5) * 0.38, heights, width=0.38, color=COLORS[q], label=group)
left.set_xticks(places, ["plain", "fair", "plain", "fair"])
for center, label in ((0.5, "did not reoffend"), (2.8, "did reoffend")):
    left.text(center, -0.13, label, ha="center", va="top", transform=left.get_xaxis_transform())
left.set(ylabel="share called to reoffend", title="held-out rows, RBF kernel")
left.legend(frameon=False)
for color, (kernel, points) in zip(COLORS[2:], curves.items(), strict=False):
    right.plot(*points.T, "o-", color=color, label=f"{kernel} kernel")
right.set(
    xlabel="difference in equalized odds", ylabel="accuracy", title="from epsilon = 0 to plain"
)
right.legend(frameon=False)
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", alpha=0.3)
    ax.set_axisbelow(True)
plt.show()
