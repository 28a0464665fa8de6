package io.github.kinesisspark.it.soak

import scala.concurrent.duration._
import scala.util.Random

/** A deed and when it is done, after the nemesis has begun. */
final case class Act(at: FiniteDuration, deed: Deed)

/** All that the nemesis does: one deck of cards after the other, shuffled, each dealt over its part of the time. Decided by the
  * seed and the length alone.
  */
object Plan {

  def of(seed: Long, length: FiniteDuration): Vector[Act] = {
    val random = new Random(seed)
    val decks  = math.max(1, math.round(length / Deal).toInt)
    val cards  = Vector.fill(decks)(random.shuffle(Card.deck)).flatten
    val space  = length / cards.size.toLong
    cards.zipWithIndex
      .flatMap { case (card, i) =>
        val played = space * i.toLong + ((random.nextDouble() * space.toMillis).toLong.millis)
        card.play(random).map { case (after, deed) => Act(played + after, deed) }
      }
      .sortBy(_.at)
  }

  /** How long a deck lasts. */
  private val Deal = 100.seconds
}
