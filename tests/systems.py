"""Systems of rows, as features write them, and their factorisations."""

from functools import partial

from gferm.arrays.device import CPU
from gferm.features.expansion import KernelFeatures, kernel_system
from gferm.features.kernel import Kernel
from gferm.features.linear import LinearFeatures
from gferm.solver.cholesky import is_positive_semidefinite
from gferm.solver.reduction import FactorizedSystem

HERE = {"home": CPU, "is_convex": is_positive_semidefinite, "revisits": True}
FACTORIZE = {
    "cholesky": FactorizedSystem.by_cholesky,
    "spectrum": FactorizedSystem.by_spectrum,
    "refined": FactorizedSystem.in_single,
}
by_cholesky, by_spectrum = FACTORIZE["cholesky"], FACTORIZE["spectrum"]

__all__ = ["FACTORIZE", "by_cholesky", "by_spectrum", "kernel_system", "linear_system"]


def system_of(features, X, y, columns, *, weight=None, fit_intercept=True, kernel="linear"):
    rows = features(Kernel(kernel), fit_intercept, CPU, X, weight)
    return rows.system(y, columns, **HERE)


linear_system = partial(system_of, LinearFeatures)
system_of_kernel = partial(system_of, KernelFeatures)
