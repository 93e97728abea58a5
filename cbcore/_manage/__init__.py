"""Installing, locking, checking, diagnosing and starting plugins."""
