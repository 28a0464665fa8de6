package io.github.kinesisspark.config

import scala.collection.mutable.ListBuffer
import scala.concurrent.duration._

import GivenOptions.Setting

/** Decides how the service is called: where, how, and in whose name. Source and sink have the same options for it. */
private[config] final class ClientParser(retries: CallRetries, problems: ListBuffer[String]) {
  import ClientOptions.region
  import CredentialsOptions._
  import StsOptions.{stsEndpoint, stsRegion}

  /** @param view the options as one stream sees them
    * @param base whose permissions ask for a role, if there is one
    */
  def client(view: OptionView, base: CredentialsOptions): ClientOptions = {
    val endpoint = view(ClientOptions.endpoint)
    for (option <- Seq(ConnectionOptions.fips, ConnectionOptions.dualStack) if view(option))
      for (address <- Seq(ClientOptions.endpoint, stsEndpoint).filter(view.has))
        problems += s"'${view.key(option)}' and '${view.key(address)}' contradict each other: an address is called as it is given. Leave one out."
    ClientOptions(view(region), endpoint, withRoles(view, base), ConnectionOptions.read(view, retries))
  }

  /** Without a role: a stream's own take the place of the general ones as a whole.
    *
    * @param own     the options of one stream by themselves
    * @param general of all streams
    */
  def credentials(own: Map[String, Setting], general: CredentialsOptions): CredentialsOptions =
    if (own.keys.exists(key => OfCredentials(key) || key.startsWith(GivenOptions.Parameter))) credentials(own)
    else general

  /** Without a role. */
  def credentials(settings: Map[String, Setting]): CredentialsOptions = {
    val view       = new OptionView(settings, problems)
    val parameters = settings.collect {
      case (key, own) if key.startsWith(GivenOptions.Parameter) => key.stripPrefix(GivenOptions.Parameter) -> own
    }
    val keys  = Seq(accessKeyId, secretAccessKey).filter(view.has)
    val kinds = Seq[Opt[?]](profile, credentialsProvider, webIdentityTokenFile)
      .filter(view.has) ++ (keys ++ Some(sessionToken).filter(view.has)).headOption

    if (kinds.size > 1)
      problems += s"${kinds.map(k => s"'${view.key(k)}'").mkString(" and ")} contradict each other: credentials come from " +
        "a profile, a provider class, a web identity or static keys. Give one."
    def incomplete(key: String, others: Opt[?]*) =
      s"'$key' is given without ${others.map(o => s"'${GivenOptions.beside(key, o.name)}'").mkString(" and ")}."
    if (keys.size == 1)
      problems += incomplete(
        view.key(keys.head),
        Seq(accessKeyId, secretAccessKey).filterNot(view.has): _*
      ) + " Give both."
    if (keys.isEmpty && view.has(sessionToken))
      problems += incomplete(view.key(sessionToken), accessKeyId, secretAccessKey) + " Give all three."
    for (first <- parameters.values.map(_.key).toSeq.sorted.headOption if !view.has(credentialsProvider))
      problems += incomplete(first, credentialsProvider) + " Give the class, too."

    val (key, secret, token) = (view(accessKeyId), view(secretAccessKey), view(sessionToken))
    val static               = for (id <- key; itsSecret <- secret) yield StaticKeys(id, itsSecret, token)
    static
      .orElse(view(profile).map(Profile(_)))
      .orElse(view(credentialsProvider).map(ProviderClass(_, valuesOf(parameters))))
      .orElse(view(webIdentityTokenFile).map(WebIdentity(_)))
      .getOrElse(DefaultChain)
  }

  /** The region that is given must be the ARN's. */
  def checkRegion(view: OptionView, stream: StreamRef): Unit =
    for (r <- view(region); arn <- stream.arn if arn.region != r)
      problems += s"'${view.key(region)}' is $r, but ${arn.text} is in ${arn.region}. Leave '${region.name}' out: the ARN names it."

  /** The token of a web identity is good for a role alone.
    *
    * @param view the options as one stream sees them
    * @param base as for [[client]]
    */
  def checkTokenHasRole(view: OptionView, base: CredentialsOptions): Unit = base match {
    case WebIdentity(_) if !view.has(roleArn) =>
      problems += s"'${webIdentityTokenFile.name}' is given without '${roleArn.name}': a token is good for a role alone. Give the role, too."
    case _ => ()
  }

  /** What belongs to a role is pointless, so probably a mistake, where no role is assumed. A profile may name a role, too.
    *
    * @param ofStreams the options of single streams by themselves
    */
  def checkRoleOptions(general: OptionView, ofStreams: Seq[Map[String, Setting]]): Unit = {
    val someRole  = general.has(roleArn) || ofStreams.exists(_.contains(roleArn.name))
    val noProfile =
      Seq[Opt[?]](accessKeyId, secretAccessKey, credentialsProvider, webIdentityTokenFile).exists(general.has) &&
        !ofStreams.exists(_.contains(profile.name))
    for (option <- OfRole ++ (if (noProfile) OfSts else Nil)) {
      if (general.has(option) && !someRole)
        problems += s"'${general.key(option)}' is given without '${roleArn.name}'. Give the role to assume, too."
      for (keys <- ofStreams; own <- keys.get(option.name))
        if (!general.has(roleArn) && !keys.contains(roleArn.name))
          problems += s"'${own.key}' is given, but no '${roleArn.name}' for that stream. Give the role to assume, too."
    }
  }

  private def OfRole: Seq[Opt[?]] = Seq(
    externalId,
    roleSessionName,
    roleChain,
    roleDuration,
    roleTags,
    roleSourceIdentity
  )

  private def OfSts: Seq[Opt[?]] = Seq(stsRegion, stsEndpoint)

  private def OfCredentials: Set[String] =
    Seq[Opt[?]](profile, accessKeyId, secretAccessKey, sessionToken, credentialsProvider, webIdentityTokenFile)
      .map(_.name)
      .toSet

  private def valuesOf(parameters: Map[String, Setting]): Map[String, Secret] = for {
    (name, setting) <- parameters
    value           <- new OptionView(Map(providerParameter.name -> setting), problems)(providerParameter)
  } yield name -> value

  private def withRoles(view: OptionView, base: CredentialsOptions): CredentialsOptions = {
    val chain    = view(roleChain).getOrElse(Nil)
    val identity = view(roleSourceIdentity)
    val last     = RoleSession(view(roleDuration), view(roleTags).getOrElse(Map.empty), identity)
    for (time <- last.duration if chain.nonEmpty && time > MostOfChain)
      problems += s"'${view.key(roleDuration)}' is more than an hour, which is the most that AWS gives after '${roleChain.name}'."
    checkWebIdentity(view, base, chain)
    val name     = view(roleSessionName)
    val external = view(externalId)
    val before   = chain.foldLeft(base) { (caller, role) =>
      AssumeRole(caller, role.arn, role.externalId, name, RoleSession(None, Map.empty, identity))
    }
    view(roleArn).fold(base)(AssumeRole(before, _, external, name, last))
  }

  /** The token names its subject and its tags itself. */
  private def checkWebIdentity(view: OptionView, base: CredentialsOptions, chain: Seq[ChainedRole]): Unit = base match {
    case WebIdentity(_) =>
      if (view.has(roleSourceIdentity) || (chain.isEmpty && Seq(externalId, roleTags).exists(view.has)))
        for (option <- Seq[Opt[?]](externalId, roleTags, roleSourceIdentity).filter(view.has))
          problems += s"'${view.key(option)}' has no use with '${webIdentityTokenFile.name}', whose token says it. Leave it out."
      for (first <- chain.headOption; id <- first.externalId)
        problems += s"The external ID $id in '${view.key(roleChain)}' has no use with '${webIdentityTokenFile.name}', whose token says it. Leave it out."
    case _ => ()
  }

  private def MostOfChain: FiniteDuration = 1.hour
}
