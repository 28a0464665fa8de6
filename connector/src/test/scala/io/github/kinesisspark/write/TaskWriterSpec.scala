package io.github.kinesisspark.write

import java.lang.ref.WeakReference
import java.util.concurrent.{CompletableFuture, ConcurrentLinkedQueue, CountDownLatch, TimeUnit}

import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._
import scala.util.Random

import org.scalatest.concurrent.Eventually
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.kinesisspark.HeldMonitors
import io.github.kinesisspark.aws.KinesisClients
import io.github.kinesisspark.config.{CallRetries, Linger, StreamRef}
import io.github.kinesisspark.position.{HashKeyRange, Shard}
import io.github.kinesisspark.runtime.VirtualTime
import io.github.kinesisspark.write.pack.Packing
import io.github.kinesisspark.write.send._

/** Tests when a task writer sends rows while the task's thread waits for the next row. */
class TaskWriterSpec extends AnyFunSpec with Matchers with Eventually {
  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(30, Seconds), Span(5, Millis))

  private val events  = StreamRef.ByName("events")
  private val shardId = "shardId-000000000000"

  private def entry(row: Int, size: Int = 10) =
    new Entry(events, s"key-$row", None, new Array[Byte](size), RowId("run", 0, row.toLong))

  private def aggregated(listing: => Unit = ()) = {
    val shards = Vector(Shard(shardId, Nil, HashKeyRange.all, closed = false))
    new Packing.Aggregated(
      50 << 10,
      ordered = false,
      _ => {
        listing
        shards
      }
    )
  }

  /** What would hang fails. */
  private def within[A](time: FiniteDuration)(work: => A): A = Await.result(Future(work)(ExecutionContext.global), time)

  /** @param answers of the first calls; later records are taken
    * @param before  each call
    * @param broken  what each call ends with instead of an answer
    * @param first   the answer of the first call
    */
  private final class Setting(
      linger: Option[Linger],
      answers: Seq[CallAnswer] = Nil,
      packing: Packing = new Packing.Plain,
      before: => Unit = (),
      broken: Option[Throwable] = None,
      first: Option[CompletableFuture[CallAnswer]] = None
  ) {
    val calls        = new ConcurrentLinkedQueue[Vector[Entry]]
    private val left = new ConcurrentLinkedQueue[CallAnswer](answers.asJava)

    val writer = new TaskWriter(
      Sending(
        SendSettings(
          ordered = false,
          bufferSize = 1L << 20,
          maxCalls = 4,
          retries = CallRetries.default.within(60.seconds)
        )
      ),
      packing,
      (_, entries) => put(entries),
      _ => (),
      () => false,
      linger,
      WriterRuntime.ofJvm
    )

    private def put(entries: Vector[Entry]): CompletableFuture[CallAnswer] = {
      before
      calls.add(entries)
      val taken  = CallAnswer.PerRecord(entries.map(_ => RecordAnswer.Taken(shardId)))
      def answer = broken.fold(CompletableFuture.completedFuture[CallAnswer](Option(left.poll()).getOrElse(taken)))(
        CompletableFuture.failedFuture(_)
      )
      first.filter(_ => calls.size == 1).getOrElse(answer)
    }

    def sizes: Vector[Int] = calls.asScala.map(_.size).toVector
  }

  /** @param answer of each call, given that all its records are taken */
  private def writerIn(
      time: VirtualTime,
      maxCalls: Int,
      linger: Linger,
      answersAfter: FiniteDuration,
      ordered: Boolean = false
  )(answer: Vector[RecordAnswer] => Vector[RecordAnswer]): TaskWriter = {
    val settings = SendSettings(ordered, bufferSize = 1L << 20, maxCalls, CallRetries.default.within(60.seconds))
    writerIn(time, settings, new Packing.Plain, Some(linger), answersAfter) { entries =>
      CallAnswer.PerRecord(answer(Vector.fill[RecordAnswer](entries.size)(RecordAnswer.Taken(shardId))))
    }
  }

  /** @param answer of each call, when it has one */
  private def writerIn(
      time: VirtualTime,
      settings: SendSettings,
      packing: Packing,
      linger: Option[Linger],
      answersAfter: FiniteDuration
  )(answer: Vector[Entry] => CallAnswer): TaskWriter = {
    import time.runtime
    def put(entries: Vector[Entry]) = {
      val call = new CompletableFuture[CallAnswer]
      runtime.timers.schedule(answersAfter.toNanos)(call.complete(answer(entries)): Unit)
      call
    }
    new TaskWriter(
      Sending(settings),
      packing,
      (_, entries) => put(entries),
      _ => (),
      () => false,
      linger,
      new WriterRuntime(new KinesisClients((_, _) => fail("no client is needed")))
    )
  }

  /** Shards whose hash key ranges are equal, and the place of one among them. */
  private final class EqualShards(count: Int) {
    private val width = (BigInt(1) << 128) / count

    val all: Vector[Shard] = Vector.tabulate(count)(n =>
      Shard(ServiceModel.shardId(n), Nil, HashKeyRange(n * width, (n + 1) * width - 1), closed = false)
    )

    def of(entry: Entry): Int = (entry.hashKey / width).toInt

    def packing: Packing = new Packing.Aggregated(50 << 10, ordered = false, _ => all)
  }

  /** With the most memory that its rows and records have taken, up to each record's answer. */
  private final class MeasuredPacking(packing: Packing) extends Packing {
    private var unanswered = 0L
    var peak               = 0L

    private def measured(records: Vector[Entry]) = {
      unanswered += Entry.weightOf(records)
      peak = peak.max(packing.heldBytes + unanswered)
      records
    }

    private def answered(record: Entry)(next: => Vector[Entry]) = {
      unanswered -= record.weight
      measured(next)
    }

    override def add(rows: Vector[Entry]): Vector[Entry]              = measured(packing.add(rows))
    override def flush(): Vector[Entry]                               = measured(packing.flush())
    override def taken(record: Entry, shardId: String): Vector[Entry] =
      answered(record)(packing.taken(record, shardId))
    override def rejected(record: Entry): Vector[Entry] = answered(record)(packing.rejected(record))
    override def awaitsAnswers: Boolean                 = packing.awaitsAnswers
    override def heldRows: Int                          = packing.heldRows
    override def heldBytes: Long                        = packing.heldBytes
    override def rows: Long                             = packing.rows
  }

  it("a task writer with linger sends its rows before further rows arrive") {
    val s = new Setting(Some(Linger.of(5.millis)))
    s.writer.write(entry(0))
    eventually(s.writer.counts.userRecords shouldBe 1)
    s.writer.write(entry(1))
    eventually(s.writer.counts.userRecords shouldBe 2)
    s.sizes shouldBe Vector(1, 1)
    s.writer.flush()
    s.writer.close()
  }

  it("a task writer has a row wait for one time while no call is under way, and for another while one is") {
    val linger = Linger(idle = 1.millis, busy = 200.millis)
    val s      = new Setting(Some(linger), first = Some(new CompletableFuture))
    val began  = System.nanoTime()
    s.writer.write(entry(0))
    eventually(s.sizes shouldBe Vector(1))
    s.writer.write(entry(1))
    eventually(s.sizes shouldBe Vector(1, 1))
    (System.nanoTime() - began) should be >= linger.busy.toNanos
    s.writer.close()
  }

  it("a task writer has a row wait no longer than without a call once the last call under way is answered") {
    val answer = new CompletableFuture[CallAnswer]
    val s      = new Setting(Some(Linger(idle = 1.millis, busy = 1.hour)), first = Some(answer))
    s.writer.write(entry(0))
    eventually(s.sizes shouldBe Vector(1))
    s.writer.write(entry(1))
    answer.complete(CallAnswer.PerRecord(Vector(RecordAnswer.Taken(shardId))))
    eventually(s.sizes shouldBe Vector(1, 1))
    eventually(s.writer.counts.userRecords shouldBe 2)
    s.writer.close()
  }

  it("a task writer without linger sends full calls only, and the rest at the flush") {
    val s = new Setting(linger = None)
    (0 until 600).foreach(i => s.writer.write(entry(i)))
    s.writer.flush()
    s.sizes shouldBe Vector(500, 100)
    s.writer.counts.userRecords shouldBe 600
  }

  it("a task writer has one timer for held rows, and one for refused ones, however long its task has waited") {
    val time    = new VirtualTime
    val refused =
      RecordAnswer.Refused(RecordAnswer.Refused.Throttling, s"Rate exceeded for shard $shardId in stream events.")
    var calls  = 0
    val writer = writerIn(time, maxCalls = 1, Linger.of(100.millis), answersAfter = 600.millis) { taken =>
      calls += 1
      if (calls % 2 == 1) taken.updated(0, refused) else taken
    }
    for (row <- 0 until 12) {
      writer.write(entry(row, 300 << 10))
      // But for the answer.
      (time.pending - 1) should be <= 2
    }
    writer.close()
  }

  it("a task writer resends a refused row though no further row arrives") {
    val refused =
      RecordAnswer.Refused(RecordAnswer.Refused.Throttling, s"Rate exceeded for shard $shardId in stream events.")
    val s = new Setting(Some(Linger.of(5.millis)), Seq(CallAnswer.PerRecord(Vector(refused))))
    s.writer.write(entry(0))
    eventually(s.writer.counts.userRecords shouldBe 1)
    s.writer.counts.sent.retried shouldBe 1
  }

  it(
    "a task writer resends a refused row as soon as its shard may be asked again, however long others wait for a fuller call"
  ) {
    val refused =
      RecordAnswer.Refused(RecordAnswer.Refused.Throttling, s"Rate exceeded for shard $shardId in stream events.")
    // Its turn comes at a multiple of 50 ms, in one of these cases between two looks at the clock.
    for (answersAfter <- 1 to 50) {
      val time   = new VirtualTime(reading = 500.micros, chance = Some(0.0))
      var calls  = 0
      val writer = writerIn(time, maxCalls = 4, Linger.of(1.hour), answersAfter.millis) { taken =>
        calls += 1
        if (calls == 1) taken.updated(0, refused) else taken
      }
      (0 until 501).foreach(i => writer.write(entry(i)))
      time.pass(1.second)
      withClue(s"answered after $answersAfter ms: ")(writer.counts.userRecords shouldBe 501)
      writer.close()
    }
  }

  it(
    "a task writer whose rows come one by one makes as many calls as its linger allows, though others are answered meanwhile"
  ) {
    val time   = new VirtualTime
    var calls  = 0
    val linger = Linger(idle = 1.milli, busy = 10.millis)
    val writer = writerIn(time, maxCalls = 8, linger, answersAfter = 35.millis) { taken =>
      calls += 1
      taken
    }
    for (row <- 0 until 1000) {
      writer.write(entry(row))
      time.pass(1.milli)
    }
    calls should (be >= 80 and be <= 110)
    writer.flush()
    writer.counts.userRecords shouldBe 1000
    writer.close()
  }

  it("a task writer has rows with one key wait for a fuller call once, and not each of them") {
    val time   = new VirtualTime
    val linger = 300.millis
    var sizes  = Vector.empty[Int]
    val writer = writerIn(time, maxCalls = 4, Linger.of(linger), answersAfter = 1.milli, ordered = true) { taken =>
      sizes :+= taken.size
      taken
    }
    (0 until 100).foreach(i =>
      writer.write(new Entry(events, "key", None, new Array[Byte](10), RowId("run", 0, i.toLong)))
    )
    time.pass(linger - 1.milli)
    sizes shouldBe empty
    // And a millisecond for each answer.
    time.pass(linger)
    sizes shouldBe Vector.fill(100)(1)
    writer.counts.userRecords shouldBe 100
    writer.close()
  }

  it("a task writer without linger resends a refused row at the first row that comes when it is due") {
    val refused =
      RecordAnswer.Refused(RecordAnswer.Refused.Throttling, s"Rate exceeded for shard $shardId in stream events.")
    val answer = CallAnswer.PerRecord(refused +: Vector.fill(499)(RecordAnswer.Taken(shardId)))
    val s      = new Setting(linger = None, Seq(answer))
    (0 until 500).foreach(i => s.writer.write(entry(i)))
    var later = 0
    eventually(timeout(Span(30, Seconds)), interval(Span(100, Millis))) {
      s.writer.write(entry(500 + later))
      later += 1
      s.sizes.drop(1) should not be empty
    }
    later should be < 50
    s.calls.asScala.drop(1).head.head.row.row shouldBe 0
  }

  it("a task writer with linger sends aggregated records before they are full") {
    val s = new Setting(Some(Linger.of(50.millis)), packing = aggregated())
    (0 until 3).foreach(i => s.writer.write(entry(i)))
    eventually(s.writer.counts.userRecords shouldBe 3)
  }

  it("a task writer with aggregate sends the rows of all other shards while one shard refuses all of its records") {
    val time    = new VirtualTime
    val shards  = new EqualShards(64)
    val patient = CallRetries.default.within(10.minutes)
    val writer  = writerIn(
      time,
      SendSettings(ordered = false, bufferSize = 1L << 20, maxCalls = 8, patient),
      shards.packing,
      Some(Linger.of(100.millis)),
      answersAfter = 20.millis
    ) { entries =>
      CallAnswer.PerRecord(entries.map { entry =>
        shards.of(entry) match {
          case 0 =>
            RecordAnswer.Refused(
              RecordAnswer.Refused.Throttling,
              s"Rate exceeded for shard ${ServiceModel.shardId(0)} in stream events."
            )
          case n => RecordAnswer.Taken(ServiceModel.shardId(n))
        }
      })
    }
    val rows = Vector.tabulate(20000)(entry(_))
    rows.foreach(writer.write)
    time.pass(1.second)
    time.elapsed should be < 30.seconds
    writer.counts.userRecords shouldBe rows.count(shards.of(_) != 0)
    writer.close()
  }

  it(
    "a task writer with aggregate holds no more than its buffer and a block of rows, also when it sends half-full records"
  ) {
    val time    = new VirtualTime
    val shards  = new EqualShards(64)
    val packing = new MeasuredPacking(shards.packing)
    val writer  = writerIn(
      time,
      SendSettings(ordered = false, bufferSize = 1L << 20, maxCalls = 8, CallRetries.default.within(60.seconds)),
      packing,
      linger = None,
      answersAfter = 20.millis
    )(entries => CallAnswer.PerRecord(entries.map(e => RecordAnswer.Taken(ServiceModel.shardId(shards.of(e))))))
    val rows = Vector.tabulate(5000)(entry(_, 1000))
    rows.foreach(writer.write)
    writer.flush()
    writer.counts.userRecords shouldBe rows.size
    // A block is 64 KiB, and twice that with its copy in records, some of which are new.
    packing.peak should (be > (900L << 10) and be < (1280L << 10))
    writer.close()
  }

  it("a task writer with aggregate fills its records while its buffer is full and its shards are throttled") {
    val time    = new VirtualTime
    val shards  = new EqualShards(4)
    val service = new ServiceModel(new Random(7), shards = 4)
    val patient = CallRetries.default.within(10.minutes)
    val writer  = writerIn(
      time,
      SendSettings(ordered = false, bufferSize = 8L << 20, maxCalls = 8, patient),
      shards.packing,
      linger = None,
      answersAfter = 20.millis
    )(service.put(_, time.elapsed.toMillis))
    val rows = Vector.tabulate(60000)(entry(_, 1000))
    rows.foreach(writer.write)
    writer.flush()
    writer.counts.userRecords shouldBe rows.size
    writer.counts.sent.throttled should be > 0L
    // Full ones hold fifty rows.
    writer.counts.sent.records should be < rows.size / 50 + 40L
    writer.close()
  }

  it("a task writer whose timed call failed throws that error at the next row and at the flush") {
    val error = new IllegalStateException("no such stream")
    val s     = new Setting(Some(Linger.of(5.millis)), Seq(ServiceModel.failed(error)))
    s.writer.write(entry(0))
    eventually(the[IllegalStateException] thrownBy s.writer.write(entry(1)) shouldBe error)
    the[IllegalStateException] thrownBy s.writer.flush() shouldBe error
  }

  it("a task writer whose timer met an Error throws it at the next row and at the flush, as the rows are not written") {
    val error = new NoSuchMethodError("of another version's class")
    val s     = new Setting(Some(Linger.of(5.millis)), packing = aggregated(throw error))
    s.writer.write(entry(0))
    eventually(the[NoSuchMethodError] thrownBy s.writer.write(entry(1)) shouldBe error)
    the[NoSuchMethodError] thrownBy s.writer.flush() shouldBe error
  }

  it("a task writer throws the error of a failed call at the row and again at the flush") {
    val error = new IllegalStateException("no such provider")
    val s     = new Setting(linger = None, before = throw error)
    the[IllegalStateException] thrownBy (0 until 500).foreach(i => s.writer.write(entry(i))) shouldBe error
    the[IllegalStateException] thrownBy s.writer.flush() shouldBe error
  }

  it("a task writer throws the error of a call whose result can't be handled") {
    val error = new IllegalStateException("no result")
    val s     = new Setting(linger = None, broken = Some(error))
    s.writer.write(entry(0))
    within(30.seconds)(the[IllegalStateException] thrownBy s.writer.flush() shouldBe error)
  }

  it("a task writer that is closed is not kept by its timer") {
    def closed() = {
      val s = new Setting(Some(Linger.of(10.minutes)))
      s.writer.write(entry(0))
      s.writer.close()
      new WeakReference(s.writer)
    }
    val writer = closed()
    eventually {
      System.gc()
      writer.get shouldBe null
    }
  }

  it("a task writer makes calls and lists shards without a monitor: only its own task waits for it") {
    val held   = new ConcurrentLinkedQueue[Seq[String]]
    def note() = held.add(HeldMonitors.here): Unit
    val timed  = new Setting(Some(Linger.of(5.millis)), packing = aggregated(note()), before = note())
    timed.writer.write(entry(0))
    eventually(timed.writer.counts.userRecords shouldBe 1)
    val full = new Setting(linger = None, packing = aggregated(note()), before = note())
    full.writer.write(entry(0))
    full.writer.flush()
    held.asScala.toSet shouldBe Set(Nil)
    Seq(timed, full).foreach(_.writer.close())
  }

  it("the counts of a task writer can be read while its timer lists shards") {
    val listing = new CountDownLatch(1)
    val unknown = CallAnswer.PerRecord(Vector(RecordAnswer.Taken("shardId-000000000007")))
    val s       = new Setting(
      Some(Linger.of(5.millis)),
      Seq(unknown),
      aggregated(if (Thread.currentThread.getName.startsWith("kinesis-writers")) {
        listing.countDown()
        new CountDownLatch(1).await()
      })
    )
    s.writer.write(entry(0))
    listing.await(30, TimeUnit.SECONDS) shouldBe true
    within(30.seconds)(s.writer.counts.userRecords) shouldBe 0
    s.writer.close()
  }

  it("a task writer that lists shards on a timer thread blocks no other writer and can be closed") {
    val listing = new CountDownLatch(3)
    val ended   = new CountDownLatch(3)
    def list()  =
      if (Thread.currentThread.getName.startsWith("kinesis-writers")) {
        listing.countDown()
        try new CountDownLatch(1).await()
        finally ended.countDown()
      }
    def blocked = {
      val unknown = CallAnswer.PerRecord(Vector(RecordAnswer.Taken("shardId-000000000007")))
      new Setting(Some(Linger.of(5.millis)), Seq(unknown), aggregated(list()))
    }
    val all = Vector.fill(3)(blocked)
    all.foreach(_.writer.write(entry(0)))
    listing.await(30, TimeUnit.SECONDS) shouldBe true
    val other = new Setting(Some(Linger.of(5.millis)))
    other.writer.write(entry(0))
    eventually(other.writer.counts.userRecords shouldBe 1)
    all.foreach(_.writer.close())
    ended.await(30, TimeUnit.SECONDS) shouldBe true
  }

  it("a task writer sends nothing after it is closed") {
    val s = new Setting(Some(Linger.of(20.millis)))
    s.writer.write(entry(0))
    s.writer.close()
    // On a machine that stands still its time has come before that.
    val sent  = s.sizes
    val other = new Setting(Some(Linger.of(40.millis)))
    other.writer.write(entry(0))
    eventually(other.writer.counts.userRecords shouldBe 1)
    s.sizes shouldBe sent
  }
}
