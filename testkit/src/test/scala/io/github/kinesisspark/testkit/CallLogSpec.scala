package io.github.kinesisspark.testkit

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class CallLogSpec extends AnyFunSpec with Matchers {

  private def call(n: Int) = Call(n.toLong, "PutRecords", Some("s"), Set("a", "b"), None, 200, None, n, "HTTP/1.1")

  it("the call log counts all calls, and keeps the latest ones") {
    val log = new CallLog(remembered = 3)
    (1 to 10).foreach(n => log.add(call(n)))
    log.recent.map(_.records) shouldBe Vector(8, 9, 10)
    log.count("PutRecords") shouldBe 10
    log.count("PutRecords", "s") shouldBe 10
    log.count("PutRecords", "s", "b") shouldBe 10
    log.count("GetRecords") shouldBe 0
  }

  it("the call log keeps no calls if its limit is 0, and still counts them") {
    val log = new CallLog(remembered = 0)
    log.add(call(1))
    log.recent shouldBe empty
    log.count("PutRecords") shouldBe 1
  }
}
