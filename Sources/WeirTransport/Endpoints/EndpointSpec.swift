import WeirHTTP
import WeirIO

/// One endpoint of a set, as configuration or a lookup gives it.
package struct EndpointSpec: Sendable, Hashable {
  /// `host:port` or `unix:/path`: the identity, by which an endpoint keeps its history.
  package let name: String
  /// A name or an address without brackets; the path of a Unix socket.
  package let host: String
  /// 0 for a Unix socket.
  package let port: Int
  /// The URL, in canonical form, whose host and port are the names in requests and in TLS; nil: the request's own.
  package let url: String?
  /// 1 to 1000.
  package let weight: Int
  /// 0 to 9; an endpoint of a higher number is used only while none of a lower one is available, or by retries once they
  /// have tried those.
  package let priority: Int

  package var isUnixSocket: Bool { name.hasPrefix("unix:") }

  /// Whether no lookup is needed: the host is an address, or there is none.
  package var isAddress: Bool { isUnixSocket || IPAddress(host: host) != nil }

  /// The same endpoint with another weight and priority.
  package func with(weight: Int, priority: Int) -> EndpointSpec {
    EndpointSpec(name: name, host: host, port: port, url: url, weight, priority)
  }

  /// The same endpoint with a URL for the names in requests and in TLS.
  package func named(by url: String) -> EndpointSpec {
    EndpointSpec(name: name, host: host, port: port, url: url, weight, priority)
  }

  /// The range of ``weight``.
  package static let weights = 1...1000
  /// The range of ``priority``.
  package static let priorities = 0...9

  /// Takes an endpoint on TCP. A weight or priority out of range counts as the nearest valid one.
  package init(host: String, port: Int, url: String? = nil, weight: Int = 1, priority: Int = 0) {
    let host = CanonicalHost(host)
    self.init(name: "\(host.inURL):\(port)", host: host.text, port: port, url: url, weight, priority)
  }

  /// Takes an endpoint on a Unix socket.
  package init(unixPath path: String, url: String? = nil, weight: Int = 1, priority: Int = 0) {
    self.init(name: "unix:\(path)", host: path, port: 0, url: url, weight, priority)
  }

  private init(name: String, host: String, port: Int, url: String?, _ weight: Int, _ priority: Int) {
    self.name = name
    self.host = host
    self.port = port
    self.url = url
    self.weight = weight.clamped(to: Self.weights)
    self.priority = priority.clamped(to: Self.priorities)
  }
}

/// The reason why a text is not an endpoint.
public struct EndpointProblem: Error, Hashable, Sendable, CustomStringConvertible {
  /// The defect, and the text to write in its place.
  public let description: String

  package init(description: String) {
    self.description = description
  }
}

extension EndpointSpec {
  /// Reads `10.0.0.7:8443`, `[2001:db8::7]:8443`, `name:8443` or `unix:/path`.
  package init(parsing text: String, weight: Int = 1, priority: Int = 0) throws(EndpointProblem) {
    if text.hasPrefix("unix:") {
      let path = String(text.dropFirst(5))
      guard path.hasPrefix("/"), !path.utf8.contains(0), path.utf8.count < 108 else {
        throw EndpointProblem(description: "unix: needs an absolute path of less than 108 bytes")
      }
      self.init(unixPath: path, weight: weight, priority: priority)
      return
    }
    if text.contains("/") {
      throw EndpointProblem(description: "write host:port, without scheme and path")
    }
    let (host, port) = try Self.hostAndPort(text)
    self.init(host: host, port: port, weight: weight, priority: priority)
  }

  private static func hostAndPort(_ text: String) throws(EndpointProblem) -> (host: String, port: Int) {
    guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")), text.utf8.last != UInt8(ascii: "]") else {
      throw EndpointProblem(description: "the port is missing; write host:port")
    }
    let digits = text[colon...].dropFirst()
    guard (1...5).contains(digits.utf8.count), digits.utf8.allSatisfy(\.isDigit), let port = Int(digits),
      (1...65535).contains(port)
    else { throw EndpointProblem(description: "the port must be 1 to 65535") }
    let host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      guard host.contains(":"), IPAddress(host: String(host.dropFirst().dropLast())) != nil else {
        throw EndpointProblem(description: "what is in brackets must be an IPv6 address")
      }
    } else if host.contains(":") {
      throw EndpointProblem(description: "an IPv6 address needs brackets, as in [2001:db8::7]:8443")
    } else if !HostSyntax.isName(host.utf8) {
      throw EndpointProblem(description: "the host must be a name or an address")
    }
    return (String(host), port)
  }
}

/// The endpoints of one upstream, from all places that tell of them: some are written down, others are looked up again
/// and again. A place that fails changes nothing: its last answer stays. A value.
package struct EndpointSources: Sendable {
  /// The name of a place: a host name with its port, a service, a file.
  package typealias Place = String

  /// The most endpoints that a place keeps of earlier answers.
  private static let mostKept = 4096

  /// Endpoints that need no lookup.
  private var written: [EndpointSpec] = []
  /// The last good answer of each place.
  private var answers: [Place: [EndpointSpec]] = [:]
  private var places: Set<Place> = []
  /// New places that have neither answered nor failed.
  private var silent: Set<Place> = []

  package init() {}

  /// Replaces the places. One that stays keeps its answer.
  ///
  /// - Parameter adapt: Gives the endpoint of an answer the weight, priority and URL that the place has now.
  package mutating func follow(
    _ written: [EndpointSpec], _ places: Set<Place>, adapt: (Place, EndpointSpec) -> EndpointSpec = { $1 }
  ) {
    self.written = written
    silent = silent.intersection(places).union(places.subtracting(self.places))
    self.places = places
    for (place, endpoints) in answers {
      answers[place] = places.contains(place) ? endpoints.map { adapt(place, $0) } : nil
    }
  }

  /// A place has answered. An empty answer is a failure.
  ///
  /// - Parameter stays: Whether an endpoint of the last answer stays although this one lacks it, because the lookup that
  ///   would have found it failed.
  /// - Returns: Whether the endpoints have changed.
  package mutating func answered(
    _ place: Place, _ endpoints: [EndpointSpec], stays: (EndpointSpec) -> Bool = { _ in false }
  ) -> Bool {
    guard places.contains(place) else { return false }
    silent.remove(place)
    let names = Set(endpoints.map(\.name))
    let kept = (answers[place] ?? []).filter { !names.contains($0.name) && stays($0) }
    let answer = endpoints + kept.prefix(Self.mostKept)
    guard !endpoints.isEmpty, answers[place] != answer else { return false }
    answers[place] = answer
    return true
  }

  package mutating func failed(_ place: Place) { silent.remove(place) }

  /// Whether each place has answered or failed.
  package var isSettled: Bool { silent.isEmpty }

  /// The first endpoints by name, each once.
  ///
  /// - Parameter limit: Their number.
  /// - Returns: The endpoints, and whether there are more of them.
  package func endpoints(limit: Int) -> (endpoints: [EndpointSpec], areCut: Bool) {
    var all: [String: EndpointSpec] = [:]
    for endpoint in written + answers.sorted(by: { $0.key < $1.key }).flatMap(\.value) where all[endpoint.name] == nil {
      all[endpoint.name] = endpoint
    }
    let sorted = all.values.sorted { $0.name < $1.name }
    return (Array(sorted.prefix(max(0, limit))), sorted.count > limit)
  }
}
