package io.github.kinesisspark.simulation

import scala.collection.mutable
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration._
import scala.sys.process.{Process => OsProcess}

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

/** The engine in simulated worlds. New seeds: `make simulate`. */
class SimulationSpec extends AnyFunSpec with Matchers {
  import SimulationSpec._

  // Begun at once: it runs beside the worlds here.
  private val other  = Future(inOtherJvm(s"seed=${Compared.mkString(",")}", "print=hash"))(ExecutionContext.global)
  private val hashes = mutable.HashMap.empty[Long, String]

  describe("the engine, in a simulated world") {
    Seeds.foreach { seed =>
      it(s"delivers each record once, whatever strikes it (seed $seed)") {
        val trace = new Trace
        val plan  = Plan.of(seed)
        try {
          val outcome = new World(plan, trace).run()
          // Old records may all be past retention before any is read.
          if (plan.settings.kinesis.oldRecords == 0) outcome.records should be > 0
          hashes(seed) = outcome.hash
        } catch { case failure: SimulationFailure => fail(s"${trace.table}\n${failure.getMessage}", failure) }
      }
    }
  }

  describe("the same seed") {
    it("gives the same trace in two JVMs, for a world of each theme") {
      Await.result(other, 5.minutes) shouldBe Compared.map(seed => hashes.getOrElse(seed, s"seed $seed failed"))
    }
  }
}

private object SimulationSpec {

  /** Up to two of each theme. */
  private val Seeds = (94L to 140L).groupBy(Plan.of(_).theme).values.flatMap(_.take(2)).toVector.sorted

  private val Compared = Seeds.distinctBy(Plan.of(_).theme)

  private def inOtherJvm(arguments: String*): Vector[String] =
    OsProcess(
      Seq(s"${System.getProperty("java.home")}/bin/java", "-XX:TieredStopAtLevel=1") ++
        Seq("-cp", System.getProperty("java.class.path"), "io.github.kinesisspark.simulation.Main") ++ arguments
    ).!!.linesIterator.filter(_.nonEmpty).toVector.takeRight(Compared.size)
}
