package io.github.kinesisspark.benchmarks;

import java.lang.management.ManagementFactory;
import java.util.Collection;
import java.util.List;

import com.sun.management.OperatingSystemMXBean;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;

/**
 * CPU time of the JVM for each operation, without its compilers' and garbage collectors': what the clock says depends on who else uses
 * the machine.
 */
public final class CpuPerRow implements InternalProfiler {
  private final OperatingSystemMXBean process =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
  private long before;

  @Override
  public String getDescription() {
    return "CPU time without compilers and garbage collection";
  }

  @Override
  public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
    before = cpuNanos();
  }

  @Override
  public Collection<? extends Result> afterIteration(
      BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
    double each = (cpuNanos() - before) / (double) result.getMetadata().getAllOps();
    return List.of(new ScalarResult("cpu.norm", each, "ns/op", AggregationPolicy.AVG));
  }

  private long cpuNanos() {
    return process.getProcessCpuTime() - (long) (CpuShares.now().ofService() * 1e9);
  }
}
