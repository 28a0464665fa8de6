package io.github.kinesisspark.read.reader

/** Lets a task's readers that wait for memory read beyond the budget, one at a time, in the order in which they asked for it: shards that no task reads may
  * hold all memory until the task is over, and all others wait behind who asked first. The task's thread alone calls it, when no reader has records for it.
  */
final class Overdraft {
  private var last = Option.empty[MemoryBudget.Account]

  /** Serves the next reader that waits. Does nothing while the reader that was served before holds memory and waits for none: its answer is on its way. It
    * gives the memory back once the task has taken what it brought, and after an empty answer or a failed call.
    *
    * @param accounts of the readers that the task reads now
    */
  def next(accounts: Vector[MemoryBudget.Account]): Unit =
    if (!last.exists(one => accounts.contains(one) && one.used > 0 && !one.isWaiting)) {
      last = accounts.flatMap(one => one.waitingSince.map(_ -> one)).minByOption(_._1).map(_._2)
      last.foreach(_.overdraw())
    }
}
