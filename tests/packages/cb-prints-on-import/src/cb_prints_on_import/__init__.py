"""A module that talks."""

print("the printing plugin says hello")


class System:
    """Answer nothing."""

    name = "printing"

    def process(self, example):
        return {"response": ""}
