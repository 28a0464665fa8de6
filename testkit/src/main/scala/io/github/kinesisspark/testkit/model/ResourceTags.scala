package io.github.kinesisspark.testkit.model

import java.util.concurrent.ConcurrentHashMap
import scala.collection.immutable.SortedMap

/** The tags of a stream and of its consumers, by ARN. */
final private[testkit] class ResourceTags {
  private val byArn = new ConcurrentHashMap[String, SortedMap[String, String]]

  def of(arn: String): SortedMap[String, String] = byArn.getOrDefault(arn, SortedMap.empty)

  /** Adds tags and replaces those of the same keys; false if there would be too many. */
  def add(arn: String, tags: Map[String, String]): Boolean = {
    var isDone = false
    byArn.compute(
      arn,
      (_, known) => {
        val before = Option(known).getOrElse(SortedMap.empty[String, String])
        val after  = before ++ tags
        isDone = after.size <= Quota.TagsPerResource
        if (isDone) after else before
      }
    )
    isDone
  }

  def remove(arn: String, keys: Iterable[String]): Unit = {
    byArn.computeIfPresent(arn, (_, known) => known -- keys)
    ()
  }
}
