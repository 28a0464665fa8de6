package io.github.kinesisspark.aws

/** What its first use makes. One thread at a time asks for it; another one may close it meanwhile, also before it is made. */
private[aws] final class MadeOnce[A](make: () => A)(release: A => Unit) extends AutoCloseable {
  private var made   = Option.empty[A]
  private var closed = false

  def get(): A = synchronized(made).getOrElse(kept(make()))

  override def close(): Unit = {
    val open = synchronized {
      closed = true
      made
    }
    open.foreach(release)
  }

  private def kept(own: A): A = {
    val isLate = synchronized {
      made = Some(own)
      closed
    }
    if (isLate) release(own)
    own
  }
}
