/** How the connector's suites are spread over test JVMs. */
object ConnectorSuites {

  /** Thousands of generated cases each: half of the module's time. */
  private val Generated = Set(
    "LineageModelSpec",
    "SendingModelSpec",
    "StreamPackingSpec",
    "ShardAssignmentSpec",
    "AggregatorSpec",
    "BoundariesSpec"
  )

  /** They mostly wait for the clock or for a server that is slow on purpose. */
  private val Waiting =
    Set("PollingOutageSpec", "CloudWatchTest", "HostileServerTest", "KinesisClientsTest", "SubscriptionSpec")

  def groups(suites: Seq[String]): Seq[(String, Seq[String])] = {
    val byGroup = suites.groupBy(suite => groupOf(suite.split('.').last))
    Seq("waiting", "generated", "others").flatMap(name => byGroup.get(name).map(name -> _))
  }

  private def groupOf(suite: String) =
    if (Generated(suite)) "generated" else if (Waiting(suite)) "waiting" else "others"
}
