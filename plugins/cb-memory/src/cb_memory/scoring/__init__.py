"""How benchmarks of memory score answers and what was found."""
