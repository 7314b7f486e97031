import Glibc
import WeirIO

extension ServiceEnvironment {
  private static let variables = ["NOTIFY_SOCKET", "WATCHDOG_USEC"] + ofOneProcess

  /// Reads the environment of this process, and removes from it what is meant for this process alone. Call it before
  /// there are other threads.
  static func take(_ problems: inout [String]) -> ServiceEnvironment {
    var values: [String: String] = [:]
    for name in variables { values[name] = getenv(name).map { String(cString: $0) } }
    let service = ServiceEnvironment(values, process: getpid(), problems: &problems)
    for name in ofOneProcess { unsetenv(name) }
    // The signs of life of a process that takes over are those of this one.
    if service.watchdog == nil { unsetenv("WATCHDOG_USEC") }
    return service
  }

  /// Takes the descriptors, so that no other process inherits them by accident.
  func inheritedSockets(_ problems: inout [String]) -> InheritedSockets {
    let inherited = InheritedSockets()
    for item in sockets {
      if let socket = Socket.inherited(item.descriptor) {
        inherited.add(socket, named: item.name)
      } else {
        problems.append(
          "LISTEN_FDS: the socket \(quoted(item.name)), descriptor \(item.descriptor), is no stream socket that listens; "
            + "use ListenStream= with an IP address or a path in its .socket unit, and Accept=no")
      }
    }
    guard let handedOver else { return inherited }
    let channel = handedOver.channel
    let open = handedOver.items.map { (item: $0, socket: Socket.inherited($0.descriptor)) }
    for case (let item, let socket?) in open { inherited.add(socket, openedFor: item.address) }
    let missing =
      open.filter { $0.socket == nil }.map(\.item.descriptor)
      + (Socket.keepFromChildren(channel) ? [] : [channel])
    for descriptor in missing {
      problems.append("\(HandedOver.variable): the descriptor \(descriptor) is no socket of weir's; unset it")
    }
    return inherited
  }
}
