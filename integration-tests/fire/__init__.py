"""Exactly once under fire: a query is killed, starved, misled and paused, and each record comes once, in order."""
