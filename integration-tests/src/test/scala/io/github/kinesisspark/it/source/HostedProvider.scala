package io.github.kinesisspark.it.source

import scala.concurrent.duration.FiniteDuration
import scala.jdk.CollectionConverters._

import org.apache.spark.SparkContext
import org.apache.spark.kinesisspark.{ClusterExecutors, RunningQuery, SparkMetrics}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.{Scan, ScanBuilder}
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.kinesisspark.KinesisTableProvider
import io.github.kinesisspark.config.SourceOptions
import io.github.kinesisspark.read.coordinator._
import io.github.kinesisspark.read.plan.ExecutorId
import io.github.kinesisspark.read.realtime.KinesisRealTimeStream
import io.github.kinesisspark.read.row.SourceSchema
import io.github.kinesisspark.read.stream.{QueryHost, SparkHost}

/** The source, of which all is the user's but the cluster. */
abstract class HostedProvider(cluster: SparkContext => Cluster) extends KinesisTableProvider {
  protected def show(group: String, gauges: Map[String, () => Long]): AutoCloseable = SparkMetrics.show(group, gauges)

  override def getTable(schema: StructType, by: Array[Transform], asked: java.util.Map[String, String]): Table =
    new Table with SupportsRead {
      override def name(): String                                 = "hosted"
      override def schema(): StructType                           = SourceSchema.schema
      override def capabilities(): java.util.Set[TableCapability] = Set(TableCapability.MICRO_BATCH_READ).asJava
      override def newScanBuilder(more: CaseInsensitiveStringMap): ScanBuilder = () =>
        new Scan {
          override def readSchema(): StructType                                 = SourceSchema.schema
          override def toMicroBatchStream(checkpoint: String): MicroBatchStream = {
            val sc = SparkSession.active.sparkContext
            new KinesisRealTimeStream(
              SourceOptions.parse(asked.asScala.toMap),
              new Host(cluster(sc), new SparkHost(sc)),
              DriverRuntime.ofJvm
            )
          }
        }
    }

  private final class Host(cluster: Cluster, spark: SparkHost) extends QueryHost {
    override def queryId: Option[String]                                         = spark.queryId
    override def interval: Option[FiniteDuration]                                = spark.interval
    override def shuffleTasks: Int                                               = spark.shuffleTasks
    override def isAlone: Boolean                                                = spark.isAlone
    override def callers: Option[RunningQuery.Callers]                           = spark.callers
    override def hasLostCheckpoint: Boolean                                      = spark.hasLostCheckpoint
    override def leavesOffsetsOut: Boolean                                       = spark.leavesOffsetsOut
    override def readerMemory(options: SourceOptions): Long                      = spark.readerMemory(options)
    override def channel(source: String, driver: DriverRuntime): ExecutorChannel =
      new ClusterChannel(cluster, source, driver)
    override def show(group: String, gauges: Map[String, () => Long]): AutoCloseable =
      HostedProvider.this.show(group, gauges)
  }
}

/** The one executor of local mode. */
abstract class LocalCluster(sc: SparkContext) extends Cluster {
  override def executors(): Vector[ExecutorHealth.ExecutorState]  = registered()
  override def registered(): Vector[ExecutorHealth.ExecutorState] = ClusterExecutors
    .alive(sc)
    .map(e => ExecutorHealth.ExecutorState(ExecutorId(e.host, e.id), e.isExcluded, e.isLeaving, e.freeSlots))
  override def idleTimeout: Option[FiniteDuration] = None
  override def slots: Int                          = ClusterExecutors.slots(sc)
  override def session: String                     = ClusterExecutors.session
  override def isStopped: Boolean                  = sc.isStopped
}
