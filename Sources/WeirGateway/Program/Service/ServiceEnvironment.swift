import Glibc
import WeirIO

/// The variables by which a service manager, or the process before this one, tells a program about itself. A value.
///
/// sd_notify(3), sd_watchdog_enabled(3) and sd_listen_fds(3) describe them, but for `WEIR_LISTENERS`.
struct ServiceEnvironment: Equatable {
  /// A socket that the service manager has opened.
  struct NamedDescriptor: Equatable {
    let name: String
    let descriptor: CInt
  }

  /// The first descriptor of activated sockets.
  static let firstDescriptor: CInt = 3
  /// The most sockets that can have a use: a listener's each, and that of the metrics.
  static let maximumSockets = ListenerSettings.maximumCount + 1

  /// The variables that are removed once they have been read: no other process must take them for its own.
  static let ofOneProcess = ["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "WATCHDOG_PID", HandedOver.variable]

  /// The service manager's socket; nil if it does not want to be told.
  private(set) var notifyAddress: NotifyAddress?
  /// The longest time between two signs of life; nil if none are wanted.
  private(set) var watchdog: Duration?
  /// The sockets that the service manager has opened, in the order of their descriptors.
  private(set) var sockets: [NamedDescriptor] = []
  /// The listeners of the process that this one takes over from.
  private(set) var handedOver: HandedOver?

  /// - Parameters:
  ///   - variables: The environment.
  ///   - process: The number of this process.
  ///   - problems: Receives what is wrong, and what to change.
  init(_ variables: [String: String], process: CInt, problems: inout [String]) {
    if let text = variables["NOTIFY_SOCKET"], !text.isEmpty {
      notifyAddress = NotifyAddress(text)
      if notifyAddress == nil {
        problems.append(
          "NOTIFY_SOCKET: \(quoted(text)) is no Unix socket; give an absolute path, or @ and a name, of at most "
            + "\(NotifyAddress.capacity) bytes, or unset it")
      }
    }
    if let text = variables["WATCHDOG_USEC"],
      Self.isMeant(variables["WATCHDOG_PID"], process, "WATCHDOG_PID", &problems)
    {
      watchdog = Int64(text).flatMap { $0 > 0 ? .microseconds($0) : nil }
      if watchdog == nil {
        problems.append("WATCHDOG_USEC: \(quoted(text)) is no number of microseconds; set WatchdogSec=, or unset it")
      }
    }
    // Without LISTEN_PID the sockets are for no process.
    if let pid = variables["LISTEN_PID"], Self.isMeant(pid, process, "LISTEN_PID", &problems) {
      sockets = Self.sockets(variables, &problems)
    }
    if let text = variables[HandedOver.variable] {
      handedOver = HandedOver(parsing: text)
      if handedOver == nil {
        problems.append(
          "\(HandedOver.variable): \(quoted(text)) is not what weir tells the process that takes over; unset it")
      }
    }
  }

  /// Whether variables are for this process.
  private static func isMeant(_ text: String?, _ process: CInt, _ name: String, _ problems: inout [String]) -> Bool {
    guard let text else { return true }
    guard let number = CInt(text), number > 0 else {
      problems.append("\(name): \(quoted(text)) is no number of a process; unset it")
      return false
    }
    return number == process
  }

  private static func sockets(_ variables: [String: String], _ problems: inout [String]) -> [NamedDescriptor] {
    let text = variables["LISTEN_FDS"] ?? "", names = variables["LISTEN_FDNAMES"]
    guard let count = Int(text), count >= 0 else {
      problems.append("LISTEN_FDS: \(quoted(text)) is no number of sockets; unset LISTEN_PID, or give the number")
      return []
    }
    guard count <= maximumSockets else {
      problems.append("LISTEN_FDS: weir has use for \(maximumSockets) sockets at most, not for \(count)")
      return []
    }
    guard count > 0 else { return [] }
    let list = names.map { $0.split(separator: ":", omittingEmptySubsequences: false).map(String.init) } ?? []
    guard list.count == count else {
      problems.append(
        "LISTEN_FDNAMES: names \(list.count) sockets, and LISTEN_FDS tells of \(count); name each one as its listener "
          + "(FileDescriptorName= in the .socket unit)")
      return []
    }
    return zip(list, firstDescriptor...).map { NamedDescriptor(name: $0, descriptor: $1) }
  }

  /// The reasons why sockets have no use.
  ///
  /// - Parameter listeners: The names of listeners.
  func problems(of listeners: [String]) -> [String] {
    let known = listeners + [InheritedSockets.metricsName]
    var seen: Set<String> = []
    return sockets.compactMap { socket in
      guard known.contains(socket.name) else {
        return "LISTEN_FDNAMES: there is no listener \(quoted(socket.name)); set FileDescriptorName= of the .socket "
          + "unit to one of \(known.joined(separator: ", "))"
      }
      guard seen.insert(socket.name).inserted else {
        return
          "LISTEN_FDNAMES: there is more than one socket for \(quoted(socket.name)); leave one ListenStream= in its "
          + ".socket unit, or name the others as other listeners"
      }
      return nil
    }
  }
}

/// The address of the service manager's socket: a path, or a name in the abstract namespace. A value.
struct NotifyAddress: Equatable {
  /// Bytes of `sun_path` that an address may have.
  static let capacity = 107

  /// The text, in which `@` stands for the byte 0.
  let text: String

  init?(_ text: String) {
    guard text.hasPrefix("/") || (text.hasPrefix("@") && text.utf8.count > 1), text.utf8.count <= Self.capacity else {
      return nil
    }
    self.text = text
  }

  /// The bytes of `sun_path`.
  var path: [UInt8] {
    text.hasPrefix("@") ? [0] + text.utf8.dropFirst() : Array(text.utf8)
  }
}

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
