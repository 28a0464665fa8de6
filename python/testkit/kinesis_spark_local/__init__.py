"""The JAR of the local Kinesis server, in `jars`; `kinesis_spark.LocalKinesis` starts it."""
