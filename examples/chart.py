"""Data analysis by a model: a table, a chart, and the answer as the value."""

import matplotlib.pyplot as plt
import pandas as pd

sales = pd.DataFrame(
    {
        "month": ["Jan", "Feb", "Mar", "Apr"] * 2,
        "region": ["north"] * 4 + ["south"] * 4,
        "revenue": [120, 135, 150, 160, 90, 88, 110, 140],
    }
)
by_month = sales.pivot(index="month", columns="region", values="revenue").loc[["Jan", "Feb", "Mar", "Apr"]]

by_month.plot.bar(rot=0)
plt.title("Revenue")
plt.ylabel("revenue (k€)")
plt.show()

print("best month:", by_month.sum(axis=1).idxmax())
by_month.sum().to_dict()
