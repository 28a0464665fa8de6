"""The chaos harness: a query is killed, paused, starved and given faults, and every record comes once and in order."""
