package io.github.kinesisspark.it

/** One way in which a server does otherwise than the service, as far as a client can see.
  *
  * The table of them is in [[Differences]]; a server says which of them are its own, and a conformance scenario shows each.
  *
  * @param id how reports name it
  * @param what the server does
  * @param why it matters: what a test that is to run against the server must not expect
  */
final case class Difference(id: String, what: String, why: String)
