import WeirExporter

/// Turns a document into a web configuration, collecting all that is wrong with it.
struct WebConfigurationBuilder {
  private(set) var problems: [ConfigurationProblem] = []

  /// Only fit for use if there are no problems.
  mutating func configuration(_ document: WebConfigurationDocument) -> WebConfiguration {
    var configuration = WebConfiguration()
    for (name, located) in document.basicAuthUsers?.value?.entries ?? [] {
      guard let hash = located.value?.text else { continue }
      report(located, AccessControl.problem(userName: name) ?? AccessControl.problem(hash: hash))
      configuration.users[name] = hash
    }
    for located in document.bearerTokens?.value?.elements ?? [] {
      guard let token = located.value?.text else { continue }
      report(located, AccessControl.problem(token: token))
      configuration.bearerTokens.insert(token)
    }
    for (name, located) in document.httpServerConfig?.value?.headers?.value?.entries ?? [] {
      guard let value = located.value else { continue }
      report(located, Exporter.Options.problem(header: name, value: value))
      configuration.headers[name] = value
    }
    report(
      document.tlsServerConfig,
      "is not supported; let nginx terminate TLS in front of --web.listen-address, as in deploy/nginx/weir-tls.conf")
    report(
      document.rateLimit,
      "is not supported; scrapes that come at once share a page, and nginx limits rates in front of it")
    return configuration
  }

  private mutating func report(_ located: Located<some Any>?, _ message: String?) {
    if let located, let message { problems.append(located.problem(message)) }
  }
}
