package io.github.kinesisspark.aws

import java.util

import scala.jdk.CollectionConverters._
import scala.util.Try

import io.github.kinesisspark.config.{ClientOptions, StreamRef}

/** How tools of data lineage name a stream: `kinesis://<host of the service>` and the stream's name, as properties of a table that OpenLineage's
  * listener reads.
  */
private[kinesisspark] object DatasetName {

  /** None where the table is of several streams, or its region is not known without asking the machine's services. */
  def properties(stream: Option[(StreamRef, ClientOptions)]): util.Map[String, String] = {
    val named = for {
      (ref, client) <- stream
      host          <- hostOf(ref, client)
    } yield Map("openlineage.dataset.namespace" -> s"kinesis://$host", "openlineage.dataset.name" -> ref.name)
    named.getOrElse(Map.empty).asJava
  }

  private def hostOf(ref: StreamRef, client: ClientOptions): Option[String] =
    client.endpoint
      .flatMap(uri => Option(uri.getAuthority))
      .orElse(Try(Regions.resolve(ref, client, _ => ofEnvironment)).toOption.map { region =>
        s"kinesis.$region.${Regions.dnsSuffix(region)}"
      })

  /** Whatever else the SDK would ask takes time, and a plan may ask for the name often. */
  private def ofEnvironment: Option[String] = sys.props.get("aws.region").orElse(sys.env.get("AWS_REGION"))
}
