package io.github.kinesisspark

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.SparkSession

private[kinesisspark] object SessionHadoop {

  /** Hadoop's settings as a session's queries have them for their checkpoints: with what was set in the session, such as keys of S3. */
  def of(spark: SparkSession): Configuration = {
    val settings = new Configuration(spark.sparkContext.hadoopConfiguration)
    spark.conf.getAll.foreach { case (name, value) => Option(value).foreach(settings.set(name, _)) }
    settings
  }
}
