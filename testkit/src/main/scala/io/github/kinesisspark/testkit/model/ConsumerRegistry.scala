package io.github.kinesisspark.testkit.model

import scala.concurrent.duration.{Duration, FiniteDuration}

/** A registered consumer of a stream.
  *
  * @param arn carries the second of its registration, so that one registered again under the same name has another
  */
final case class Consumer(name: String, arn: String, createdAt: Long, deletedAt: Option[Long])

sealed abstract class ConsumerStatus(val name: String)
object ConsumerStatus {
  case object Creating extends ConsumerStatus("CREATING")
  case object Active   extends ConsumerStatus("ACTIVE")
  case object Deleting extends ConsumerStatus("DELETING")
}

/** How long a consumer is CREATING and DELETING, and how listings of it lag.
  *
  * @param shown how long after its registration DescribeStreamConsumer and ListStreamConsumers don't know it yet
  * @param forgotten how long after it is gone ListStreamConsumers still shows it as DELETING
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_RegisterStreamConsumer.html RegisterStreamConsumer]]
  */
final case class ConsumerDelays(
    create: FiniteDuration,
    delete: FiniteDuration,
    shown: FiniteDuration = Duration.Zero,
    forgotten: FiniteDuration = Duration.Zero
)

/** The consumers of one stream: a value, and what may become of it. Status follows from the time alone. */
final case class ConsumerRegistry(all: Vector[Consumer], delays: ConsumerDelays, lastSecond: Long, limit: Int) {
  import ConsumerRegistry._

  /** Those the service still knows, in the order they were registered. */
  def known(now: Long): Vector[Consumer] = all.filter(_.deletedAt.forall(_ + delays.delete.toMillis > now))

  /** Those that ListStreamConsumers shows. */
  def listed(now: Long): Vector[Consumer] = all.filter(c => isListed(c, now) && isShown(c, now))

  /** Whether a registered consumer has come to be known to those who ask for it. */
  def isShown(consumer: Consumer, now: Long): Boolean = consumer.createdAt + delays.shown.toMillis <= now

  private def isListed(consumer: Consumer, now: Long): Boolean =
    consumer.deletedAt.forall(_ + delays.delete.toMillis + delays.forgotten.toMillis > now)

  def find(name: String, now: Long): Option[Consumer] = known(now).find(_.name == name)

  def findArn(arn: String, now: Long): Option[Consumer] = known(now).find(_.arn == arn)

  def status(consumer: Consumer, now: Long): ConsumerStatus =
    if (consumer.deletedAt.nonEmpty) ConsumerStatus.Deleting
    else if (now < consumer.createdAt + delays.create.toMillis) ConsumerStatus.Creating
    else ConsumerStatus.Active

  def register(name: String, streamArn: String, now: Long): Either[Refusal, (ConsumerRegistry, Consumer)] = {
    val present = known(now)
    if (present.exists(_.name == name)) Left(Refusal.NameTaken)
    else if (present.size >= limit) Left(Refusal.TooMany)
    else if (present.count(status(_, now) == ConsumerStatus.Creating) >= Quota.ConsumersCreating)
      Left(Refusal.TooManyCreating)
    else {
      val second   = math.max(now / 1000, lastSecond + 1)
      val consumer = Consumer(name, s"$streamArn/consumer/$name:$second", now, None)
      Right((copy(all = all.filter(isListed(_, now)) :+ consumer, lastSecond = second), consumer))
    }
  }

  /** Begins to delete one; one that is being deleted stays as it is. */
  def deregister(consumer: Consumer, now: Long): ConsumerRegistry = copy(all = all.map { c =>
    if (c.arn == consumer.arn && c.deletedAt.isEmpty) c.copy(deletedAt = Some(now)) else c
  })
}

object ConsumerRegistry {
  def empty(delays: ConsumerDelays, limit: Int = Quota.ConsumersPerStream): ConsumerRegistry =
    ConsumerRegistry(Vector.empty, delays, 0, limit)

  /** Why a consumer can't be registered. */
  sealed trait Refusal
  object Refusal {
    case object NameTaken       extends Refusal
    case object TooMany         extends Refusal
    case object TooManyCreating extends Refusal
  }
}
