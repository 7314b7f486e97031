internal import WeirIO

/// For each descriptor: the events that libcurl wants, the events that are registered, and the owner of its connection.
///
/// Keep-alive connections change from "read" to "nothing" and back with every request. A withdrawal of "read" is
/// therefore not passed on: a descriptor stays registered until an event arrives that is not wanted. That saves two
/// system calls per request, a fifth of its cost.
struct SocketTable {
  /// A change of the loop's registration.
  enum Change: Equatable {
    case none
    case register(IOEvents)
    case update(IOEvents)
    case unregister
  }

  private struct Entry {
    var wanted: IOEvents = []
    var registered: IOEvents = []
    /// The socket was opened through our callback, so its close comes through ours too.
    var isOwn: Bool { socket != nil }
    var socket: OpenedSocket?
    /// Whether a connection is established on it, which the observer was told.
    var isConnected = false
    var tag: AnyObject?
    /// The transfer that awaits something here. The pointer is only compared, never followed.
    var user: UnsafeRawPointer?
    /// Whether HTTP/1 responses came here, so that data between two responses belongs to none.
    var isHTTP1 = false
    /// The local port, and the next descriptor with the same local port; −1 for none.
    var localPort: CInt = 0
    var nextWithPort: CInt = -1
    /// The versions of HTTP that may be spoken here.
    var version: PreparedVersion?
    /// The rules of the transfer that used the connection last.
    var rules: TransferRules?
    var opened = MonotonicTime.distantFuture
    var lastUsed = MonotonicTime.distantFuture
  }

  private var entries: [Entry] = []
  /// The first descriptor of each local port, as libcurl names a connection only by its addresses. Two connections may
  /// have the same local port if they lead to different peers.
  private var ports: [CInt: CInt] = [:]
  private(set) var openCount = 0

  /// Records a socket just opened. Returns an earlier one of the same number, which libcurl must have closed unseen.
  mutating func open(_ socket: OpenedSocket, tag: AnyObject?) -> Closed? {
    let index = grow(toHold: socket.descriptor)
    let stale = close(socket.descriptor)
    entries[index] = Entry(socket: socket, tag: tag)
    openCount += 1
    return stale
  }

  struct Closed {
    let tag: AnyObject?
    let isConnected: Bool
    let wasRegistered: Bool
  }

  /// Removes a socket; nil when it was unknown.
  mutating func close(_ fd: CInt) -> Closed? {
    guard let index = index(of: fd) else { return nil }
    let entry = entries[index]
    if entry.localPort > 0 { unlink(fd, entry) }
    entries[index] = Entry()
    if entry.isOwn { openCount -= 1 }
    guard entry.isOwn || !entry.registered.isEmpty else { return nil }
    return Closed(tag: entry.tag, isConnected: entry.isConnected, wasRegistered: !entry.registered.isEmpty)
  }

  /// A connection is established on a socket of ours. Returns its tag, and whether this is new.
  mutating func connected(_ fd: CInt) -> (isNew: Bool, tag: AnyObject?) {
    guard let index = index(of: fd), entries[index].isOwn, !entries[index].isConnected else { return (false, nil) }
    entries[index].isConnected = true
    return (true, entries[index].tag)
  }

  /// libcurl wants to hear of `events` from now on.
  mutating func want(_ fd: CInt, _ events: IOEvents) -> Change {
    let index = grow(toHold: fd)
    entries[index].wanted = events
    let registered = entries[index].registered
    if events.isEmpty {
      guard entries[index].isOwn else { return settle(index, []) }
      // An idle connection is watched, even one whose response was complete before any transfer waited for it.
      if entries[index].isConnected { return settle(index, .read) }
    }
    // A socket is nearly always writable, so that event must be withdrawn at once.
    let kept = registered.intersection(.read)
    return settle(index, events.union(kept))
  }

  /// The events to pass on to libcurl, and the change of the registration when it wanted none of them.
  mutating func ready(_ fd: CInt, _ events: IOEvents) -> (wanted: IOEvents, change: Change) {
    guard let index = index(of: fd) else { return ([], .unregister) }
    let wanted = entries[index].wanted
    if wanted.isEmpty { return ([], settle(index, [])) }
    let failure = events.intersection(.failure)
    let hit = events.intersection(wanted)
    if hit.isEmpty, failure.isEmpty { return ([], settle(index, wanted)) }
    return (hit.union(failure), .none)
  }

  /// `user` awaits something on `fd`.
  mutating func use(_ fd: CInt, by user: UnsafeRawPointer) {
    entries[grow(toHold: fd)].user = user
  }

  /// `user` is done. By now `fd` may belong to another transfer.
  mutating func leave(_ fd: CInt, _ user: UnsafeRawPointer, at now: MonotonicTime) {
    guard let index = index(of: fd) else { return }
    if entries[index].user == user { entries[index].user = nil }
    entries[index].lastUsed = now
  }

