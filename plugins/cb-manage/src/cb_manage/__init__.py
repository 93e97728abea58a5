"""Commands that start a benchmark and manage plugins: install, lock, find, explain and check them."""
