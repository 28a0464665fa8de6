package io.github.kinesisspark.testkit.action

import io.github.kinesisspark.testkit.model._
import io.github.kinesisspark.testkit.wire.{Fields, Reply, Writer}

/** Tags of streams and consumers.
  *
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_TagResource.html TagResource]]
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_AddTagsToStream.html AddTagsToStream]]
  */
private[testkit] object TagOperations {
  import Operation.Operation

  val all: Map[String, Operation] = Map(
    "TagResource"          -> ((request: Request) => add(request, request.resource)),
    "UntagResource"        -> ((request: Request) => remove(request, request.resource)),
    "ListTagsForResource"  -> listOfResource _,
    "AddTagsToStream"      -> ((request: Request) => add(request, ofStream(request))),
    "RemoveTagsFromStream" -> ((request: Request) => remove(request, ofStream(request))),
    "ListTagsForStream"    -> listOfStream _
  )

  /** The tags that a call makes its stream or consumer with. */
  def of(fields: Fields): Map[String, String] = {
    val named = fields.textMap("Tags")
    if (named.exists(_.isEmpty))
      ServiceError.validation("{}", "tags", "Member must have length greater than or equal to 1").raise()
    val tags = named.getOrElse(Map.empty)
    tags.foreach { case (key, value) =>
      check(key, "tagKey", 1, MaxKeyLength)
      check(value, "tagValue", 0, MaxValueLength)
    }
    if (tags.size > Quota.TagsPerResource) tooMany()
    tags
  }

  /** Adds a call's tags to a stream or consumer. */
  def attach(stream: Stream, arn: String, tags: Map[String, String]): Unit =
    if (!stream.tags.add(arn, tags)) tooMany()

  private def tooMany(): Nothing =
    ServiceError.invalidArgument(s"A resource cannot have more than ${Quota.TagsPerResource} tags.").raise()

  private def add(request: Request, to: (Stream, String)): Outcome = {
    val tags = of(request.fields)
    if (tags.isEmpty) ServiceError.missing("tags").raise()
    attach(to._1, to._2, tags)
    Outcome.done
  }

  private def remove(request: Request, from: (Stream, String)): Outcome = {
    val keys = request.fields.required("TagKeys")(request.fields.texts("TagKeys"))
    if (keys.isEmpty || keys.size > Quota.TagsPerResource)
      ServiceError
        .validation("[...]", "tagKeys", s"Member must have length between 1 and ${Quota.TagsPerResource}")
        .raise()
    keys.foreach(check(_, "tagKeys", 1, MaxKeyLength))
    from._1.tags.remove(from._2, keys)
    Outcome.done
  }

  private def listOfResource(request: Request): Outcome = {
    val (stream, arn) = request.resource
    Outcome(Reply.Members(_.array("Tags")(stream.tags.of(arn))(write)))
  }

  private def listOfStream(request: Request): Outcome = {
    val stream = request.stream
    val limit  = request.fields
      .int("Limit")
      .fold(Quota.TagsPerResource)(request.bounded("limit", _, 1, Quota.TagsPerResource))
    val after = request.fields.text("ExclusiveStartTagKey")
    val rest  = stream.tags.of(stream.arn).filter { case (key, _) => after.forall(key > _) }
    Outcome(Reply.Members { out =>
      out.array("Tags")(rest.take(limit))(write)
      out.flag("HasMoreTags", rest.size > limit)
    })
  }

  private def ofStream(request: Request): (Stream, String) = {
    val stream = request.stream
    (stream, stream.arn)
  }

  private def write(out: Writer, tag: (String, String)): Unit = {
    out.text("Key", tag._1)
    out.text("Value", tag._2)
  }

  private def check(text: String, member: String, least: Int, most: Int): Unit = {
    val length = text.codePointCount(0, text.length)
    if (length < least || length > most)
      ServiceError.validation(text, member, s"Member must have length between $least and $most").raise()
    if (!Allowed.matches(text))
      ServiceError
        .invalidArgument(
          s"The $member '$text' may only contain Unicode letters, digits, white space, or these symbols: _ . : / = + - @."
        )
        .raise()
  }

  private val Allowed = """[\p{L}\p{N}\p{Z}_.:/=+\-@]*""".r

  private val MaxKeyLength   = 128
  private val MaxValueLength = 256
}
