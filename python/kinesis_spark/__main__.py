"""`python -m kinesis_spark`: the command line, as `kinesis-spark`."""

from kinesis_spark.cli import main

if __name__ == "__main__":
    main()
