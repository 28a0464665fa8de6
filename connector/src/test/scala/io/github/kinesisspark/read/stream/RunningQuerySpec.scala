package io.github.kinesisspark.read.stream

import java.util.concurrent.locks.{Condition, ReentrantLock}

import scala.util.Try

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class RunningQuerySpec extends AnyFunSpec with Matchers {

  /** Spark 4.1 has moved it. */
  private val query = Seq("streaming.runtime", "streaming")
    .flatMap(place => Try(Class.forName(s"org.apache.spark.sql.execution.$place.StreamExecution")).toOption)
    .head

  private def typeOf(method: String) = query.getMethod(method).getReturnType

  describe("a streaming query of this Spark") {
    it("shows the lock under which it plans, on which the callers of processAllAvailable() wait, and its sources") {
      typeOf("awaitProgressLock") shouldBe classOf[ReentrantLock]
      typeOf("awaitProgressLockCondition") shouldBe classOf[Condition]
      classOf[collection.Map[_, _]].isAssignableFrom(typeOf("uniqueSources")) shouldBe true
    }
  }
}
