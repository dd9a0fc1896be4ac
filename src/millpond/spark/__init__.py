"""The same programs on Spark: sources, sinks and steps of Structured Streaming.

Nothing here imports pyspark before it is used, so that millpond works without it.
"""
