"""A trace in, an `Analysis` out."""
