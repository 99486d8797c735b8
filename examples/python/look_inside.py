# SPDX-License-Identifier: Apache-2.0
"""Every stage from an expression to machine code, as text."""

import ocannl

model = ocannl.Model(seed=1)
x = model.input("x", "3")
y = model.parse("relu ({w; o=[16]} * x)", x=x)

stages = model.explain(y)
print(", ".join(stages))
print(stages["cd"])
print(stages["ll"])
print("\n".join(stages["x86"].splitlines()[:12]))
