import WeirExporter
import WeirIO

// Access rules of routes, and conditions on the listener, as far as they depend on the listeners.

extension ConfigurationBuilder {
  /// Returns whether the route asks its clients for names and passwords, or seems to, if that can't be read.
  mutating func access(_ keys: inout ConfigurationKeys, into route: inout Route) -> Bool {
    route.clients = keys.take("clients").flatMap { $0.clientRules() }
    guard let reader = keys.take("auth") else { return false }
    route.auth = reader.auth()
    guard let auth = route.auth else { return true }
    warn(of: auth, reader, of: route)
    return auth.rules.hasUsers
  }

  private mutating func warn(of auth: RouteAuth, _ reader: ConfigurationReader, of route: Route) {
    if auth.rules.hasMixedCosts {
      warn(reader, "has hashes of different costs, which reveal user names by the time of an answer; use one cost")
    }
    let plain = listeners.filter { listener in
      listener.tls == nil && (route.match.listeners.isEmpty || route.match.listeners.contains(listener.name))
    }
    guard let first = plain.first else { return }
    let more = plain.count > 1 ? " and \(plain.count - 1) more" : ""
    warn(
      reader,
      "lets passwords and tokens come in clear text by listener \(quoted(first.name))\(more); give it tls, or name "
        + "listeners with TLS in match.listener")
  }

  /// Takes the listeners that routes can name.
  ///
  /// - Parameter reader: The key `listeners`; nil if the file has none.
  mutating func note(_ listeners: [ListenerSettings], of reader: ConfigurationReader?) {
    guard let reader else {
      self.listeners = [ListenerSettings(address: .unnamed)]
      listenerNames = [ListenerSettings.standardName]
      return
    }
    self.listeners = listeners
    // A name that could not be read is no reason to report those who use it.
    if case .sequence(let entries) = reader.node.content, entries.count == listeners.count {
      listenerNames = Set(listeners.map(\.name))
    }
  }

  /// A name, or a list of names.
  func listenerNames(_ reader: ConfigurationReader) -> Set<String> {
    guard case .sequence = reader.node.content else { return Set([listenerName(reader)].compactMap(\.self)) }
    let list = reader.elements() ?? []
    if list.isEmpty { reader.report("holds no listener; leave the key out to match every listener") }
    var names: Set<String> = []
    for element in list {
      guard let name = listenerName(element) else { continue }
      if !names.insert(name).inserted { element.report("\(quoted(name)) is already in this list") }
    }
    return names
  }

  private func listenerName(_ reader: ConfigurationReader) -> String? {
    reader.read(as: .string) { name in
      guard let listenerNames, !listenerNames.contains(name) else { return nil }
      let guess = suggestion(for: name, among: listenerNames).map { "did you mean \(quoted($0))?" }
      let known = listenerNames.sorted().prefix(ListenerSettings.maximumCount).map { quoted($0) }
      return "no listener is named \(quoted(name)); \(guess ?? "there are \(known.joined(separator: ", "))")"
    }
  }
}
