package io.github.kinesisspark.simulation

import java.nio.file.Files

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class CoverageSpec extends AnyFunSpec with Matchers {
  private def reached(events: String*) = {
    val coverage = new Coverage
    events.foreach(coverage.happened("polling idle, Running", _))
    coverage.struck("Pause", Seq("polling idle"), Seq("Running"))
    coverage
  }

  describe("What worlds have come through") {
    it("adds up over several runs") {
      val file = Files.createTempFile("coverage", ".txt")
      try {
        reached("GetRecords records", "GetRecords empty").save(file)
        val next = new Coverage
        next.load(file)
        next.add(reached("GetRecords empty", "GetRecords end")) shouldBe 1
        next.pairs shouldBe 3
        next.matrix.linesIterator.count(_.matches("Pause .* 2 .*")) shouldBe 2
      } finally Files.delete(file)
    }
  }
}
