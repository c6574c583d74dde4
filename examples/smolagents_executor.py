"""A smolagents CodeAgent whose code runs on Remit, and whose tools run on the host. A script
replaces the model, so no account is needed."""

from smolagents import ChatMessage, CodeAgent, Model, tool

from remit.compat.smolagents import RemitPythonExecutor


class Scripted(Model):
    """Returns prepared programs, one after the other."""

    def __init__(self, *programs: str):
        super().__init__(model_id="scripted")
        self.programs = list(programs)

    def generate(self, messages, **_):
        return ChatMessage(role="assistant", content=f"<code>\n{self.programs.pop(0)}\n</code>")


@tool
def price(item: str) -> float:
    """The price of an item.

    Args:
        item: its name.
    """
    return {"apples": 3.0, "pears": 4.5}[item]


model = Scripted(
    "basket = {item: price(item) for item in ('apples', 'pears')}\nprint(basket)",
    "final_answer(sum(basket.values()))",
)
with CodeAgent([price], model, executor=RemitPythonExecutor(timeout_seconds=10), verbosity_level=0) as agent:
    print(agent.run("What do apples and pears cost together?"))
