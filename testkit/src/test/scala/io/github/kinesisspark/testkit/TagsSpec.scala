package io.github.kinesisspark.testkit

import software.amazon.awssdk.services.kinesis.model._

import scala.jdk.CollectionConverters._

/** Tests tags of streams and consumers. */
class TagsSpec extends ServerSpec {
  import Clients._

  private def tag(arn: String, tags: (String, String)*): Unit = {
    await(kinesis.tagResource { (b: TagResourceRequest.Builder) => b.resourceARN(arn).tags(tags.toMap.asJava); () })
    ()
  }

  private def tagsOf(arn: String): Map[String, String] =
    await(
      kinesis.listTagsForResource { (b: ListTagsForResourceRequest.Builder) => b.resourceARN(arn); () }
    ).tags.asScala
      .map(t => t.key -> t.value)
      .toMap

  it("tags are added, replaced and removed on a stream and on a consumer") {
    val stream   = newStream(1)
    val consumer = await(kinesis.registerStreamConsumer { (b: RegisterStreamConsumerRequest.Builder) =>
      b.streamARN(arnOf(stream)).consumerName("reader").tags(Map("from" -> "start").asJava); ()
    }).consumer.consumerARN
    for (arn <- Seq(arnOf(stream), consumer)) {
      tag(arn, "from" -> "later", "team" -> "")
      tagsOf(arn) shouldBe Map("from" -> "later", "team" -> "")
      await(kinesis.untagResource { (b: UntagResourceRequest.Builder) =>
        b.resourceARN(arn).tagKeys("from", "none"); ()
      })
      tagsOf(arn) shouldBe Map("team" -> "")
    }
  }

  it("tags of a new stream are listed in pages and in order") {
    await(kinesis.createStream { (b: CreateStreamRequest.Builder) =>
      b.streamName("tagged").shardCount(1).tags(Map("b" -> "2", "a" -> "1").asJava); ()
    })
    await(kinesis.addTagsToStream { (b: AddTagsToStreamRequest.Builder) =>
      b.streamName("tagged").tags(Map("c" -> "3").asJava); ()
    })
    def page(after: Option[String]) = await(kinesis.listTagsForStream { (b: ListTagsForStreamRequest.Builder) =>
      b.streamName("tagged").limit(2)
      after.foreach(b.exclusiveStartTagKey)
    })
    val first = page(None)
    (first.tags.asScala.map(_.key), first.hasMoreTags.booleanValue) shouldBe ((Vector("a", "b"), true))
    val second = page(Some("b"))
    (second.tags.asScala.map(_.key), second.hasMoreTags.booleanValue) shouldBe ((Vector("c"), false))
    await(kinesis.removeTagsFromStream { (b: RemoveTagsFromStreamRequest.Builder) =>
      b.streamName("tagged").tagKeys("a", "b"); ()
    })
    tagsOf(arnOf("tagged")) shouldBe Map("c" -> "3")
  }

  it("tags are refused beyond 50 of a resource, with an empty key or other characters, and on a missing resource") {
    val stream = newStream(1)
    tag(arnOf(stream), "a_b.c:d/e=f+g-h@i" -> "Ünïcode 1")
    for ((key, value) <- Seq("a,b" -> "", "a#" -> "", "a" -> "100%", "a" -> "(b)"))
      withClue(s"$key=$value: ")(an[InvalidArgumentException] should be thrownBy tag(arnOf(stream), key -> value))
    await(kinesis.untagResource { (b: UntagResourceRequest.Builder) =>
      b.resourceARN(arnOf(stream)).tagKeys("a_b.c:d/e=f+g-h@i"); ()
    })
    tag(arnOf(stream), (1 to 50).map(i => s"key-$i" -> ""): _*)
    an[InvalidArgumentException] should be thrownBy tag(arnOf(stream), "one" -> "more")
    tag(arnOf(stream), "key-1" -> "changed")
    codeOf(tag(arnOf(stream), "" -> "x")) shouldBe "ValidationException"
    a[ResourceNotFoundException] should be thrownBy tag(arnOf("nobody"), "a" -> "b")
    a[ResourceNotFoundException] should be thrownBy tag(s"${arnOf(stream)}/consumer/nobody:1", "a" -> "b")
  }
}
