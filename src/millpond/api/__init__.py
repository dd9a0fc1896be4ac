"""What Python programs call: ponds, queries, runs, and verdicts on frames.

`millpond/__init__.py` lists the public names, and loads the module of each when it is asked for.
"""
