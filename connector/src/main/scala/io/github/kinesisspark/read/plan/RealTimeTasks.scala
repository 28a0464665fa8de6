package io.github.kinesisspark.read.plan

import scala.annotation.tailrec

import io.github.kinesisspark.position.ShardKey

/** Which shards share a task of a real-time batch. Its tasks all run for as long as the batch lasts, so that one that finds no core
  * reads nothing: there are never more of them than can run at once, and each has several shards where it must.
  *
  * Where stages behind a shuffle run at the same time, some cores are theirs.
  *
  * Neighbours by hash key sit together: they are what merges, and so the child may be read on in the task of its parents.
  */
object RealTimeTasks {

  /** @param home the executor that reads the shard, if one does yet */
  final case class Placed(shard: ShardKey, hashStart: BigInt, home: Option[ExecutorId])

  /** @param executor where the shards' readers are, if anywhere */
  final case class Task(executor: Option[ExecutorId], shards: Vector[ShardKey])

  /** @param slots tasks that an executor can run at once
    * @param most  tasks in all, except that each executor with shards has one, and so have shards without an executor
    */
  def plan(shards: Iterable[Placed], slots: Int, most: Int): Vector[Task] = {
    val homes = shards.groupBy(_.home).toVector.sortBy(_._1.map(_.id))
    // Shards that are read nowhere may be read by any executor.
    val wanted = homes.map { case (home, own) => own.size.min(if (home.isDefined) slots else most.max(1)) }
    homes.zip(within(most, wanted)).flatMap { case ((home, own), tasks) =>
      val line = own.toVector.sortBy(s => (s.shard.stream.text, s.hashStart, s.shard.shardId)).map(_.shard)
      runs(line, tasks).map(Task(home, _))
    }
  }

  /** Takes tasks from those executors that have most. */
  @tailrec private def within(most: Int, tasks: Vector[Int]): Vector[Int] =
    if (tasks.sum <= most || tasks.forall(_ <= 1)) tasks
    else within(most, tasks.updated(tasks.indexOf(tasks.max), tasks.max - 1))

  private def runs[A](line: Vector[A], count: Int): Vector[Vector[A]] =
    (0 until count).map(i => line.slice(i * line.size / count, (i + 1) * line.size / count)).toVector
}
