package io.github.kinesisspark.aws

import java.io.ByteArrayOutputStream
import java.time.{Duration => JavaDuration}
import java.util.concurrent.TimeUnit

import scala.concurrent.duration._

import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.config.{CallRetries, ClientOptions, CredentialsOptions, RetryOptions, Secret}
import io.github.kinesisspark.error.OneLine
import io.github.kinesisspark.position.{Shard, StreamArn}
import org.scalatest.funsuite.AnyFunSuite
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.awssdk.awscore.AwsRequestOverrideConfiguration
import software.amazon.awssdk.awscore.exception.{AwsErrorDetails, AwsServiceException}
import software.amazon.awssdk.services.kinesis.model.{ChildShard, GetRecordsRequest, HashKeyRange}
import software.amazon.awssdk.thirdparty.jackson.dataformat.cbor.CBORFactory

/** Servers that answer what Kinesis never would: memory and time stay bounded, and nothing of it is believed. */
class HostileServerTest extends AnyFunSuite {
  private val stream = StreamArn("arn:aws:kinesis:eu-west-1:000000000000:stream/events")

  private def asked[A](answer: (StubServer.Request, Int) => StubServer.Answer)(
      body: KinesisAsyncClient => A
  ): (A, Seq[StubServer.Request]) = {
    val server = new StubServer(answer)
    val keys   = CredentialsOptions.StaticKeys(new Secret("id"), new Secret("secret"), None)
    val lease  = KinesisClients.ofJvm.lease(ClientOptions(None, Some(server.endpoint), keys), "eu-west-1")
    try (body(lease.client), server.requests)
    finally {
      lease.close()
      server.close()
    }
  }

  private def faultOf(client: KinesisAsyncClient): Fault =
    FaultClassifier.classify(intercept[Exception](client.describeLimits().get(2, TimeUnit.MINUTES)))

  /** A body in CBOR, as clients ask for it. */
  private def cbor(json: String): Array[Byte] = {
    val bytes                           = new ByteArrayOutputStream
    val out                             = new CBORFactory().createGenerator(bytes)
    def write(value: ujson.Value): Unit = value match {
      case ujson.Obj(fields) =>
        out.writeStartObject()
        fields.foreach { case (name, field) =>
          out.writeFieldName(name)
          write(field)
        }
        out.writeEndObject()
      case ujson.Arr(items) =>
        out.writeStartArray()
        items.foreach(write)
        out.writeEndArray()
      case other => out.writeString(other.str)
    }
    write(ujson.read(json))
    out.close()
    bytes.toByteArray
  }

  private val ContentType = Map("Content-Type" -> "application/x-amz-cbor-1.1")

  private def json(text: String): StubServer.Answer = StubServer.Answer(200, cbor(text), ContentType)

  private def shard(id: String) =
    s"""{"ShardId":"$id","HashKeyRange":{"StartingHashKey":"0","EndingHashKey":"1"},"SequenceNumberRange":{"StartingSequenceNumber":"1"}}"""

  private val patience = SilentCalls.retry(CallRetries.default.within(1.minute))((new FakeTime).runtime)

  private def listing(answer: Int => String) = asked((_, index) => json(answer(index))) { client =>
    intercept[KinesisException](new StreamDirectory(client, patience).listShards(stream, ShardFilter.All))
  }

  test("a listing whose pages never end fails where a token comes again, or pages bring nothing") {
    val (again, calls) = listing(i => s"""{"Shards":[${shard(s"shardId-$i")}],"NextToken":"same"}""")
    assert(again.errorClass == "KINESIS_ANSWER_DAMAGED" && again.getMessage.contains("same page token"))
    assert(calls.size == 2)
    val (empty, many) = listing(i => s"""{"Shards":[],"NextToken":"token-$i"}""")
    assert(empty.errorClass == "KINESIS_ANSWER_DAMAGED" && empty.getMessage.contains("empty pages"))
    assert(many.size < 200)
  }

  test("pages end at a number of items that no stream has") {
    val failure = intercept[KinesisException](
      Paging.all[Int](AwsCall.ListShards, "events", most = 1000)(token => token.fold(0)(_.toInt) + 1)(
        n => Some(n.toString),
        _ => 10
      )
    )
    assert(failure.getMessage.contains("more than 1000 items"))
    assert(
      Paging
        .all[Int](AwsCall.ListShards, "events", 1000)(_.fold(1)(_.toInt + 1))(
          n => Option.when(n < 50)(n.toString),
          _ => 10
        )
        .size == 50
    )
  }

  test("pages of consumers that never end fail, too") {
    val retry            = RetryOptions(Some(0), 1.milli, 1.milli, 1.0)
    val retries          = CallRetries(Map("ListStreamConsumers" -> retry), 1.minute)
    val (failure, calls) = asked((_, _) => json("""{"Consumers":[],"NextToken":"same"}""")) { client =>
      intercept[KinesisException](ConsumerDirectoryTest.directory(client, retries)((new FakeTime).runtime).list(stream))
    }
    assert(failure.errorClass == "KINESIS_ANSWER_DAMAGED" && calls.size == 2)
  }

