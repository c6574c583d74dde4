"""Prepares one sandbox and tries plans from there, each in a separate branch."""

import remit

PREPARE = "prices = [3, 1, 4, 1, 5, 9, 2, 6]"
PLANS = {"sorted": "prices.sort()", "reversed": "prices.reverse()", "halved": "prices = prices[::2]"}
SCORE = "max(b - a for a, b in zip(prices, prices[1:]))"

with remit.Sandbox(timeout=10, memory="400M") as sandbox:
    sandbox.run(PREPARE).check()
    scores = {}
    for name, plan in PLANS.items():
        with sandbox.fork() as branch:  # an independent copy: variables, imports and files
            branch.run(plan).check()
            scores[name] = branch.run(SCORE).check().value.json
    print(scores)

    best = min(scores, key=scores.__getitem__)
    sandbox.run(PLANS[best]).check()
    print(best, sandbox.run("prices").value.json)
