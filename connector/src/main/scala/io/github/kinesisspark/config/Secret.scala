package io.github.kinesisspark.config

/** A value that is used but never shown: no log, plan, UI page or error prints more of it than `***`.
  *
  * It travels to executors inside task data (Java serialization), which Spark can encrypt; it is in no offset.
  *
  * @param reveal the value itself; called where the AWS client is made and nowhere else
  */
final class Secret(val reveal: String) extends Serializable {
  override def toString: String = "***"

  override def equals(other: Any): Boolean = other match {
    case that: Secret => that.reveal == reveal
    case _            => false
  }

  override def hashCode: Int = reveal.hashCode
}
