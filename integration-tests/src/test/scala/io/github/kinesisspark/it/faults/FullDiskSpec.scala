package io.github.kinesisspark.it.faults

import java.io.IOException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataOutputStream, Path}
import org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager
import org.scalatest.Suites

import io.github.kinesisspark.it.source.{BatchLog, Mode, TestkitSuite}

/** The disk of the checkpoint has no space. The connector writes no file there: Spark writes its logs. */
final class FullDisk(override protected val mode: Mode) extends TestkitSuite {
  override def suiteName: String = s"Full disks by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  override protected def settings: Map[String, String] =
    super.settings + ("spark.sql.streaming.checkpointFileManagerClass" -> classOf[FullDiskFiles].getName)

  private def continuesWithSpace(log: String, isRepeated: Boolean): Unit = {
    val stream = newStream(shards = 2)
    val rows   = new BatchLog
    val at     = checkpoint()
    val before = put(stream, "before", 20)
    val query  = start(stream, at, rows)
    eventually(rows.rows.size shouldBe before.size)
    awaitCommit(at, rows)
    val last      = rows.all.last._1
    val meanwhile = FullDiskFiles.during(log) {
      val texts = put(stream, "meanwhile", 20)
      failureOf(query).getMessage should include("No space left on device")
      texts
    }
    rows.all.count(_._1 > last) shouldBe (if (isRepeated) 1 else 0)
    running(load(stream), at)(rows.add) { _ =>
      val after = put(stream, "after", 20)
      eventually(rows.texts.sorted shouldBe (before ++ meanwhile ++ after).sorted)
    }
    // The log refuses a batch that comes again with other rows.
    rows.replays.contains(last + 1) shouldBe isRepeated
    inOrder(rows)
  }

  describe("a query whose checkpoint's disk is full fails, and with space continues with each record once, after") {
    it("a write to the offset log, before the batch")(continuesWithSpace("offsets", isRepeated = false))
    it("a write to the commit log, whose batch is repeated with the same rows")(
      continuesWithSpace("commits", isRepeated = true)
    )
  }
}

class FullDiskSpec extends Suites(Mode.both.map(new FullDisk(_)): _*)

/** Spark's own writer of checkpoint files, on a disk that a test fills. Spark makes one for each directory. */
final class FullDiskFiles(path: Path, conf: Configuration) extends FileContextBasedCheckpointFileManager(path, conf) {
  override def createTempFile(file: Path): FSDataOutputStream =
    if (FullDiskFiles.isFull(file.getParent.getName)) throw new IOException(s"$file (No space left on device)")
    else super.createTempFile(file)
}

object FullDiskFiles {
  @volatile private var full = Option.empty[String]

  private def isFull(log: String) = full.contains(log)

  /** Runs `body` while the disk has no space for new files of this log. */
  def during[A](log: String)(body: => A): A = {
    full = Some(log)
    try body
    finally full = None
  }
}
