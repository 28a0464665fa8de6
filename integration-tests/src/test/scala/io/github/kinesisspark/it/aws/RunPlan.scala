package io.github.kinesisspark.it.aws

/** One part of the tests, and what it uses.
  *
  * @param suite the class that ScalaTest runs
  * @param streams that it creates in all
  * @param shards of these streams in all, with those that resharding adds
  * @param consumerShards consumers x shards, summed over these streams
  */
final case class Part(name: String, suite: String, streams: Int, shards: Int, consumerShards: Int) {
  def usage: Usage = Usage((shards * RunPlan.MinutesEach).toDouble, (consumerShards * RunPlan.MinutesEach).toDouble)
}

/** What a run will do and cost, known before it creates anything. */
final case class RunPlan(parts: Seq[Part]) {
  def usage: Usage = parts.map(_.usage).foldLeft(Usage.none)(_ + _)

  def text(budget: Budget): String = {
    val head  = Seq("part", "streams", "shards", "consumers x shards", "shard-minutes", "consumer-shard-minutes")
    val table = head +: parts.map { part =>
      Seq(part.name) ++ Seq(part.streams, part.shards, part.consumerShards).map(_.toString) ++
        Seq(part.usage.shardMinutes, part.usage.consumerShardMinutes).map(m => f"$m%.0f")
    }
    val widths = table.transpose.map(_.map(_.length).max)
    val lines  =
      table.map(_.zip(widths).map { case (cell, width) => cell.padTo(width, ' ') }.mkString("  ").stripTrailing)
    val advice = if (budget.allows(usage)) "accepted" else f"refused; BUDGET=${math.ceil(usage.minutes)}%.0f allows it"
    (lines ++ Seq(
      s"In all $usage, with ${RunPlan.MinutesEach} minutes for each shard.",
      s"Budget: ${budget.minutes} minutes of both together: $advice.",
      "AWS charges by the shard-hour, and for data: https://aws.amazon.com/kinesis/data-streams/pricing/"
    )).mkString("\n")
  }
}

object RunPlan {

  /** From the creation of a stream to its deletion. The service takes about half a minute for each of the two, and for a
    * reshard, and a test works for a minute or two. An estimate until a run on AWS has measured it.
    */
  val MinutesEach = 5

  private val it = "io.github.kinesisspark.it"

  /** All parts that can be asked for. The numbers are estimates from the scenarios' code; slow tests of TestAwsSpec fail if
    * a run on the realistic server creates more.
    */
  val known: Seq[Part] = Seq(
    Part("smoke", s"$it.aws.SmokeSuite", streams = 1, shards = 2, consumerShards = 2),
    Part("conformance", s"$it.conformance.ConformanceSpec", streams = 150, shards = 300, consumerShards = 60),
    Part("reading", s"$it.source.ReadingSpec", streams = 20, shards = 60, consumerShards = 30),
    Part("batch", s"$it.source.BatchSpec", streams = 26, shards = 70, consumerShards = 40),
    Part("exactness", s"$it.source.ExactnessSpec", streams = 14, shards = 30, consumerShards = 15),
    Part("sink", s"$it.sink.SinkSpec", streams = 16, shards = 40, consumerShards = 0)
  )

  /** Conformance, reading and batch by polling and by fan-out, and the sink. */
  val Default = "conformance,reading,batch,sink"

  val DefaultBudget: Budget = Budget(4000)

  /** @param names a comma list of parts */
  def parse(names: String): Either[String, RunPlan] = {
    val (unknown, parts) = names
      .split(',')
      .map(_.trim)
      .filter(_.nonEmpty)
      .toSeq
      .distinct
      .partitionMap(name => known.find(_.name == name).toRight(name))
    if (unknown.nonEmpty) Left(s"SUITES names ${unknown.mkString(", ")}; there are ${known.map(_.name).mkString(", ")}")
    else if (parts.isEmpty) Left("SUITES names no part, so no test would run")
    else Right(RunPlan(parts))
  }
}
