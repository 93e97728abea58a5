"""The parts of the offline reader: question, evidence, candidates, comparison."""
