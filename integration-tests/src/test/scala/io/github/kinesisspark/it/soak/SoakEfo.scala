package io.github.kinesisspark.it.soak

import scala.concurrent.duration._
import scala.util.Random

import io.github.kinesisspark.it.soak.Figures._

/** `make soak-efo`: MINUTES and SEED of the environment; JSON lines on standard output; fails if anything was wrong. */
object SoakEfo {

  def main(args: Array[String]): Unit = {
    val minutes = sys.env.get("MINUTES").filter(_.nonEmpty).fold(20L)(_.toLong)
    val seed    = sys.env.get("SEED").filter(_.nonEmpty).fold(Random.nextLong())(_.toLong)
    val outcome =
      SoakEfo.run(Soak.Settings(seed, (minutes.minutes - Rest).max(Rest), interval = 1.minute, heapSlack = 16 << 20))
    sys.exit(if (outcome.complaints.isEmpty) 0 else 1)
  }

  /** Prints all lines. */
  def run(settings: Soak.Settings): Outcome = {
    print("begin", settings, obj())
    val soak = new Soak(settings, print("soaking", settings, _))
    try {
      val outcome = soak.run()
      print("summary", settings, outcome.json)
      outcome
    } finally soak.close()
  }

  private def print(what: String, settings: Soak.Settings, line: ujson.Obj): Unit = {
    // As text: a seed has more digits than a JSON number keeps.
    val head = obj("soak" -> what, "seed" -> settings.seed.toString)
    println(ujson.Obj.from(head.value.toSeq ++ line.value).render())
  }

  /** What warming up and draining take. */
  private val Rest = 1.minute
}
