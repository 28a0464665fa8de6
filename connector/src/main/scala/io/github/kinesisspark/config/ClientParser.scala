package io.github.kinesisspark.config

import scala.collection.mutable.ListBuffer

/** Decides how the service is called: where, and in whose name. Source and sink have the same options for it. */
private[config] final class ClientParser(problems: ListBuffer[String]) {
  import KinesisOptions._

  /** @param view the options as one stream sees them
    * @param base whose permissions ask for a role, if there is one
    */
  def client(view: OptionView, base: CredentialsOptions): Option[ClientOptions] = {
    val credentials = view.value(roleArn) match {
      case Some(role) =>
        view.value(roleSessionName).map(CredentialsOptions.AssumeRole(base, role, view.value(externalId), _))
      case None => Some(base)
    }
    credentials.map(ClientOptions(view.value(region), view.value(endpoint), _))
  }

  /** Without a role. */
  def credentials(view: OptionView): CredentialsOptions = {
    val keys  = Seq(accessKeyId, secretAccessKey).filter(view.has)
    val kinds = Seq[Opt[?]](profile, credentialsProvider)
      .filter(view.has) ++ (keys ++ Some(sessionToken).filter(view.has)).headOption

    if (kinds.size > 1)
      problems += s"${kinds.map(k => s"'${k.name}'").mkString(" and ")} contradict each other: credentials come from " +
        "a profile, a provider class or static keys. Give one."
    if (keys.size == 1)
      problems += (if (view.has(accessKeyId)) "'accessKeyId' is given without 'secretAccessKey'. Give both."
                   else "'secretAccessKey' is given without 'accessKeyId'. Give both.")
    if (keys.isEmpty && view.has(sessionToken))
      problems += "'sessionToken' is given without 'accessKeyId' and 'secretAccessKey'. Give all three."

    val token  = view.value(sessionToken)
    val static =
      for (id <- view.value(accessKeyId); secret <- view.value(secretAccessKey))
        yield CredentialsOptions.StaticKeys(id, secret, token)
    static
      .orElse(view.value(profile).map(CredentialsOptions.Profile(_)))
      .orElse(view.value(credentialsProvider).map(CredentialsOptions.ProviderClass(_)))
      .getOrElse(CredentialsOptions.DefaultChain)
  }

  /** The region that is given must be the ARN's. */
  def checkRegion(view: OptionView, stream: StreamRef): Unit =
    for (r <- view.value(region); arn <- stream.arn if arn.region != r)
      problems += s"'${view.key(region)}' is $r, but ${arn.text} is in ${arn.region}. Leave '${region.name}' out: the ARN names it."
}