  /// A socket was opened for a transfer with these rules.
  mutating func begin(_ fd: CInt, _ version: PreparedVersion, _ rules: TransferRules?, at now: MonotonicTime) {
    guard let index = index(of: fd) else { return }
    entries[index].version = version
    entries[index].rules = rules
    entries[index].opened = now
    entries[index].lastUsed = now
  }

  mutating func setRules(_ fd: CInt, _ rules: TransferRules?) {
    if let index = index(of: fd) { entries[index].rules = rules }
  }

  func rules(of fd: CInt) -> TransferRules? { index(of: fd).flatMap { entries[$0].rules } }

  func version(of fd: CInt) -> PreparedVersion? { index(of: fd).flatMap { entries[$0].version } }

  /// Whether a connection has been idle, or open, for so many seconds.
  func isOver(_ fd: CInt, idle: Double, age: Double, at now: MonotonicTime) -> Bool {
    guard let index = index(of: fd) else { return false }
    let entry = entries[index]
    return now.seconds(since: entry.lastUsed) >= idle || now.seconds(since: entry.opened) >= age
  }

  /// A response came on `fd`.
  mutating func noteResponse(_ fd: CInt, isHTTP1: Bool) {
    if let index = index(of: fd) { entries[index].isHTTP1 = isHTTP1 }
  }

  func isHTTP1(_ fd: CInt) -> Bool { index(of: fd).map { entries[$0].isHTTP1 } ?? false }

  /// Whether `fd` has a connection that was not seen to speak HTTP/1.
  func mayBeHTTP2(_ fd: CInt) -> Bool { index(of: fd).map { entries[$0].isConnected && !entries[$0].isHTTP1 } ?? false }

  /// Whether data on `fd` belongs to no transfer. Idle HTTP/2 connections are left out, as they have frames of their
  /// own.
  func isIdleHTTP1(_ fd: CInt) -> Bool {
    guard let index = index(of: fd) else { return false }
    let entry = entries[index]
    return entry.isOwn && entry.isHTTP1 && entry.user == nil
  }

  /// The connection on `fd` is established.
  mutating func setLocalPort(_ fd: CInt, _ port: CInt) {
    guard port > 0, let index = index(of: fd), entries[index].isOwn, entries[index].localPort == 0 else { return }
    entries[index].localPort = port
    entries[index].nextWithPort = ports.updateValue(fd, forKey: port) ?? -1
  }

  /// The connection with this local port; `isIt` decides when there are several.
  func connection(atPort port: CInt, _ isIt: (CInt) -> Bool) -> CInt? {
    guard port > 0, var fd = ports[port], let first = index(of: fd) else { return nil }
    if entries[first].nextWithPort < 0 { return fd }
    while let index = index(of: fd) {
      if isIt(fd) { return fd }
      fd = entries[index].nextWithPort
    }
    return nil
  }

  func hasLocalPort(_ fd: CInt) -> Bool { index(of: fd).map { entries[$0].localPort > 0 } ?? false }

  private mutating func unlink(_ fd: CInt, _ entry: Entry) {
    guard var other = ports[entry.localPort] else { return }
    if other == fd {
      ports[entry.localPort] = entry.nextWithPort >= 0 ? entry.nextWithPort : nil
      return
    }
    while let index = index(of: other) {
      let next = entries[index].nextWithPort
      if next == fd {
        entries[index].nextWithPort = entry.nextWithPort
        return
      }
      other = next
    }
  }

  func isOwn(_ fd: CInt) -> Bool { index(of: fd).map { entries[$0].isOwn } ?? false }

  /// Whether the descriptor still belongs to this socket.
  func knows(_ socket: OpenedSocket) -> Bool {
    index(of: socket.descriptor).map { entries[$0].socket == socket } ?? false
  }

  /// The registration failed or is gone.
  mutating func forgetRegistration(_ fd: CInt) {
    if let index = index(of: fd) { entries[index].registered = [] }
  }

  /// All descriptors up to the greatest that was known.
  var descriptors: Range<CInt> { 0..<CInt(entries.count) }

  /// The descriptors with an established connection.
  var connections: [CInt] { entries.indices.filter { entries[$0].isConnected }.map { CInt($0) } }

  private mutating func settle(_ index: Int, _ events: IOEvents) -> Change {
    let registered = entries[index].registered
    guard registered != events else { return .none }
    entries[index].registered = events
    if registered.isEmpty { return .register(events) }
    return events.isEmpty ? .unregister : .update(events)
  }

  private func index(of fd: CInt) -> Int? {
    fd >= 0 && Int(fd) < entries.count ? Int(fd) : nil
  }

  private mutating func grow(toHold fd: CInt) -> Int {
    let index = Int(max(fd, 0))
    while entries.count <= index { entries.append(Entry()) }
    return index
  }
}
