package io.github.kinesisspark.it.soak

/** `make soak-starts`: STARTS of the environment; JSON lines on standard output; fails if anything is left behind. */
object SoakStarts {

  def main(args: Array[String]): Unit = {
    val starts     = sys.env.get("STARTS").filter(_.nonEmpty).fold(500)(_.toInt)
    val complaints = run(Starts.Settings(starts, every = (starts / 20).max(1), heapSlack = 16 << 20))
    sys.exit(if (complaints.isEmpty) 0 else 1)
  }

  def run(settings: Starts.Settings): Vector[String] = {
    val starts = new Starts(settings, line => println(line.render()))
    try {
      val complaints = starts.run()
      println(Figures.obj("complaints" -> Figures.texts(complaints)).render())
      complaints
    } finally starts.close()
  }
}