  test("an answer larger than any of Kinesis is given up when it is too long, not kept") {
    val body       = Array.fill[Byte]((ResponseFilter.Largest + (1L << 20)).toInt)(' ')
    val (fault, _) =
      asked((_, _) => StubServer.Answer(200, body, ContentType))(faultOf)
    assert(fault.kind.errorClass == "KINESIS_ANSWER_DAMAGED", fault)
  }

  test("an answer that drips in byte by byte is given up when the time of its call is over") {
    val endless = StubServer.Answer(200, Array.fill[Byte](1 << 20)(' '), ContentType, drip = 10.millis)
    val limit   = AwsRequestOverrideConfiguration.builder.apiCallTimeout(JavaDuration.ofMillis(300)).build
    val began   = System.nanoTime()
    // As the driver's calls are limited, and as those of readers are.
    val (blocking, _) = asked((_, _) => endless) { client =>
      val calls = BlockingCalls(CallRetries.default.copy(attemptTime = 300.millis), () => false, SilentCalls)
      calls.once(AwsCall.ListShards)(client.describeLimits())
    }
    val (reading, _) = asked((_, _) => endless) { client =>
      val request = GetRecordsRequest.builder.shardIterator("i").overrideConfiguration(limit).build
      FaultClassifier.classify(intercept[Exception](client.getRecords(request).get(1, TimeUnit.MINUTES)))
    }
    for (fault <- Seq(blocking.left.toOption.get, reading)) assert(fault.kind.errorClass == "KINESIS_TIMED_OUT", fault)
    assert((System.nanoTime() - began).nanos < 60.seconds)
  }

  test("a redirect is refused and not followed") {
    val elsewhere = new StubServer((_, _) => StubServer.Empty)
    try {
      for (status <- Seq(301, 302, 307, 308)) {
        val to          = Map("Location" -> elsewhere.endpoint.toString)
        val (fault, _)  = asked((_, _) => StubServer.Answer(status, headers = to))(faultOf)
        val description = KinesisFault.describe(AwsCall.ListShards, "events", fault)
        assert(fault.kind.errorClass == "KINESIS_REQUEST_REFUSED" && description.contains("redirects"), status)
      }
      assert(elsewhere.requests.isEmpty)
    } finally elsewhere.close()
  }

  test("a shard whose id has other characters than a shard's is refused, so that none gets into logs and offsets") {
    for (id <- Seq("a\\nERROR forged", "../../etc", "\\u001b[2J", "", "x" * 129)) {
      val (failure, _) = listing(_ => s"""{"Shards":[${shard(id)}]}""")
      assert(failure.errorClass == "KINESIS_ANSWER_DAMAGED" && failure.getMessage.linesIterator.size == 1, id)
      assert(!failure.getMessage.exists(_.isControl))
    }
  }

  test("children that are not the shard's are refused") {
    def child(id: String, parents: String*) = java.util.List.of(
      ChildShard
        .builder()
        .shardId(id)
        .parentShards(parents*)
        .hashKeyRange(HashKeyRange.builder().startingHashKey("0").endingHashKey("1").build())
        .build()
    )
    val Vector(own: Shard) =
      StreamDirectory.children("shardId-1", child("shardId-2", "shardId-0", "shardId-1")): @unchecked
    assert(own.id == "shardId-2")
    for (forged <- Seq(child("shardId-1", "shardId-1"), child("shardId-2", "shardId-0")))
      intercept[DamagedAnswer](StreamDirectory.children("shardId-1", forged))
  }

  test("text from outside keeps to its line, its length and its direction") {
    val forged = "a\nERROR b\u001b[2J\u2028c\u202ed\re"
    assert(OneLine(forged) == "a?ERROR b?[2J?c?d?e" && OneLine("x" * 50, 40) == "x" * 40 + "...")
    assert(ConsumerStatus.of("ACTIVE\nERROR").text == "ACTIVE?ERROR")
  }

  test("a failure to get credentials is logged without the request of a refused signature") {
    val refused = AwsServiceException
      .builder()
      .statusCode(403)
      .awsErrorDetails(
        AwsErrorDetails
          .builder()
          .errorCode("SignatureDoesNotMatch")
          .serviceName("Sts")
          .errorMessage("The signature does not match.\nThe Canonical String was\nx-amz-security-token:planted")
          .build()
      )
      .build()
    val text = KinesisFault.inOneLine(refused)
    assert(text.contains("SignatureDoesNotMatch") && !text.contains("planted") && text.linesIterator.size == 1)
  }

  test("what a server says is shown on one line without control characters") {
    val escape     = "\\" + "u001b"
    val body       = cbor(s"{\"__type\":\"AccessDeniedException\",\"message\":\"no$escape[2Jescape$escape\"}")
    val (fault, _) = asked((_, _) => StubServer.Answer(400, body, ContentType))(faultOf)
    val message    = KinesisFault.describe(AwsCall.ListShards, "events", fault)
    assert(message.contains("no?[2Jescape?") && !message.exists(_.isControl))
  }
}
