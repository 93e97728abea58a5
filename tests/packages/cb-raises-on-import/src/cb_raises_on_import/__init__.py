"""A module with a defect."""

raise RuntimeError("the flux is out of order")
