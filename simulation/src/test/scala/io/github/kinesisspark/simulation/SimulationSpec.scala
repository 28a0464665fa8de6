package io.github.kinesisspark.simulation

import scala.sys.process.{Process => OsProcess}

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

/** The engine in simulated worlds. New seeds: `make simulate`. */
class SimulationSpec extends AnyFunSpec with Matchers {
  import SimulationSpec._

  describe("the engine, in a simulated world") {
    Seeds.foreach { seed =>
      it(s"delivers each record once, whatever strikes it (seed $seed)") {
        val trace = new Trace
        try new World(seed, Plan.of(seed), trace).run().records should be > 0
        catch { case failure: SimulationFailure => fail(s"${trace.table}\n${failure.getMessage}", failure) }
      }
    }
  }

  describe("the same seed") {
    it("gives the same trace in two JVMs") {
      val here = new World(Compared, Plan.of(Compared), new Trace).run().hash
      inOtherJvm(s"seed=$Compared", "hash=only") shouldBe here
    }
  }
}

private object SimulationSpec {

  /** Of both ways of reading, and with each kind of fault. */
  private val Seeds = 1L to 12L

  private val Compared = 2L

  private def inOtherJvm(arguments: String*): String =
    OsProcess(
      Seq(s"${System.getProperty("java.home")}/bin/java", "-XX:TieredStopAtLevel=1") ++
        Seq("-cp", System.getProperty("java.class.path"), "io.github.kinesisspark.simulation.Main") ++ arguments
    ).!!.linesIterator.filter(_.nonEmpty).toVector.last
}
