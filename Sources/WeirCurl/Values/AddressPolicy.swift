package import WeirIO

/// The addresses to which connections are allowed. An address that stands for an IPv4 address is judged as that one.
/// `0.0.0.0` and `::`, which lead to the loopback, are judged as themselves and as `127.0.0.1` and `::1`.
///
/// It is a class, so that a transfer without a policy stays small.
package final class AddressPolicy: Sendable, Hashable {
  /// The decision on addresses in none of the networks.
  package enum Otherwise: Sendable, Hashable {
    case allowed
    /// Allowed, unless the address is reserved for a special purpose.
    case publicOnly
    case refused
  }

  package let allow: [IPNetwork]
  /// Takes precedence over `allow`.
  package let deny: [IPNetwork]
  package let otherwise: Otherwise
  /// The addresses of this process, which are refused with their ports; nil if they are like others.
  let listening: ListeningAddresses?

  package init(
    allow: [IPNetwork] = [], deny: [IPNetwork] = [], otherwise: Otherwise, refusing listening: ListeningAddresses? = nil
  ) {
    self.allow = allow
    self.deny = deny
    self.otherwise = otherwise
    self.listening = listening
  }

  /// The policy with the addresses of this process refused as well.
  ///
  /// - Parameter policy: Nil for one that allows all.
  package convenience init(_ policy: AddressPolicy?, refusing listening: ListeningAddresses) {
    self.init(
      allow: policy?.allow ?? [], deny: policy?.deny ?? [], otherwise: policy?.otherwise ?? .allowed,
      refusing: listening)
  }

  /// Why an address may not be connected to; nil if it may.
  ///
  /// - Parameter port: Nil if it is not known; then the addresses of this process are like others.
  package func refusal(of address: IPAddress, port: Int? = nil) -> String? {
    let judged = address.unwrapped
    return refusal(of: address, judgedAs: judged)
      ?? (judged.connected == judged ? nil : refusal(of: address, judgedAs: judged.connected))
      ?? port.flatMap { refusal(of: judged.connected, port: $0) }
  }

  private func refusal(of address: IPAddress, port: Int) -> String? {
    guard let listening, listening.include(address, port: port) else { return nil }
    return "this gateway itself listens on port \(port) of \(address)"
  }

  private func refusal(of address: IPAddress, judgedAs judged: IPAddress) -> String? {
    guard let reason = reason(against: judged) else { return nil }
    let name = judged == address ? "\(address)" : "\(address), which stands for \(judged),"
    return "destinationPolicy refuses \(name) as \(reason)"
  }

  /// Why a URL's host, an address in any spelling, may not be connected to; nil if it may, and for names.
  package func refusal(ofHost host: String, port: Int? = nil) -> String? {
    IPAddress(host: host).flatMap { refusal(of: $0, port: port) }
  }

  private func reason(against address: IPAddress) -> String? {
    if let network = deny.first(where: { $0.contains(address) }) { return "in \(network), which is denied" }
    if allow.contains(where: { $0.contains(address) }) { return nil }
    switch otherwise {
    case .allowed: return nil
    case .publicOnly: return SpecialNetworks.purpose(of: address).map { "not public (\($0))" }
    case .refused: return "in no network that is allowed"
    }
  }

  package static func == (left: AddressPolicy, right: AddressPolicy) -> Bool {
    left === right
      || (left.allow == right.allow && left.deny == right.deny && left.otherwise == right.otherwise
        && left.listening === right.listening)
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(allow)
    hasher.combine(deny)
    hasher.combine(otherwise)
  }
}
