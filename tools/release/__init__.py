"""What makes and checks a release: `make dist`, `make smoke`, `make release-check`."""
