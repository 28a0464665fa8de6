package io.github.kinesisspark.benchmarks;

import java.util.concurrent.TimeUnit;

import io.github.kinesisspark.read.benchmarks.RowPath;
import io.github.kinesisspark.read.benchmarks.RowPath$;
import io.github.kinesisspark.read.benchmarks.PackedRecords;
import io.github.kinesisspark.read.reader.KinesisRecord;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
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
import org.openjdk.jmh.annotations.Warmup;
import scala.collection.Iterator;

/**
 * What it costs to hand packed records to Spark, one row at a time, by each of the ways of {@link RowPath}: for a projection into
 * Spark's own format, as before each sink and shuffle; for a filter on one column; and for a count, which reads no column.
 *
 * <pre>
 * ./sbt -C benchmarks "runMain org.openjdk.jmh.Main RowPaths.project -prof gc -prof io.github.kinesisspark.benchmarks.CpuPerRow"
 * ./sbt -C benchmarks "runMain org.openjdk.jmh.Main RowPaths.(filter|count) -p columns=data -prof gc -prof io.github.kinesisspark.benchmarks.CpuPerRow"
 * </pre>
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 3, time = 1)
public class RowPaths {
  /** Records of each round. */
  public static final int ROWS = 16384;

  @Param({"rows", "row", "columnar", "unsafe"})
  public String path;

  @Param({"data", "three", "all"})
  public String columns;

  @Param({"100", "1000"})
  public int size;

  private KinesisRecord[] records;
  private RowPath way;
  private UnsafeProjection projection;
  private final UTF8String wanted = UTF8String.fromString("7");

  @Setup
  public void setup() {
    StructType wide = RowPath$.MODULE$.columns(columns);
    records = PackedRecords.of(size);
    way = RowPath$.MODULE$.of(path, wide);
    projection = UnsafeProjection.create(wide);
  }

  @Benchmark
  @OperationsPerInvocation(ROWS)
  public long project() {
    long bytes = 0;
    Iterator<InternalRow> rows = way.rows(records);
    while (rows.hasNext()) bytes += projection.apply(rows.next()).getSizeInBytes();
    return bytes;
  }

  @Benchmark
  @OperationsPerInvocation(ROWS)
  public int filter() {
    int found = 0;
    Iterator<InternalRow> rows = RowPath$.MODULE$.of(path, RowPath$.MODULE$.columns("key")).rows(records);
    while (rows.hasNext()) {
      InternalRow row = rows.next();
      if (!row.isNullAt(0) && row.getUTF8String(0).endsWith(wanted)) found++;
    }
    return found;
  }

  @Benchmark
  @OperationsPerInvocation(ROWS)
  public int count() {
    int count = 0;
    Iterator<InternalRow> rows = way.rows(records);
    while (rows.hasNext()) {
      rows.next();
      count++;
    }
    return count;
  }
}
