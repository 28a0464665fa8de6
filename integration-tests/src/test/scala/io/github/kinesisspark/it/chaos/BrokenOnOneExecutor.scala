package io.github.kinesisspark.it.chaos

import org.apache.spark.SparkEnv

/** A credentials provider that throws an Error on one executor of a cluster, as if a class were missing there. */
final class BrokenOnOneExecutor {
  def resolveCredentials(): SlowCredentials.Keys =
    if (SparkEnv.get.executorId == "1") throw new NoClassDefFoundError("as planned") else new SlowCredentials.Keys
}
