package io.github.kinesisspark.it.faults

import org.apache.spark.sql.streaming.StreamingQueryException
import org.scalatest.Suites

import io.github.kinesisspark.it.source.{BatchLog, Mode}

/** A class of the user's throws an Error into a reader. */
final class ReaderThrowable(override protected val mode: Mode) extends ScriptedCredentialsSuite("Throwables") {
  private def failsWith(error: => Error): Unit = {
    val stream = newStream(shards = 2)
    val log    = new BatchLog
    put(stream, "before", 20)
    running(loadWithProvider(stream), checkpoint())(log.add) { query =>
      eventually(log.rows.size shouldBe 20)
      ScriptedCredentials.during(throw error) {
        val failure = intercept[StreamingQueryException](
          withClue("the query is alive and reads nothing: ")(query.awaitTermination(300000) shouldBe true)
        )
        failure.getMessage should include("as planned")
      }
    }
  }

  describe("a query fails with the error, and does not stand still, when a class of the user's throws") {
    it("an OutOfMemoryError")(failsWith(new OutOfMemoryError("as planned")))
    it("a StackOverflowError")(failsWith(new StackOverflowError("as planned")))
    it("a NoClassDefFoundError")(failsWith(new NoClassDefFoundError("as planned")))
    it("an AssertionError")(failsWith(new AssertionError("as planned")))
  }
}

class ReaderThrowableSpec extends Suites(Mode.both.map(new ReaderThrowable(_)): _*)
