"""A program as a language model would write it. It needs no permissions."""

import json
import statistics

temperatures = {"Oslo": [3, 5, 4], "Lima": [19, 21, 20], "Cairo": [28, 31, 30]}
means = {city: statistics.mean(days) for city, days in temperatures.items()}
print(json.dumps(means))
