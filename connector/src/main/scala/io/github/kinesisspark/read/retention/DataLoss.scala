package io.github.kinesisspark.read.retention

/** The name that monitoring finds lost records by. */
object DataLoss {
  val ErrorClass = "KINESIS_DATA_LOSS"
}
