/** How the connector's suites are spread over test JVMs. */
object ConnectorSuites {

  /** Thousands of generated cases each: half of the module's time. */
  private val Generated =
    Set("LineageModelSpec", "SendingModelSpec", "StreamPackingSpec", "ShardAssignmentSpec", "AggregatorSpec")

  def groups(suites: Seq[String]): Seq[(String, Seq[String])] = {
    val (generated, others) = suites.partition(suite => Generated(suite.split('.').last))
    Seq("generated" -> generated, "others" -> others).filter { case (_, some) => some.nonEmpty }
  }
}
