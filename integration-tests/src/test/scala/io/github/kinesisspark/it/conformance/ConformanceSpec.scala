package io.github.kinesisspark.it.conformance

import org.scalatest.Suites

import io.github.kinesisspark.it.{KinesisTarget, Targets}
import io.github.kinesisspark.it.source.Passes

/** Tests the service's behaviour that this project relies on, scenario by scenario, on every target of this run. The
  * scenarios follow the API reference (https://docs.aws.amazon.com/kinesis/latest/APIReference/) and what the
  * service is known to answer.
  */
class ConformanceSpec extends Suites(Passes.servers(Targets.forConformance.selected).map(new TargetConformance(_)): _*)

final class TargetConformance(target: KinesisTarget)
    extends Conformance(target)
    with StreamScenarios
    with ListShardsScenarios
    with PutScenarios
    with IteratorScenarios
    with GetRecordsScenarios
    with ReshardScenarios
    with SubscribeScenarios
    with RecordedScenarios
    with LimitScenarios
    with ExpiryScenarios {

  override def suiteName: String = s"Conformance of $target"
  // Suites of one class need ids of their own, or reporters mix them up.
  override def suiteId: String = s"${getClass.getName}-$target"

  streamScenarios()
  listShardsScenarios()
  putScenarios()
  iteratorScenarios()
  getRecordsScenarios()
  reshardScenarios()
  subscribeScenarios()
  recordedScenarios()
  limitScenarios()
  expiryScenarios()
  everyDifferenceIsShown()
}
