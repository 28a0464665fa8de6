package io.github.kinesisspark.read.stream

import java.nio.file.{Files, Path}

import org.apache.hadoop.conf.Configuration
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.position._

class CheckpointOffsetsSpec extends AnyFunSpec with Matchers {
  import CheckpointOffsetsSpec._

  describe("a checkpoint") {
    it("of version 1 has sources by number, beside those of other connectors and those without data") {
      val offsets = checkpoint(Seq(v1("""{"logOffset":5}""", json(Orders, 1), "-", json(Refunds, 2))), committed = 1)
      offsets.end(None, Some("1")) shouldBe offset(Orders, 1)
      offsets.end(Some(0), Some("3")) shouldBe offset(Refunds, 2)
    }

    it("of version 2 has sources by name, in whichever order") {
      val offsets = checkpoint(
        Seq(
          v2("orders"  -> json(Orders, 1), "files" -> """{"logOffset":5}""", "refunds" -> json(Refunds, 2)),
          v2("refunds" -> json(Refunds, 4), "0"    -> "-", "orders"                    -> json(Orders, 3))
        ),
        committed = 2
      )
      offsets.end(None, Some("orders")) shouldBe offset(Orders, 3)
      offsets.ends(1, Some("refunds")) shouldBe ((offset(Refunds, 2), offset(Refunds, 4)))
    }

    it("has the end of its only Kinesis source without a name for it") {
      val offsets = checkpoint(Seq(v2("a" -> """{"logOffset":5}""", "b" -> json(Orders, 1))), committed = 1)
      offsets.end(None, None) shouldBe offset(Orders, 1)
      offsets.lastCommitted(None, _ => true) shouldBe offset(Orders, 1)
    }

    it("with several Kinesis sources is refused with their names if none is named") {
      val offsets = checkpoint(Seq(v2("orders" -> json(Orders, 1), "refunds" -> json(Refunds, 2))), committed = 1)
      refusal(offsets.end(None, None)) should include("has 2 Kinesis sources in batch 0, 'orders', 'refunds'.")
      refusal(offsets.end(None, Some("0"))) should include(
        "has no Kinesis source '0' in batch 0; it has 'orders', 'refunds'"
      )
    }

    it("has the last committed end of all its sources in the streams that are asked for") {
      val offsets = checkpoint(Seq(v1(json(Orders, 1), json(Refunds, 2)), v1(json(Orders, 3), json(Refunds, 4))), 1)
      offsets.lastCommitted(None, _ => true) shouldBe KinesisOffset(
        offset(Orders, 1).streams ++ offset(Refunds, 2).streams
      )
      offsets.lastCommitted(None, _ == Refunds) shouldBe offset(Refunds, 2)
    }

    it("with several sources of one stream is refused if that stream is asked for and none is named") {
      val offsets = checkpoint(Seq(v1(json(Orders, 1), json(Orders, 2), json(Refunds, 3))), committed = 1)
      refusal(offsets.lastCommitted(None, _ => true)) should include(s"reads $Orders by several sources, '0', '1'")
      offsets.lastCommitted(Some("1"), _ => true) shouldBe offset(Orders, 2)
      offsets.lastCommitted(None, _ == Refunds) shouldBe offset(Refunds, 3)
    }

    it("has no stream before the batch in which a source was added") {
      val offsets = checkpoint(
        Seq(v2("orders" -> json(Orders, 1)), v2("refunds" -> json(Refunds, 2), "orders" -> json(Orders, 1))),
        committed = 2
      )
      offsets.ends(1, Some("refunds")) shouldBe ((KinesisOffset.initial, offset(Refunds, 2)))
      offsets.ends(1, Some("orders"))._1 shouldBe offset(Orders, 1)
    }

    it("finds a source that had a number in the batch before its name by its stream, if only one source reads it") {
      val offsets = checkpoint(
        Seq(
          v1(json(Refunds, 1), json(Orders, 2)),
          v2("orders" -> json(Orders, 3), "refunds" -> json(Refunds, 4), "new" -> json(Late, 5))
        ),
        committed = 2
      )
      offsets.ends(1, Some("orders"))._1 shouldBe offset(Orders, 2)
      offsets.ends(1, Some("new"))._1 shouldBe KinesisOffset.initial
      val twice =
        checkpoint(Seq(v1(json(Orders, 1), json(Orders, 2)), v2("a" -> json(Orders, 3), "b" -> json(Orders, 4))), 2)
      refusal(twice.ends(1, Some("a"))) should include("in batch 1 names for several sources of one stream")
    }

    it("of a later version is refused") {
      val offsets = checkpoint(Seq("v3\n{}\n0:" + json(Orders, 1)), committed = 1)
      refusal(offsets.end(None, None)) should include("an offset log of version 'v3'")
    }

    it("without a Kinesis source, or without the batch, is refused") {
      val offsets = checkpoint(Seq(v1("""{"logOffset":5}""", "-")), committed = 1)
      refusal(offsets.end(None, None)) should include("no Kinesis source of this connector in batch 0")
      refusal(offsets.end(Some(7), None)) should include("no batch 7 in its offset log; it has 0 to 0")
    }
  }
}

private object CheckpointOffsetsSpec extends Matchers {
  private def arn(name: String) = StreamArn(s"arn:aws:kinesis:eu-west-1:000000000000:stream/$name")
  private val Orders            = arn("orders")
  private val Refunds           = arn("refunds")
  private val Late              = arn("late")

  private def offset(stream: StreamArn, number: Int): KinesisOffset =
    KinesisOffset(
      Map(stream -> StreamOffset(1L, Seq("shardId-0" -> ShardProgress(ShardPosition.AtTimestamp(number.toLong)))))
    )

  private def json(stream: StreamArn, number: Int): String = OffsetJson.write(offset(stream, number))

  private def v1(offsets: String*): String           = ("v1" +: """{"batchWatermarkMs":0}""" +: offsets).mkString("\n")
  private def v2(offsets: (String, String)*): String =
    ("v2" +: """{"batchWatermarkMs":0}""" +: offsets.map { case (name, json) => s"$name:$json" }).mkString("\n")

  /** @param batches   files of the offset log
    * @param committed how many of them
    */
  private def checkpoint(batches: Seq[String], committed: Int): CheckpointOffsets = {
    val folder                  = Files.createTempDirectory("checkpoint-")
    def log(name: String): Path = Files.createDirectories(folder.resolve(name))
    batches.zipWithIndex.foreach { case (text, id) =>
      Files.writeString(log("offsets").resolve(id.toString), text)
      if (id < committed) Files.writeString(log("commits").resolve(id.toString), "v1\n{}")
    }
    CheckpointOffsets.in(folder.toString, new Configuration)
  }

  private def refusal(body: => Any): String = intercept[OffsetException](body: Unit).getMessage
}
