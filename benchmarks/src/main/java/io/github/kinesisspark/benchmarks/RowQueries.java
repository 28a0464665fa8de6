package io.github.kinesisspark.benchmarks;

import java.util.concurrent.TimeUnit;

import io.github.kinesisspark.read.benchmarks.PackedSource;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Whole queries over packed records in one task, as rows and in batches of columns: what of a way's cost is left when Spark's generated
 * code, its tasks and its sinks are counted.
 *
 * <pre>
 * ./sbt -C benchmarks "runMain org.openjdk.jmh.Main RowQueries -prof gc -prof io.github.kinesisspark.benchmarks.CpuPerRow"
 * </pre>
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 4, time = 1)
@Measurement(iterations = 5, time = 1)
public class RowQueries {
  /** How often a query reads the records. */
  public static final int TIMES = 32;

  private static final int ROWS = RowPaths.ROWS * TIMES;

  @Param({"rows", "row", "columnar"})
  public String path;

  @Param({"100", "1000"})
  public int size;

  private SparkSession spark;
  private Dataset<Row> all;

  @Setup
  public void setup() {
    spark = SparkSession.builder().master("local[1]").config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR").config("spark.sql.shuffle.partitions", "1").getOrCreate();
    all = spark.read().format(PackedSource.class.getName()).option("way", path).option("size", size).load();
  }

  @TearDown
  public void stop() {
    spark.stop();
  }

  /** All columns, as a streaming query with a noop sink takes them. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public void everything() {
    drop(all);
  }

  @Benchmark
  @OperationsPerInvocation(ROWS)
  public void data() {
    drop(all.select("data"));
  }

  @Benchmark
  @OperationsPerInvocation(ROWS)
  public void filteredByKey() {
    drop(all.where("partitionKey like '%7'").select("data", "partitionKey"));
  }

  @Benchmark
  @OperationsPerInvocation(ROWS)
  public void countedByKey() {
    drop(all.groupBy("partitionKey").count());
  }

  private static void drop(Dataset<Row> rows) {
    rows.write().format("noop").mode("overwrite").save();
  }
}
