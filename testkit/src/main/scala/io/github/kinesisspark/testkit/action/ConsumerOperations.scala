package io.github.kinesisspark.testkit.action

import io.github.kinesisspark.testkit.model._
import io.github.kinesisspark.testkit.wire.{Reply, Writer}

/** Registering, deregistering, describing and listing stream consumers. */
private[testkit] object ConsumerOperations {
  import Operation.Operation

  val all: Map[String, Operation] = Map(
    "RegisterStreamConsumer"   -> register _,
    "DeregisterStreamConsumer" -> deregister _,
    "DescribeStreamConsumer"   -> describe _,
    "ListStreamConsumers"      -> list _
  )

  private def register(request: Request): Outcome = {
    val stream = request.readyStream
    val name   = request.fields.requiredText("ConsumerName")
    val tags   = TagOperations.of(request.fields)
    Request.checkName(name, "consumerName")
    val consumer = stream
      .changeConsumers(_.register(name, stream.arn, request.now))
      .fold(refusal => refused(refusal, name, stream, request).raise(), identity)
    TagOperations.attach(stream, consumer.arn, tags)
    Outcome(Reply.Members(_.structure("Consumer")(write(stream, request)(_, consumer))))
  }

  private def deregister(request: Request): Outcome = {
    val (stream, consumer) = consumerOf(request)
    stream.changeConsumers(registry => Right((registry.deregister(consumer, request.now), consumer)))
    Outcome.done
  }

  private def describe(request: Request): Outcome = {
    val (stream, consumer) = consumerOf(request)
    if (!stream.consumers.isShown(consumer, request.now))
      notFound(consumer.name, stream, request)
    Outcome(Reply.Members(_.structure("ConsumerDescription") { out =>
      write(stream, request)(out, consumer)
      out.text("StreamARN", stream.arn)
    }))
  }

  private def list(request: Request): Outcome = {
    val limit  = request.page("MaxResults", Quota.ListConsumersPage)
    val stream = request.stream
    val after  = request.fields.text("NextToken").map { token =>
      request.continued(ConsumerPage.decode(token).filter(_.streamArn == stream.arn)).after
    }
    val rest = stream.consumers.listed(request.now).sortBy(c => placeOf(c)).filter(c => after.forall(placeOf(c) > _))
    Outcome(Reply.Members { out =>
      out.array("Consumers")(rest.take(limit))(write(stream, request))
      out.optional(
        "NextToken",
        Option.when(rest.size > limit)(ConsumerPage(stream.arn, placeOf(rest(limit - 1)), request.now).encode)
      )
    })
  }

  // One that is gone may still be listed beside its namesake. '/' is below all that names have.
  private def placeOf(consumer: Consumer): String = s"${consumer.name}/${consumer.arn}"

  /** The consumer by its ARN, or by its name and its stream's ARN. */
  private def consumerOf(request: Request): (Stream, Consumer) = {
    val arn  = request.fields.text("ConsumerARN")
    val name = request.fields.text("ConsumerName")
    if (arn.isEmpty && (name.isEmpty || Request.streamName(request.fields).isEmpty))
      ServiceError.invalidArgument("Either ConsumerARN, or StreamARN and ConsumerName must be specified.").raise()
    val stream = request.stream
    val found  = arn match {
      case Some(a) => stream.consumers.findArn(a, request.now)
      case None    => name.flatMap(stream.consumers.find(_, request.now))
    }
    (stream, found.getOrElse(notFound(arn.orElse(name).mkString, stream, request)))
  }

  private def notFound(consumer: String, stream: Stream, request: Request): Nothing = ServiceError
    .notFound(s"Consumer $consumer in stream ${stream.name} under account ${request.config.accountId} not found.")
    .raise()

  private def write(stream: Stream, request: Request)(out: Writer, consumer: Consumer): Unit = {
    out.text("ConsumerName", consumer.name)
    out.text("ConsumerARN", consumer.arn)
    out.text("ConsumerStatus", stream.consumers.status(consumer, request.now).name)
    out.time("ConsumerCreationTimestamp", consumer.createdAt)
  }

  private def refused(
      refusal: ConsumerRegistry.Refusal,
      name: String,
      stream: Stream,
      request: Request
  ): ServiceError = {
    val where = s"stream ${stream.name} under account ${request.config.accountId}"
    refusal match {
      case ConsumerRegistry.Refusal.NameTaken => ServiceError.inUse(s"Consumer $name in $where already exists.")
      case ConsumerRegistry.Refusal.TooMany   =>
        ServiceError.limitExceeded(
          s"The $where has reached the limit of ${request.config.control.consumersPerStream} consumers."
        )
      case ConsumerRegistry.Refusal.TooManyCreating =>
        ServiceError.limitExceeded(
          s"The $where has reached the limit of ${Quota.ConsumersCreating} consumers in CREATING at a time."
        )
    }
  }
}
