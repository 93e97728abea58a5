"""Long contexts as HELMET asks about them: its tasks as a dataset, its scores as an evaluator."""
