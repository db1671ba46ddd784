"""Runs in, a verdict out: has launch overhead regressed?"""
