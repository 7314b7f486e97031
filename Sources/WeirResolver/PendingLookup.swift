package import WeirIO

/// A lookup that waits for its start or is under way.
///
/// Confined to the loop. States: waiting (ends by `cancel`, `Resolver.close`, or goes on by `begin`), under way (ends by
/// an answer, a problem, the timeout, `cancel`, `Resolver.close`), over (no exit).
package final class PendingLookup {
  let question: Question
  let timeout: Double
  /// Whether a version of IP without any address is asked for once more.
  private let seeksGaps: Bool
  private(set) weak var resolver: Resolver?
  private let loop: EventLoop
  /// Nil when the lookup is over.
  private var done: ((Lookup) -> Void)?
  private let timer = LoopTimer()
  /// When the first question was asked.
  private var began = MonotonicTime.now
  /// The service's targets, once its records have come.
  private var targets: TargetLookups?
  /// The answer about addresses as far as it is known, while a version of IP is asked for again.
  private var partialAnswer: Answer?

  init(
    _ question: Question, timeout: Double, seeksGaps: Bool, resolver: Resolver,
    done: @escaping (Lookup) -> Void
  ) {
    self.question = question
    self.timeout = min(timeout, Resolver.longestTimeout)
    self.seeksGaps = seeksGaps
    self.resolver = resolver
    loop = resolver.loop
    self.done = done
  }

  /// Whether the answer is still wanted.
  var isWanted: Bool { done != nil }

  /// Ends the lookup without telling. Does nothing when it is over. On the loop.
  package func cancel() {
    loop.preconditionCurrent()
    resolver?.forget(self)
    abandon()
  }

  func abandon() {
    done = nil
    targets = nil
    partialAnswer = nil
    loop.cancel(timer)
  }

  /// Starts the time and asks the first question. Returns false if there is none to ask.
  func begin() -> Bool {
    guard isWanted else { return false }
    began = .now
    loop.schedule(timer, at: began.advanced(bySeconds: timeout), handler: self)
    switch question.kind {
    case .addresses: return findAddresses(of: question.name, question.family) { self.addressesFound($0) }
    case .services: return findServices()
    }
  }

  /// Asks for a name's addresses. Returns false if they are known without a question; `tell` is called later anyway.
  func findAddresses(of name: String, _ family: Question.Family, tell: @escaping Tell<HostAddresses>) -> Bool {
    if let known = knownAddresses(of: name, family) {
      loop.atEndOfTurn { tell(known) }
      return false
    }
    return ask(tell) { $0.findAddresses(of: name, family, tell: $1) }
  }

  func finish(_ result: Lookup) {
    guard let done else { return }
    resolver?.forget(self)
    abandon()
    done(result)
  }

  private func findServices() -> Bool {
    let tell: Tell<[ServiceRecord]> = { self.servicesFound($0) }
    guard Self.isName(question.name) else {
      loop.atEndOfTurn { tell(.failure(.badName)) }
      return false
    }
    return ask(tell) { $0.findServices(of: question.name, tell: $1) }
  }

  /// Asks by `question`. Returns false if that failed, which `tell` hears later.
  private func ask<Found>(
    _ tell: @escaping Tell<Found>, by question: (AresChannel, @escaping Tell<Found>) -> Void
  ) -> Bool {
    guard let resolver else { return false }
    do throws(LookupProblem) {
      try resolver.ask(timeout: timeout, tell, by: question)
      return true
    } catch {
      loop.atEndOfTurn { tell(.failure(error)) }
      return false
    }
  }

  private func addressesFound(_ result: Result<HostAddresses, LookupProblem>) {
    // c-ares reports addresses of one version of IP as a success, even if the question about the other failed.
    guard seeksGaps, question.family == .any, case .success(let found) = result, let name = found.name,
      let version = found.missingVersion
    else {
      finish(result.flatMap { Self.answer($0) })
      return
    }
    let partial = Self.answer(found, without: version)
    // A question whose tries were all lost takes nine tenths of the time. Another would leave no time for an answer.
    guard MonotonicTime.now.seconds(since: began) < timeout / 2 else {
      finish(partial)
      return
    }
    partialAnswer = try? partial.get()
    resolver?.enterNext { [weak self] in
      guard let self, isWanted else { return false }
      // The name by which the search has ended: for the missing version alone it might go on to another host.
      return findAddresses(of: name + ".", version) { self.otherVersionFound($0, version, beside: found) }
    }
  }

  private func otherVersionFound(
    _ result: Result<HostAddresses, LookupProblem>, _ version: Question.Family, beside found: HostAddresses
  ) {
    switch result {
    case .success(let other):
      let least = [found.ttl, other.ttl].compactMap { $0 }.min()
      finish(Self.answer(HostAddresses(addresses: found.addresses + other.addresses, ttl: least)))
    case .failure(let problem): finish(Self.answer(found, without: problem.isDefinite ? nil : version))
    }
  }

  private static func answer(
    _ found: HostAddresses, without version: Question.Family? = nil
  ) -> Lookup {
    var collector = EntryCollector()
    for address in found.addresses { collector.add(Answer.Entry(address: address)) }
    let entries = collector.sorted()
    guard !entries.isEmpty else { return .failure(.noAddresses) }
    let gaps = version.map { [Answer.Gap($0)] } ?? []
    return .success(Answer(entries: entries, ttl: found.ttl, isCut: collector.isCut, gaps: Set(gaps)))
  }

  private func servicesFound(_ result: Result<[ServiceRecord], LookupProblem>) {
    guard isWanted else { return }
    switch result {
    case .failure(let problem): finish(.failure(problem))
    case .success(let records):
      let targets = TargetLookups(of: self, ServiceTargets(records))
      self.targets = targets
      targets.begin()
    }
  }

  /// The addresses of a name that is an address itself, or the problem of a text that is no name.
  private func knownAddresses(
    of name: String, _ family: Question.Family
  ) -> Result<HostAddresses, LookupProblem>? {
    guard let address = IPAddress(host: name) else {
      return Self.isName(name) ? nil : .failure(.badName)
    }
    let isOfFamily = family == .any || family == Question.Family(of: address)
    return isOfFamily ? .success(HostAddresses(addresses: [address])) : .failure(.noAddresses)
  }

  /// Whether a text may be a name. c-ares looks closer, but reads texts up to the first NUL.
  private static func isName(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= 255 && !text.utf8.contains(0)
  }
}

extension PendingLookup: TimerHandler {
  package func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    // After a stall of the loop the answer may have come in this very turn. It is told at the turn's end, before this.
    loop.atEndOfTurn { [self] in
      finish((targets?.partialAnswer ?? partialAnswer).map { .success($0) } ?? .failure(.timeout))
    }
  }
}
