"""Tables of pandas as data: a list for each column."""

import sys


def plain(item):
    """What JSON can say of one cell: dates as text, what is missing as null."""
    if item is None or isinstance(item, (str, bool, int)):
        return item
    if item is sys.modules["pandas"].NA or item != item:
        return None
    if isinstance(item, float):
        return item if item not in (float("inf"), float("-inf")) else None
    if hasattr(item, "isoformat"):
        return item.isoformat()
    if isinstance(item, (list, tuple)):
        return [plain(one) for one in item]
    if isinstance(item, dict):
        return {str(key): plain(one) for key, one in item.items()}
    return str(item)


def column(series):
    return [plain(item) for item in series.tolist()]


def data_of(table):
    if table.ndim == 1:
        return column(table)
    return {str(name): column(table.iloc[:, at]) for at, name in enumerate(table.columns)}
