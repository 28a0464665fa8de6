package io.github.kinesisspark.read.reader

/** Lets a task's readers that wait for memory read beyond the budget, one at a time and each in its turn: shards that no task reads may hold all memory
  * until the task is over. The task's thread alone calls it, when no reader has records for it.
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
      val (before, after) = accounts.span(one => !last.contains(one))
      last = (after.drop(1) ++ before ++ after.take(1)).find(_.isWaiting)
      last.foreach(_.overdraw())
    }
}
