"""Converts tables of pandas to data: a list for each column."""

import sys


def plain(item):
    """Convert one cell for JSON: dates to strings, missing values to null."""
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
