package io.github.kinesisspark.testkit.action

import io.github.kinesisspark.testkit.model._

/** UpdateStreamRecordDistributionStrategy. */
private[testkit] object DistributionOperations {
  import Operation.Operation

  val all: Map[String, Operation] = Map("UpdateStreamRecordDistributionStrategy" -> update _)

  private def update(request: Request): Outcome = {
    if (request.fields.text("StreamARN").isEmpty) ServiceError.missing("streamARN").raise()
    val name         = request.fields.requiredText("RecordDistributionStrategy")
    val distribution = RecordDistribution.all
      .find(_.name == name)
      .getOrElse(
        ServiceError
          .validation(
            name,
            "recordDistributionStrategy",
            s"Member must satisfy enum value set: [${RecordDistribution.all.map(_.name).mkString(", ")}]"
          )
          .raise()
      )
    request.readyStream.distribute(distribution).fold(_.raise(), _ => Outcome.done)
  }
}
