package io.github.kinesisspark.simulation

import scala.sys.process.{Process => OsProcess}

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

/** The engine in simulated worlds. New seeds: `make simulate`. */
class SimulationSpec extends AnyFunSpec with Matchers {
  import SimulationSpec._

  private lazy val other = inOtherJvm(s"seed=$Compared", "print=hash")

  describe("the engine, in a simulated world") {
    Seeds.foreach { seed =>
      it(s"delivers each record once, whatever strikes it (seed $seed)") {
        val trace = new Trace
        try new World(Plan.of(seed), trace).run().records should be > 0
        catch { case failure: SimulationFailure => fail(s"${trace.table}\n${failure.getMessage}", failure) }
      }
    }
  }

  describe("the same seed") {
    it("gives the same trace in two JVMs") {
      val here = new World(Plan.of(Compared), new Trace).run().hash
      other shouldBe here
    }
  }
}

private object SimulationSpec {

  /** As many as themes have weight: of each theme. In none of them records are lost before any was read. */
  private val Seeds = 76L to 108L

  private val Compared = 5L

  private def inOtherJvm(arguments: String*): String =
    OsProcess(
      Seq(s"${System.getProperty("java.home")}/bin/java", "-XX:TieredStopAtLevel=1") ++
        Seq("-cp", System.getProperty("java.class.path"), "io.github.kinesisspark.simulation.Main") ++ arguments
    ).!!.linesIterator.filter(_.nonEmpty).toVector.last
}
