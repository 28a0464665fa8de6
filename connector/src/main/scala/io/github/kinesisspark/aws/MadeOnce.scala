package io.github.kinesisspark.aws

/** What its first use makes. One thread at a time asks for it; another one may close it meanwhile, also before it is made. */
private[aws] final class MadeOnce[A <: AutoCloseable](make: () => A) extends AutoCloseable {
  private var made   = Option.empty[A]
  private var closed = false

  def get(): A = synchronized(made).getOrElse(kept(make()))

  override def close(): Unit = {
    val open = synchronized {
      closed = true
      made
    }
    open.foreach(_.close())
  }

  private def kept(own: A): A = {
    val isLate = synchronized {
      made = Some(own)
      closed
    }
    if (isLate) own.close()
    own
  }
}
