"""What the kit costs, against what else one could have written. Run it from the root of the
repository: `python -m tests.benchmarks`. These are figures to read, not tests: nothing fails.
"""
