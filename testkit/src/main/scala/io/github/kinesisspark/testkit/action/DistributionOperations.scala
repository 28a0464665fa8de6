package io.github.kinesisspark.testkit.action

import io.github.kinesisspark.testkit.model._
import io.github.kinesisspark.testkit.wire.Fields

/** UpdateStreamRecordDistributionStrategy. */
private[testkit] object DistributionOperations {
  import Operation.Operation

  val all: Map[String, Operation] = Map("UpdateStreamRecordDistributionStrategy" -> update _)

  /** The strategy that a call names, if it names one. */
  def of(fields: Fields): Option[RecordDistribution] = fields.text("RecordDistributionStrategy").map { name =>
    RecordDistribution.all
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
  }

  private def update(request: Request): Outcome = {
    if (request.fields.text("StreamARN").isEmpty) ServiceError.missing("streamARN").raise()
    val distribution = request.fields.required("RecordDistributionStrategy")(of(request.fields))
    request.readyStream.distribute(distribution).fold(_.raise(), _ => Outcome.done)
  }
}
