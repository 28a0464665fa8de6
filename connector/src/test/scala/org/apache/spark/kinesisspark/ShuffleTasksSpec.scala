package org.apache.spark.kinesisspark

import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.types.IntegerType
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class ShuffleTasksSpec extends AnyFunSpec with Matchers {
  private val stream = LocalRelation(Seq(AttributeReference("a", IntegerType)()), isStreaming = true)
  private val table  = LocalRelation(AttributeReference("b", IntegerType)())

  private def tasks(plan: LogicalPlan) = RunningQuery.shuffleTasks(plan, partitions = 200)

  describe("the tasks behind a query's shuffles") {
    it("are the partitions of each operator that shuffles its rows") {
      tasks(stream) shouldBe 0
      tasks(Distinct(stream)) shouldBe 200
      tasks(Deduplicate(Nil, Distinct(stream))) shouldBe 400
    }

    it("are as many as a repartition says") {
      tasks(Repartition(3, shuffle = true, stream)) shouldBe 3
      tasks(Repartition(3, shuffle = false, stream)) shouldBe 0
    }

    it("leave out what is read before a batch: the static side of a join") {
      tasks(Join(stream, Distinct(Repartition(3, shuffle = true, table)), Inner, None, JoinHint.NONE)) shouldBe 0
      tasks(Distinct(Join(stream, table, Inner, None, JoinHint.NONE))) shouldBe 200
    }
  }
}
