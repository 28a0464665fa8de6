package org.apache.spark.sql.decoy

import org.apache.spark.sql.sources.DataSourceRegister

/** A source of somebody else with our short name and a class that Spark prefers. */
final class DecoyKinesisSource extends DataSourceRegister {
  override def shortName(): String = "kinesis"
}
