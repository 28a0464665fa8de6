package io.github.kinesisspark.read.stream

import java.lang.reflect.InvocationTargetException

import scala.util.Try

import org.apache.spark.SparkContext

import io.github.kinesisspark.config.SourceOptions
import io.github.kinesisspark.read.coordinator.DriverRuntime

/** The stream of a streaming query, as capable as the Spark it runs on: real-time mode came with Spark 4.1, so the class that has it
  * is loaded by name.
  */
object MicroBatchStreams {

  def of(options: SourceOptions, sc: SparkContext, driver: DriverRuntime): KinesisMicroBatchStream =
    if (hasRealTimeMode)
      try
        Class
          .forName("io.github.kinesisspark.read.realtime.KinesisRealTimeStream")
          .getConstructor(classOf[SourceOptions], classOf[QueryHost], classOf[DriverRuntime])
          .newInstance(options, new SparkHost(sc), driver)
          .asInstanceOf[KinesisMicroBatchStream]
      catch { case e: InvocationTargetException => throw e.getCause }
    else new KinesisMicroBatchStream(options, new SparkHost(sc), driver)

  private lazy val hasRealTimeMode =
    Try(Class.forName("org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode")).isSuccess
}
