package io.github.kinesisspark.read.plan

/** An executor that can hold shard readers. */
final case class ExecutorId(host: String, id: String) {

  /** Spark's name for "run it in this executor", as tasks' preferred locations take it. */
  def location: String = s"executor_${host}_$id"
}
