package io.github.kinesisspark.testkit.model

import io.github.kinesisspark.testkit.auth.Policy

import java.util.concurrent.ConcurrentHashMap

/** The resource policies of a stream and of its consumers, by ARN. */
final private[testkit] class ResourcePolicies {
  private val byArn = new ConcurrentHashMap[String, (String, Policy)]

  def put(arn: String, json: String, policy: Policy): Unit = { byArn.put(arn, (json, policy)); () }

  /** Whether there was one. */
  def remove(arn: String): Boolean = byArn.remove(arn) != null

  def of(arn: String): Option[Policy]   = Option(byArn.get(arn)).map(_._2)
  def json(arn: String): Option[String] = Option(byArn.get(arn)).map(_._1)
}
