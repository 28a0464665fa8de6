package io.github.kinesisspark.write

import java.util.concurrent.{CompletableFuture, ConcurrentLinkedQueue}

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.services.kinesis.model.{PutRecordsRequest, PutRecordsResponse}

import io.github.kinesisspark.aws.OfflineClient
import io.github.kinesisspark.config.{CallRetries, StreamRef}
import io.github.kinesisspark.write.pack.Packing
import io.github.kinesisspark.write.send.{Entry, RowId, SendSettings, Sending}

class ClosedWriterSpec extends AnyFunSpec with Matchers {
  it("a writer that is closed cancels the calls that are under way") {
    val sent   = new ConcurrentLinkedQueue[CompletableFuture[PutRecordsResponse]]
    val client = new OfflineClient {
      override def putRecords(request: PutRecordsRequest): CompletableFuture[PutRecordsResponse] = {
        val call = new CompletableFuture[PutRecordsResponse]
        sent.add(call)
        call
      }
    }
    val writer = new TaskWriter(
      Sending(
        SendSettings(
          ordered = false,
          bufferSize = 1L << 20,
          maxCalls = 4,
          retries = CallRetries.default.within(60.seconds)
        )
      ),
      new Packing.Plain,
      (stream, entries) => PutRecordsCall(client, stream, entries, () => true),
      _ => (),
      () => false,
      linger = None,
      writers = WriterRuntime.ofJvm
    )
    // One full call.
    val stream = StreamRef.ByName("events")
    (0 until 500).foreach(i =>
      writer.write(new Entry(stream, s"key-$i", None, new Array[Byte](10), RowId("run", 0, i.toLong)))
    )
    sent should have size 1
    writer.close()
    sent.asScala.map(_.isCancelled).toSeq shouldBe Seq(true)
  }
}
