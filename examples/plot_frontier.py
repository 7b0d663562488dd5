"""
The accuracy–fairness frontier of a continuous attribute
========================================================

Grades of Dutch pupils, and their parents' socio-economic status. How much accuracy does it cost to
predict grades whose mean does not depend on status, at equal true grade?
"""

# %%
# One factorisation gives every epsilon.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from gferm import frontier
from gferm.datasets import load_pupils
from gferm.metrics import mean_distance, normalized_mae
from gferm.plotting import FrontierDisplay

pupils = load_pupils(sensitive="ses")
train, test = train_test_split(range(len(pupils.target)), random_state=0)
scaler = StandardScaler().fit(pupils.data[train])
X, y, s = scaler.transform(pupils.data), pupils.target, pupils.sensitive_features

path = frontier(
    X[train],
    y[train],
    sensitive_features=s[train],
    gamma=0.01,
    y_bins=5,
    s_bins=pupils.s_bins,
)
print(path)

# %%
# The training price of fairness is exact, convex and piecewise quadratic.
FrontierDisplay.from_frontier(path)

# %%
# On held-out pupils, all models of the frontier at once.
epsilons = np.linspace(path.epsilons[0], 0.0, 11)
for epsilon, predictions in zip(epsilons, path.predict(X[test], epsilons), strict=True):
    error = normalized_mae(y[test], predictions)
    distance = mean_distance(y[test], predictions, sensitive_features=s[test], s_bins=pupils.s_bins)
    print(f"epsilon {epsilon:6.3f}   error {error:5.2f} %   mean distance {distance:5.2f} points")

plt.show()
